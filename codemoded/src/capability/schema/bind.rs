//! Checks a value against a node and builds its canonical form, which is what a handler or a program gets.

use std::cell::Cell;

use super::Compiled;
use super::choice;
use super::diagnostic::{Diagnostic, Guess, Problem, Side, Step};
use super::node::{Extra, ListRules, MapRules, Node, NodeId, NumberRules, Property, TextRules, Types};
use super::number::{Bound, equal, identity, is_multiple};
use super::shape::literal;
use crate::value::{Float, Map, Value};

/// Steps that checking one value may take: choices within choices can multiply.
const MAX_STEPS: u64 = 2_000_000;
/// The same for all defaults of a schema.
pub(super) const MAX_DEFAULT_STEPS: u64 = 200_000;
/// Levels that a default may add below a default.
const MAX_DEFAULT_DEPTH: u32 = 32;

/// One pass over one value.
pub(super) struct Binder<'s> {
    pub(super) schema: &'s Compiled,
    pub(super) side: Side,
    steps_left: Cell<u64>,
    default_depth: Cell<u32>,
}

impl<'s> Binder<'s> {
    pub(super) fn new(schema: &'s Compiled, side: Side) -> Self {
        Self::with_steps(schema, side, MAX_STEPS)
    }

    pub(super) fn with_steps(schema: &'s Compiled, side: Side, steps: u64) -> Self {
        Self { schema, side, steps_left: Cell::new(steps), default_depth: Cell::new(0) }
    }

    pub(super) fn fault(&self, problem: Problem) -> Diagnostic {
        Diagnostic::new(self.side, problem)
    }

    pub(super) fn spend(&self, steps: u64) -> Result<(), Diagnostic> {
        let left = self.steps_left.get().checked_sub(steps).ok_or_else(|| self.fault(Problem::TooComplex))?;
        self.steps_left.set(left);
        Ok(())
    }

    /// The canonical form of the value, where it fits the node.
    pub(super) fn bind(&self, id: NodeId, value: &Value) -> Result<Value, Diagnostic> {
        self.spend(1)?;
        let node = self.schema.node(id);
        match &node.choice {
            Some(choice) => choice::bind(self, choice, value),
            None => self.bind_one(node, value),
        }
    }

    fn bind_one(&self, node: &Node, value: &Value) -> Result<Value, Diagnostic> {
        if node.is_never() {
            return Err(self.fault(Problem::Forbidden));
        }
        let value = match &node.values {
            Some(allowed) => self.pick(node, allowed, value)?,
            None if node.types.has(Types::of(value)) => value,
            None => return Err(self.fault(Problem::Type { expected: node.types.in_words() })),
        };
        let bound = match value {
            Value::Null | Value::Bool(_) => value.clone(),
            Value::Int(_) | Value::Float(_) => {
                self.check_number(&node.number, value)?;
                self.as_held(node, value)?
            }
            Value::Str(text) => {
                self.check_text(&node.text, text)?;
                value.clone()
            }
            Value::List(items) => Value::List(self.bind_list(&node.list, items)?),
            Value::Map(members) => Value::Map(self.bind_map(&node.map, members)?),
        };
        self.schema.residues.check(&node.residues, self.side, &bound)?;
        Ok(bound)
    }

    /// The allowed value that this one is. A number comes out as the schema writes it, `1` for `1.0`.
    fn pick<'v>(&self, node: &Node, allowed: &'v [Value], value: &'v Value) -> Result<&'v Value, Diagnostic> {
        self.spend(comparing(allowed))?;
        let listed = node.types.has(Types::of(value)).then(|| allowed.iter().find(|allowed| equal(allowed, value)));
        match listed.flatten() {
            Some(number @ (Value::Int(_) | Value::Float(_))) if node.types.has(Types::of(number)) => Ok(number),
            Some(_) => Ok(value),
            None => Err(self.fault(Problem::Type { expected: one_of(node, allowed) })),
        }
    }

    fn check_number(&self, rules: &NumberRules, value: &Value) -> Result<(), Diagnostic> {
        if rules.int64 && matches!(value, Value::Int(int) if int.to_i64().is_none()) {
            return Err(self.fault(Problem::OverflowsInt64));
        }
        let fits = rules.min.as_ref().is_none_or(|min| min.admits_above(value))
            && rules.max.as_ref().is_none_or(|max| max.admits_below(value));
        if !fits {
            return Err(self.must(range_in_words(rules.min.as_ref(), rules.max.as_ref(), value)));
        }
        match rules.multiples.iter().find(|divisor| !is_multiple(value, divisor)) {
            Some(divisor) => Err(self.must(format!("be a multiple of {}", divisor.to_json()))),
            None => Ok(()),
        }
    }

    /// The number as the field holds it: an integer of a float field is a float.
    fn as_held(&self, node: &Node, value: &Value) -> Result<Value, Diagnostic> {
        match value {
            Value::Int(int) if node.floats => match Float::new(int.to_f64()) {
                Some(float) => Ok(Value::Float(float)),
                None => Err(self.fault(Problem::NotFinite)),
            },
            value => Ok(value.clone()),
        }
    }

    fn check_text(&self, rules: &TextRules, text: &str) -> Result<(), Diagnostic> {
        if rules.min_chars.is_some() || rules.max_chars.is_some() {
            self.check_count(text.chars().count(), rules.min_chars, rules.max_chars, "be", "character")?;
        }
        if let Some(pattern) = rules.patterns.iter().find(|pattern| !pattern.matches(text)) {
            return Err(self.must(format!("match {}", pattern.source())));
        }
        match rules.formats.iter().find(|format| !format.admits(text)) {
            Some(format) => Err(self.must(format!("be a valid {}", format.name()))),
            None => Ok(()),
        }
    }

    fn bind_list(&self, rules: &ListRules, items: &[Value]) -> Result<Vec<Value>, Diagnostic> {
        self.check_items(rules, items.len())?;
        let mut bound = Vec::with_capacity(items.len());
        for (index, item) in items.iter().enumerate() {
            bound.push(match rules.prefix.get(index).or(rules.rest.as_ref()) {
                Some(node) => self.bind(*node, item).map_err(|fault| fault.inside(Step::Index(index)))?,
                None => item.clone(),
            });
        }
        if rules.unique && has_twins(items) {
            return Err(self.must("not have the same item twice".to_owned()));
        }
        Ok(bound)
    }

    fn bind_map(&self, rules: &MapRules, members: &Map) -> Result<Map, Diagnostic> {
        let mut bound = Map::with_capacity(members.len());
        for (name, property) in &rules.properties {
            let member = match members.get(name) {
                Some(Value::Null) if self.is_left_out(property) => None,
                member => member,
            };
            let canonical = match member {
                Some(member) => {
                    Some(self.bind(property.node, member).map_err(|fault| self.of_property(fault, property)))
                }
                None => self.omitted(property).transpose(),
            };
            if let Some(canonical) = canonical.transpose().map_err(|fault| fault.inside(Step::Name(name.clone())))? {
                bound.insert(name.clone(), canonical);
            }
        }
        for (name, member) in members {
            if !rules.properties.contains_key(name) {
                bound.insert(name.clone(), self.bind_extra(rules, name, member)?);
            }
        }
        self.check_names(rules, &bound)?;
        self.check_count(bound.len(), rules.min_entries, rules.max_entries, "have", "entry")?;
        Ok(bound)
    }

    pub(super) fn check_items(&self, rules: &ListRules, n: usize) -> Result<(), Diagnostic> {
        self.check_count(n, rules.min_items, rules.max_items, "have", "item")
    }

    /// Whether null for this property means that it is not given.
    pub(super) fn is_left_out(&self, property: &Property) -> bool {
        self.side == Side::Input && property.declared && !property.required
    }

    pub(super) fn of_property(&self, fault: Diagnostic, property: &Property) -> Diagnostic {
        if self.is_left_out(property) { fault.or_none() } else { fault }
    }

    fn omitted(&self, property: &Property) -> Result<Option<Value>, Diagnostic> {
        if property.required {
            return Err(self.fault(Problem::Missing));
        }
        if self.side == Side::Output {
            return Ok(None);
        }
        if self.schema.defaults_are_bound { Ok(property.default.clone()) } else { self.default_of(property) }
    }

    /// The default as the schema's author wrote it, bound.
    pub(super) fn default_of(&self, property: &Property) -> Result<Option<Value>, Diagnostic> {
        let node = self.schema.node(property.node);
        match &node.about.default {
            None => Ok(None),
            Some(Value::Null) if !self.schema.admits_null(property.node) => Ok(None),
            Some(_) if self.default_depth.get() >= MAX_DEFAULT_DEPTH => Err(self.fault(Problem::TooComplex)),
            Some(default) => {
                self.default_depth.set(self.default_depth.get() + 1);
                let bound = self.bind(property.node, default);
                self.default_depth.set(self.default_depth.get() - 1);
                bound.map(Some)
            }
        }
    }

    fn bind_extra(&self, rules: &MapRules, name: &str, member: &Value) -> Result<Value, Diagnostic> {
        let mut bound = member.clone();
        let (mut is_whole, mut as_float) = (false, None);
        for node in rules.extras.iter().flat_map(|extra| extra_nodes(extra, name)) {
            let demanded = self.schema.node(node);
            if demanded.is_never() {
                return Err(self.unknown_member(rules, name));
            }
            let held = self.bind(node, &bound).map_err(|fault| fault.inside(Step::Key(name.to_owned())))?;
            is_whole |= !demanded.types.has(Types::FLOAT);
            match (&bound, &held) {
                // The next may want the integer.
                (Value::Int(_), Value::Float(_)) => as_float = Some(held),
                _ => bound = held,
            }
        }
        Ok(as_float.filter(|_| !is_whole).unwrap_or(bound))
    }

    pub(super) fn unknown_member(&self, rules: &MapRules, name: &str) -> Diagnostic {
        let guess = Guess::at(name, rules.properties.keys().map(String::as_str));
        let step = if rules.properties.is_empty() { Step::Key } else { Step::Name };
        self.fault(Problem::Unknown(guess)).inside(step(name.to_owned()))
    }

    fn check_names(&self, rules: &MapRules, bound: &Map) -> Result<(), Diagnostic> {
        for (node, name) in rules.names.iter().flat_map(|node| bound.keys().map(move |name| (node, name))) {
            if let Err(fault) = self.bind(*node, &Value::Str(name.clone())) {
                let problem = Problem::Key { key: name.clone(), fault: Box::new(fault) };
                return Err(self.fault(problem));
            }
        }
        Ok(())
    }

    fn check_count(
        &self,
        n: usize,
        min: Option<u64>,
        max: Option<u64>,
        verb: &str,
        noun: &str,
    ) -> Result<(), Diagnostic> {
        let n = n as u64;
        let (bound, words) = match (min, max) {
            (Some(min), _) if n < min => (min, "at least"),
            (_, Some(max)) if n > max => (max, "at most"),
            _ => return Ok(()),
        };
        let plural = match (bound, noun) {
            (1, noun) => noun.to_owned(),
            (_, "entry") => "entries".to_owned(),
            (_, noun) => format!("{noun}s"),
        };
        Err(self.must(format!("{verb} {words} {bound} {plural}")))
    }

    fn must(&self, constraint: String) -> Diagnostic {
        self.fault(Problem::Must(constraint))
    }
}

/// What one schema demands of the member of a name that is not declared.
pub(super) fn extra_nodes(extra: &Extra, name: &str) -> Vec<NodeId> {
    let mut nodes: Vec<_> =
        extra.patterns.iter().filter(|(pattern, _)| pattern.matches(name)).map(|(_, node)| *node).collect();
    if nodes.is_empty() {
        nodes.extend(extra.rest);
    }
    nodes
}

/// The steps of comparing a value with each of these.
pub(super) fn comparing(allowed: &[Value]) -> u64 {
    const COMPARISONS_OF_A_STEP: u64 = 16;
    allowed.len() as u64 / COMPARISONS_OF_A_STEP
}

/// The allowed values in words, `None` last.
fn one_of(node: &Node, allowed: &[Value]) -> Vec<String> {
    const MAX_SHOWN: usize = 12;
    let (none, others): (Vec<_>, Vec<_>) =
        allowed.iter().filter(|value| node.types.has(Types::of(value))).partition(|value| matches!(value, Value::Null));
    let mut words: Vec<_> = others.iter().take(MAX_SHOWN).map(|value| literal(value)).collect();
    if others.len() > MAX_SHOWN {
        words.push(format!("one of {} other values", others.len() - MAX_SHOWN));
    }
    words.extend(none.into_iter().map(literal));
    words
}

/// The range as a program's author reads it.
fn range_in_words(min: Option<&Bound>, max: Option<&Bound>, value: &Value) -> String {
    match (min, max) {
        (Some(min), Some(max)) if !min.exclusive && !max.exclusive => {
            format!("be between {} and {}", min.limit.to_json(), max.limit.to_json())
        }
        (Some(min), _) if !min.admits_above(value) => {
            format!("be {} {}", if min.exclusive { "greater than" } else { "at least" }, min.limit.to_json())
        }
        (_, Some(max)) => {
            format!("be {} {}", if max.exclusive { "less than" } else { "at most" }, max.limit.to_json())
        }
        (_, None) => "be in range".to_owned(),
    }
}

fn has_twins(items: &[Value]) -> bool {
    let mut seen = std::collections::HashSet::with_capacity(items.len());
    items.iter().any(|item| !seen.insert(identity(item)))
}
