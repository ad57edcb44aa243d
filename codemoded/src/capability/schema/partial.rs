//! What can be said of arguments of which only a part is known: whether they fail whatever the rest turns out to be.
//!
//! Where this says nothing, binding may still fail; where it says something, binding does fail.

use super::Compiled;
use super::bind::{Binder, extra_nodes};
use super::choice;
use super::diagnostic::{Diagnostic, Problem, Step};
use super::node::{ListRules, MapRules, NodeId, Types};
use crate::value::{Float, Map, Value};

/// A value that has not been computed yet.
#[derive(Clone, Debug, PartialEq)]
pub enum Partial {
    /// All of it is known.
    Known(Value),
    /// Only its type is: one of these.
    Of(Types),
    /// A list of which the items are known in part.
    List(Vec<Partial>),
    /// A dict of which the members are known in part.
    Map(Members),
}

/// The members of a dict that has not been computed yet.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Members {
    pub known: Vec<(String, Partial)>,
    /// There may be more than the known ones.
    pub is_open: bool,
}

impl Partial {
    /// Nothing is known.
    pub const UNKNOWN: Self = Self::Of(Types::ALL);

    /// The types that the value may have.
    pub fn types(&self) -> Types {
        match self {
            Self::Known(value) => Types::of(value),
            Self::Of(types) => *types,
            Self::List(_) => Types::LIST,
            Self::Map(_) => Types::MAP,
        }
    }

    /// What is left when the value may have been changed in the meantime: a list or a dict keeps its type only.
    #[must_use]
    pub fn later(self) -> Self {
        match self {
            Self::Known(Value::List(_)) | Self::List(_) => Self::Of(Types::LIST),
            Self::Known(Value::Map(_)) | Self::Map(_) => Self::Of(Types::MAP),
            Self::Known(_) | Self::Of(_) => self,
        }
    }

    /// A list of these items.
    pub fn list(items: Vec<Self>) -> Self {
        let known: Option<Vec<_>> = items.iter().map(Self::known).collect();
        known.map_or(Self::List(items), |items| Self::Known(Value::List(items)))
    }

    /// A dict of these members and no others.
    pub fn map(known: Vec<(String, Self)>) -> Self {
        let members = Members { known, is_open: false };
        members.whole().map_or_else(|| Self::Map(members), |whole| Self::Known(Value::Map(whole)))
    }

    fn known(&self) -> Option<Value> {
        match self {
            Self::Known(value) => Some(value.clone()),
            Self::Of(_) | Self::List(_) | Self::Map(_) => None,
        }
    }
}

impl Members {
    /// The dict, where all of it is known.
    pub fn whole(&self) -> Option<Map> {
        let members = self.known.iter().map(|(name, member)| Some((name.clone(), member.known()?)));
        members.collect::<Option<Map>>().filter(|_| !self.is_open)
    }

    /// Adds what is known of a dict's members; of what is no dict, that there may be some.
    pub fn extend(&mut self, others: Partial) {
        match others {
            Partial::Known(Value::Map(others)) => {
                self.known.extend(others.into_iter().map(|(name, member)| (name, Partial::Known(member))));
            }
            Partial::Map(others) => {
                self.known.extend(others.known);
                self.is_open |= others.is_open;
            }
            Partial::Known(_) | Partial::Of(_) | Partial::List(_) => self.is_open = true,
        }
    }

    fn get(&self, name: &str) -> Option<&Partial> {
        self.known.iter().find(|(known, _)| known == name).map(|(_, member)| member)
    }
}

impl Binder<'_> {
    /// The fault that the value has whatever its unknown parts are.
    pub(super) fn certain_fault(&self, id: NodeId, given: &Partial) -> Option<Diagnostic> {
        // Out of steps, nothing is certain any more.
        self.spend(1).ok()?;
        let types = given.types();
        if let Partial::Known(value) = given {
            return self.bind(id, value).err();
        }
        if admitted(self.schema, id).and(types).is_empty() {
            // Every value of these types has the same fault.
            return self.bind(id, &representative(types)).err();
        }
        let node = self.schema.node(id);
        if let Some(choice) = &node.choice {
            let leaves = choice::leaves(self.schema, choice);
            let mut of_type = leaves.iter().filter(|(_, leaf)| !leaf.types.and(types).is_empty());
            return match (of_type.next(), of_type.next()) {
                (Some((leaf, _)), None) => self.certain_fault(*leaf, given),
                (None, _) | (_, Some(_)) => None,
            };
        }
        if node.values.is_some() {
            return None;
        }
        match given {
            Partial::Known(_) | Partial::Of(_) => None,
            Partial::List(items) => self.certain_fault_of_list(&node.list, items),
            Partial::Map(members) => self.certain_fault_of_map(&node.map, members),
        }
    }

    fn certain_fault_of_list(&self, rules: &ListRules, items: &[Partial]) -> Option<Diagnostic> {
        if let Err(fault) = self.check_items(rules, items.len()) {
            return Some(fault);
        }
        items.iter().enumerate().find_map(|(index, item)| {
            let node = rules.prefix.get(index).or(rules.rest.as_ref())?;
            Some(self.certain_fault(*node, item)?.inside(Step::Index(index)))
        })
    }

    fn certain_fault_of_map(&self, rules: &MapRules, members: &Members) -> Option<Diagnostic> {
        for (name, property) in &rules.properties {
            let fault = match members.get(name) {
                Some(Partial::Known(Value::Null)) if self.is_left_out(property) => None,
                Some(member) => {
                    self.certain_fault(property.node, member).map(|fault| self.of_property(fault, property))
                }
                None if property.required && !members.is_open => Some(self.fault(Problem::Missing)),
                None => None,
            };
            if let Some(fault) = fault {
                return Some(fault.inside(Step::Name(name.clone())));
            }
        }
        let mut others = members.known.iter().filter(|(name, _)| !rules.properties.contains_key(name));
        others.find_map(|(name, member)| {
            let mut nodes = rules.extras.iter().flat_map(|extra| extra_nodes(extra, name));
            nodes.find_map(|node| match self.schema.node(node).is_never() {
                true => Some(self.unknown_member(rules, name)),
                false => Some(self.certain_fault(node, member)?.inside(Step::Key(name.clone()))),
            })
        })
    }
}

fn admitted(schema: &Compiled, id: NodeId) -> Types {
    let node = schema.node(id);
    match &node.choice {
        Some(choice) => {
            choice::leaves(schema, choice).iter().fold(Types::NONE, |types, (_, leaf)| types.or(leaf.types))
        }
        None => node.types,
    }
}

/// Some value of one of the types.
fn representative(types: Types) -> Value {
    let kinds = [
        (Types::STR, Value::Str(String::new())),
        (Types::BOOL, Value::Bool(false)),
        (Types::INT, Value::Int(0.into())),
        (Types::FLOAT, Float::new(0.5).map_or(Value::Null, Value::Float)),
        (Types::LIST, Value::List(Vec::new())),
        (Types::MAP, Value::Map(Map::new())),
    ];
    kinds.into_iter().find(|(kind, _)| types.has(*kind)).map_or(Value::Null, |(_, value)| value)
}
