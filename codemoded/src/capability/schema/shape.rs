//! The type of a place in a value, as a program's author reads it and as the static check walks it.
//!
//! A shape admits at least what binding admits: it says nothing about ranges, lengths or patterns, and where a
//! schema goes deeper than a reader would follow it says `any`.

use indexmap::IndexMap;

use super::Compiled;
use super::diagnostic::is_identifier;
use super::node::{Choice, ListRules, MapRules, Node, NodeId, Types};
use crate::value::Value;

/// How deep a shape goes before it says `any`.
const MAX_DEPTH: usize = 8;
/// How many places one shape names before it says `any`.
const MAX_PLACES: usize = 300;
/// How many values one shape lists before it names their types instead.
const MAX_VALUES: usize = 1_000;

/// A type.
#[derive(Clone, Debug, PartialEq)]
pub enum Shape {
    Any,
    /// No value at all.
    Never,
    Null,
    Bool,
    Int,
    Float,
    Str,
    /// One of these scalars, null not among them.
    Enum(Vec<Value>),
    List(Box<Shape>),
    /// A dict whose keys are data.
    Dict(Box<Shape>),
    /// A dict whose keys are declared.
    Object(Vec<Member>),
    /// At least two shapes, none of them a union, null last.
    Union(Vec<Shape>),
}

/// A declared member of an object, or a parameter of a capability.
#[derive(Clone, Debug, PartialEq)]
pub struct Member {
    pub name: String,
    pub shape: Shape,
    /// May not be left out. A member of an input that may be left out may also be `None`.
    pub required: bool,
}

/// Which way the value goes: an optional member of an input may be `None`, one of an output may be absent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    Input,
    Output,
}

impl Shape {
    /// The union of the shapes, flattened.
    pub fn union(shapes: impl IntoIterator<Item = Self>) -> Self {
        let mut members: Vec<Self> = Vec::new();
        let mut is_nullable = false;
        let mut pending: Vec<_> = shapes.into_iter().collect();
        pending.reverse();
        while let Some(shape) = pending.pop() {
            match shape {
                Self::Any => return Self::Any,
                Self::Never => {}
                Self::Null => is_nullable = true,
                Self::Union(inner) => pending.extend(inner.into_iter().rev()),
                Self::Enum(values) => match members.iter_mut().find_map(Self::as_enum) {
                    Some(known) => {
                        let new: Vec<_> = values.into_iter().filter(|value| !known.contains(value)).collect();
                        known.extend(new);
                    }
                    None => members.push(Self::Enum(values)),
                },
                shape if members.contains(&shape) => {}
                shape => members.push(shape),
            }
        }
        members.extend(is_nullable.then_some(Self::Null));
        match members.len() {
            0 => Self::Never,
            1 => members.remove(0),
            _ => Self::Union(members),
        }
    }

    /// The shape, or `None`.
    #[must_use]
    pub fn or_null(self) -> Self {
        Self::union([self, Self::Null])
    }

    fn as_enum(&mut self) -> Option<&mut Vec<Value>> {
        match self {
            Self::Enum(values) => Some(values),
            _ => None,
        }
    }

    /// The shape as text.
    pub fn notation(&self, style: Style) -> String {
        let mut out = String::new();
        self.write(style, &mut out);
        out
    }

    fn write(&self, style: Style, out: &mut String) {
        match self {
            Self::Any => out.push_str("any"),
            Self::Never => out.push_str("never"),
            Self::Null => out.push_str("None"),
            Self::Bool => out.push_str("bool"),
            Self::Int => out.push_str("int"),
            Self::Float => out.push_str("float"),
            Self::Str => out.push_str("str"),
            Self::Enum(values) => out.push_str(&values.iter().map(literal).collect::<Vec<_>>().join(" | ")),
            Self::List(item) => {
                out.push_str("list[");
                item.write(style, out);
                out.push(']');
            }
            Self::Dict(value) => {
                out.push_str("dict[str, ");
                value.write(style, out);
                out.push(']');
            }
            Self::Object(members) => {
                out.push('{');
                for (index, member) in members.iter().enumerate() {
                    out.push_str(if index > 0 { ", " } else { "" });
                    member.write(style, out);
                }
                out.push('}');
            }
            Self::Union(shapes) => {
                for (index, shape) in shapes.iter().enumerate() {
                    out.push_str(if index > 0 { " | " } else { "" });
                    shape.write(style, out);
                }
            }
        }
    }
}

impl Member {
    /// `key: str`, `limit: int | None`, `count?: int`.
    pub(in crate::capability) fn write(&self, style: Style, out: &mut String) {
        match is_identifier(&self.name) {
            true => out.push_str(&self.name),
            false => out.push_str(&literal(&Value::Str(self.name.clone()))),
        }
        out.push_str(if style == Style::Output && !self.required { "?: " } else { ": " });
        self.given(style).write(style, out);
    }

    /// What may be given for the member: an optional one of an input may also be `None`.
    pub fn given(&self, style: Style) -> Shape {
        match style {
            Style::Input if !self.required => self.shape.clone().or_null(),
            Style::Input | Style::Output => self.shape.clone(),
        }
    }
}

/// A value as a program writes it.
pub(in crate::capability) fn literal(value: &Value) -> String {
    match value {
        Value::Null => "None".to_owned(),
        Value::Bool(true) => "True".to_owned(),
        Value::Bool(false) => "False".to_owned(),
        Value::Int(_) | Value::Float(_) | Value::Str(_) => value.to_json(),
        Value::List(items) => format!("[{}]", items.iter().map(literal).collect::<Vec<_>>().join(", ")),
        Value::Map(members) => {
            let members = members
                .iter()
                .map(|(key, member)| format!("{}: {}", literal(&Value::from(key.as_str())), literal(member)));
            format!("{{{}}}", members.collect::<Vec<_>>().join(", "))
        }
    }
}

/// The shape of one node.
pub(super) fn of_node(schema: &Compiled, id: NodeId) -> Shape {
    Builder::new(schema).node(id)
}

pub(super) fn of_choice(schema: &Compiled, choice: &Choice) -> Shape {
    Builder::new(schema).choice(choice)
}

struct Builder<'s> {
    schema: &'s Compiled,
    /// The nodes that the current one lies in.
    within: Vec<NodeId>,
    places_left: usize,
    values_left: usize,
}

impl<'s> Builder<'s> {
    fn new(schema: &'s Compiled) -> Self {
        Self { schema, within: Vec::new(), places_left: MAX_PLACES, values_left: MAX_VALUES }
    }

    fn node(&mut self, id: NodeId) -> Shape {
        if self.within.contains(&id) || self.within.len() >= MAX_DEPTH || self.places_left == 0 {
            return Shape::Any;
        }
        self.places_left -= 1;
        self.within.push(id);
        let node = self.schema.node(id);
        let shape = match &node.choice {
            Some(choice) => self.choice(choice),
            None => self.single(node),
        };
        self.within.pop();
        shape
    }

    fn choice(&mut self, choice: &Choice) -> Shape {
        let shapes: Vec<_> = choice.variants.iter().map(|variant| self.node(*variant)).collect();
        Shape::union(shapes)
    }

    fn single(&mut self, node: &Node) -> Shape {
        if let Some(values) = &node.values {
            let values_left = self.values_left.checked_sub(values.len());
            self.values_left = values_left.unwrap_or(self.values_left);
            return of_values(node, values, values_left.is_some());
        }
        if node.types == Types::ALL {
            return Shape::Any;
        }
        let mut shapes = Vec::new();
        for (kind, shape) in [
            (Types::STR, Shape::Str),
            (Types::INT, if node.types.has(Types::FLOAT) { Shape::Float } else { Shape::Int }),
            (Types::BOOL, Shape::Bool),
            (Types::NULL, Shape::Null),
        ] {
            if node.types.has(kind) {
                shapes.push(shape);
            }
        }
        if node.types.has(Types::LIST) {
            shapes.push(self.list(&node.list));
        }
        if node.types.has(Types::MAP) {
            shapes.push(self.map(&node.map));
        }
        Shape::union(shapes)
    }

    fn list(&mut self, rules: &ListRules) -> Shape {
        let is_full = rules.max_items.is_some_and(|max| max <= rules.prefix.len() as u64);
        let mut items: Vec<_> = rules.prefix.iter().map(|node| self.node(*node)).collect();
        match rules.rest {
            _ if is_full && !items.is_empty() => {}
            Some(rest) => items.push(self.node(rest)),
            None => items.push(Shape::Any),
        }
        Shape::List(Box::new(Shape::union(items)))
    }

    fn map(&mut self, rules: &MapRules) -> Shape {
        let members = self.members(rules);
        if !members.is_empty() || !rules.properties.is_empty() {
            return Shape::Object(members);
        }
        match self.extra(rules) {
            Shape::Never => Shape::Object(Vec::new()),
            value => Shape::Dict(Box::new(value)),
        }
    }

    fn members(&mut self, rules: &MapRules) -> Vec<Member> {
        let mut members = Vec::with_capacity(rules.properties.len());
        for (name, property) in &rules.properties {
            let shape = self.node(property.node);
            if shape != Shape::Never || property.required {
                members.push(Member { name: name.clone(), shape, required: property.required });
            }
        }
        members
    }

    /// What a member that is not declared may be. All groups apply, so that any one of them is wide enough.
    fn extra(&mut self, rules: &MapRules) -> Shape {
        let Some(extra) = rules.extras.first() else { return Shape::Any };
        let mut shapes: Vec<_> = extra.patterns.iter().map(|(_, node)| self.node(*node)).collect();
        shapes.push(extra.rest.map_or(Shape::Any, |rest| self.node(rest)));
        Shape::union(shapes)
    }
}

fn of_values(node: &Node, values: &[Value], are_listed: bool) -> Shape {
    let possible = values.iter().filter(|value| node.types.has(Types::of(value)));
    Shape::union(possible.map(|value| match value {
        Value::Bool(_) if !are_listed => Shape::Bool,
        Value::Int(_) if !are_listed && !node.floats => Shape::Int,
        Value::Int(_) | Value::Float(_) if !are_listed => Shape::Float,
        Value::Str(_) if !are_listed => Shape::Str,
        Value::Null => Shape::Null,
        Value::List(_) => Shape::List(Box::new(Shape::Any)),
        Value::Map(_) => Shape::Dict(Box::new(Shape::Any)),
        Value::Int(int) if node.floats => {
            Shape::Enum(vec![crate::value::Float::new(int.to_f64()).map_or(value.clone(), Value::Float)])
        }
        Value::Bool(_) | Value::Int(_) | Value::Float(_) | Value::Str(_) => Shape::Enum(vec![value.clone()]),
    }))
}

/// The parameters of an object that may take several forms, joined: what every form requires is required.
pub(super) fn parameters(schema: &Compiled, leaves: &[&Node]) -> Vec<(Member, NodeId)> {
    struct Found {
        node: NodeId,
        shapes: Vec<Shape>,
        required_by: usize,
    }
    let mut found: IndexMap<&str, Found> = IndexMap::new();
    for (name, property) in leaves.iter().flat_map(|leaf| &leaf.map.properties) {
        let first = || Found { node: property.node, shapes: Vec::new(), required_by: 0 };
        let known = found.entry(name.as_str()).or_insert_with(first);
        if known.node != property.node || known.shapes.is_empty() {
            known.shapes.push(of_node(schema, property.node));
        }
        known.required_by += usize::from(property.required);
    }
    let member = |(name, found): (&str, Found)| {
        let required = found.required_by == leaves.len();
        (Member { name: name.to_owned(), shape: Shape::union(found.shapes), required }, found.node)
    };
    let members = found.into_iter().map(member);
    members.filter(|(member, _)| member.shape != Shape::Never || member.required).collect()
}

/// What the object takes beside its parameters.
pub(super) fn others(schema: &Compiled, leaves: &[&Node]) -> Shape {
    Shape::union(leaves.iter().map(|leaf| Builder::new(schema).extra(&leaf.map)))
}
