//! Makes up values that fit: what the schema's author offers first, else the simplest that the rules allow.

use super::Compiled;
use super::bind::Binder;
use super::choice;
use super::diagnostic::Side;
use super::node::{Node, NodeId, NumberRules, Types};
use super::number::compare;
use crate::value::{Float, Map, Value};

/// How deep a made-up value may go.
const MAX_DEPTH: usize = 8;
/// Steps that looking for one may take.
const MAX_STEPS: u64 = 50_000;
/// Longest list or string that is made up to reach a lower bound.
const MAX_LENGTH: u64 = 64;

/// Arguments with every required parameter.
pub(super) fn arguments(schema: &Compiled) -> Option<Map> {
    let maker = Maker { binder: Binder::with_steps(schema, Side::Input, MAX_STEPS), schema };
    match maker.value(schema.root, 0)? {
        Value::Map(members) => Some(members),
        _ => None,
    }
}

struct Maker<'s> {
    schema: &'s Compiled,
    binder: Binder<'s>,
}

impl Maker<'_> {
    fn value(&self, id: NodeId, depth: usize) -> Option<Value> {
        if depth > MAX_DEPTH {
            return None;
        }
        let fits = |value: &Value| self.binder.bind(id, value).is_ok();
        let node = self.schema.node(id);
        let offered = node.about.examples.iter().chain(&node.about.default).filter(|value| **value != Value::Null);
        if let Some(offered) = offered.into_iter().find(|value| fits(value)) {
            return Some(offered.clone());
        }
        match &node.choice {
            Some(choice) => {
                let leaves = choice::leaves(self.schema, choice);
                let (nulls, others): (Vec<_>, Vec<_>) =
                    leaves.into_iter().partition(|(_, leaf)| leaf.types == Types::NULL);
                others.into_iter().chain(nulls).find_map(|(leaf, _)| self.value(leaf, depth + 1).filter(fits))
            }
            None => self.candidates(node, depth).into_iter().find(fits),
        }
    }

    fn candidates(&self, node: &Node, depth: usize) -> Vec<Value> {
        if let Some(allowed) = &node.values {
            return allowed.clone();
        }
        let mut found = Vec::new();
        if node.types.has(Types::STR) {
            found.extend(texts(node));
        }
        if node.types.has(Types::INT) {
            found.extend(numbers(&node.number, node.types.has(Types::FLOAT)));
        }
        if node.types.has(Types::BOOL) {
            found.extend([Value::Bool(true), Value::Bool(false)]);
        }
        if node.types.has(Types::LIST) {
            found.extend(self.lists(node, depth));
        }
        if node.types.has(Types::MAP) {
            found.extend(self.object(node, depth).map(Value::Map));
        }
        if node.types.has(Types::NULL) {
            found.push(Value::Null);
        }
        found
    }

    fn lists(&self, node: &Node, depth: usize) -> Vec<Value> {
        let rules = &node.list;
        let wanted = rules.min_items.unwrap_or(1).max(1).max(rules.prefix.len() as u64).min(MAX_LENGTH);
        let mut items = Vec::new();
        for index in 0..usize::try_from(wanted).unwrap_or_default() {
            let item = match rules.prefix.get(index).or(rules.rest.as_ref()) {
                Some(id) => self.value(*id, depth + 1),
                None => Some(Value::from("text")),
            };
            match item {
                Some(item) => items.push(item),
                None => break,
            }
        }
        vec![Value::List(items), Value::List(Vec::new())]
    }

    fn object(&self, node: &Node, depth: usize) -> Option<Map> {
        let mut members = Map::new();
        for (name, property) in node.map.properties.iter().filter(|(_, property)| property.required) {
            members.insert(name.clone(), self.value(property.node, depth + 1)?);
        }
        let wanted = node.map.min_entries.unwrap_or(0).min(MAX_LENGTH);
        let optional = node.map.properties.iter().filter(|(_, property)| !property.required);
        for (name, property) in optional {
            if members.len() as u64 >= wanted {
                break;
            }
            members.extend(self.value(property.node, depth + 1).map(|value| (name.clone(), value)));
        }
        if node.map.properties.is_empty() {
            members.extend(self.entry(node, depth));
        }
        Some(members)
    }

    /// One entry of a dict whose keys are data.
    fn entry(&self, node: &Node, depth: usize) -> Option<(String, Value)> {
        let extra = node.map.extras.first();
        let pattern = extra.and_then(|extra| extra.patterns.first());
        let key = match (node.map.names.first(), pattern) {
            (Some(names), _) => match self.value(*names, depth + 1)? {
                Value::Str(key) => key,
                _ => return None,
            },
            (None, Some((pattern, _))) => jsonschema_regex::pattern_witness(pattern.source())?,
            (None, None) => "key".to_owned(),
        };
        let value = pattern.map(|(_, node)| *node).or(extra.and_then(|extra| extra.rest));
        let value = match value {
            Some(id) => self.value(id, depth + 1)?,
            None => Value::from("text"),
        };
        Some((key, value))
    }
}

fn texts(node: &Node) -> Vec<Value> {
    let rules = &node.text;
    let formats = rules.formats.iter().map(|format| format.example().to_owned());
    let matching = rules.patterns.iter().filter_map(|pattern| jsonschema_regex::pattern_witness(pattern.source()));
    let mut found: Vec<_> = formats.chain(matching).collect();
    found.push("text".to_owned());
    // A longer or shorter one of each, where only the length is wrong.
    let fitted: Vec<_> = found.iter().map(|text| fitted(text, rules.min_chars, rules.max_chars)).collect();
    found.extend(fitted);
    found.into_iter().map(Value::Str).collect()
}

fn fitted(text: &str, min: Option<u64>, max: Option<u64>) -> String {
    let min = usize::try_from(min.unwrap_or(0).min(MAX_LENGTH)).unwrap_or_default();
    let max = usize::try_from(max.unwrap_or(u64::MAX)).unwrap_or(usize::MAX);
    let last = text.chars().last().unwrap_or('a');
    let padding = min.saturating_sub(text.chars().count());
    text.chars().chain(std::iter::repeat_n(last, padding)).take(max).collect()
}

fn numbers(rules: &NumberRules, floats: bool) -> Vec<Value> {
    let ends = rules.min.iter().chain(&rules.max).map(|bound| bound.limit.clone());
    let mut found = vec![Value::from(1), Value::from(10)];
    // The low end, the high end, their neighbours and the divisors themselves cover what authors write.
    for end in ends.chain(rules.multiples.iter().cloned()) {
        if let Value::Int(int) = &end {
            found.extend(
                int.to_i64().into_iter().flat_map(|n| [n.saturating_add(1), n.saturating_sub(1)]).map(Value::from),
            );
        }
        if let Value::Float(float) = &end {
            let whole = float.get().floor();
            let near = [whole, whole + 1.0].into_iter().filter(|near| near.abs() < 9e15);
            found.extend(near.map(|near| Value::from(near as i64)));
        }
        found.push(end);
    }
    found.extend([0, 2, 100].map(Value::from));
    if let (true, Some(min), Some(max)) = (floats, &rules.min, &rules.max) {
        let middle = as_f64(&min.limit).zip(as_f64(&max.limit)).map(|(min, max)| min + (max - min) / 2.0);
        found.extend(middle.and_then(Float::new).map(Value::Float));
    }
    found.retain(|value| compare(value, value).is_some());
    found
}

fn as_f64(value: &Value) -> Option<f64> {
    match value {
        Value::Int(int) => Some(int.to_f64()),
        Value::Float(float) => Some(float.get()),
        Value::Null | Value::Bool(_) | Value::Str(_) | Value::List(_) | Value::Map(_) => None,
    }
}
