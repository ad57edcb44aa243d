//! What `describe_api` says about one field.

use super::Compiled;
use super::choice;
use super::node::{Node, NodeId, NumberRules, Types};
use super::number::Bound;
use super::shape::{Member, Style};
use crate::value::Value;

/// One parameter of a capability, or one member of its result.
#[derive(Clone, Debug, PartialEq)]
pub struct Field {
    pub name: String,
    /// In the notation of signatures.
    pub ty: String,
    pub required: bool,
    pub description: Option<String>,
    /// What an omitted argument becomes.
    pub default: Option<Value>,
    /// `0..255`, `matches ^[a-z]+$`.
    pub constraints: Option<String>,
}

pub(super) fn of_member(schema: &Compiled, member: &Member, id: NodeId, style: Style) -> Field {
    let about = &schema.node(id).about;
    let default = about.default.clone().filter(|default| *default != Value::Null);
    Field {
        name: member.name.clone(),
        ty: member.given(style).notation(style),
        required: member.required,
        description: about.description.clone(),
        default: default.filter(|_| style == Style::Input && !member.required),
        constraints: constraints(schema, id),
    }
}

/// The rules that the type does not show, in a few words.
pub(super) fn constraints(schema: &Compiled, id: NodeId) -> Option<String> {
    let node = single(schema, id)?;
    let mut words = Vec::new();
    if node.values.is_none() {
        if node.types.has(Types::INT) && node.types != Types::ALL {
            numbers(&node.number, &mut words);
        }
        if node.types.has(Types::STR) {
            texts(node, &mut words);
        }
    }
    if node.types.has(Types::LIST) {
        words.extend(count(node.list.min_items, node.list.max_items, "item"));
        words.extend(node.list.unique.then(|| "no item twice".to_owned()));
        let items = node.list.rest.filter(|_| node.list.prefix.is_empty());
        words.extend(items.and_then(|items| item_words(schema, items)));
    }
    if node.types.has(Types::MAP) {
        words.extend(count(node.map.min_entries, node.map.max_entries, "entry"));
    }
    (!words.is_empty()).then(|| words.join(", "))
}

/// One level further in only: a field's line is no place for a whole tree.
fn item_words(schema: &Compiled, id: NodeId) -> Option<String> {
    let node = single(schema, id)?;
    let mut words = Vec::new();
    if node.values.is_none() && node.types != Types::ALL {
        if node.types.has(Types::INT) {
            numbers(&node.number, &mut words);
        }
        if node.types.has(Types::STR) {
            texts(node, &mut words);
        }
    }
    (!words.is_empty()).then(|| format!("each {}", words.join(", ")))
}

/// The node itself, or the only alternative that is not null.
fn single(schema: &Compiled, id: NodeId) -> Option<&Node> {
    let node = schema.node(id);
    let Some(choice) = &node.choice else { return Some(node) };
    let leaves = choice::leaves(schema, choice);
    let mut leaves = leaves.iter().filter(|(_, leaf)| leaf.types != Types::NULL);
    match (leaves.next(), leaves.next()) {
        (Some((_, only)), None) => Some(only),
        _ => None,
    }
}

fn numbers(rules: &NumberRules, words: &mut Vec<String>) {
    // The widest integers' upper ends say nothing that a reader needs.
    let is_huge = |bound: &&Bound| matches!(&bound.limit, Value::Int(int) if int.to_i64().is_none());
    let (min, max) = (rules.min.as_ref(), rules.max.as_ref().filter(|bound| !is_huge(bound)));
    match (min, max) {
        (Some(min), Some(max)) if !min.exclusive && !max.exclusive => {
            words.push(format!("{}..{}", min.limit.to_json(), max.limit.to_json()));
        }
        (min, max) => {
            let sign = |bound: &Bound, open: &str, closed: &str| {
                format!("{} {}", if bound.exclusive { open } else { closed }, bound.limit.to_json())
            };
            words.extend(min.map(|min| sign(min, ">", ">=")));
            words.extend(max.map(|max| sign(max, "<", "<=")));
        }
    }
    words.extend(rules.multiples.iter().map(|divisor| format!("multiple of {}", divisor.to_json())));
}

fn texts(node: &Node, words: &mut Vec<String>) {
    let rules = &node.text;
    words.extend(rules.formats.iter().map(|format| format.name().to_owned()));
    words.extend(count(rules.min_chars, rules.max_chars, "character"));
    words.extend(rules.patterns.iter().map(|pattern| format!("matches {}", pattern.source())));
}

fn count(min: Option<u64>, max: Option<u64>, noun: &str) -> Option<String> {
    let plural = |n: u64| match (n, noun) {
        (1, noun) => noun.to_owned(),
        (_, "entry") => "entries".to_owned(),
        (_, noun) => format!("{noun}s"),
    };
    match (min.filter(|min| *min > 0), max) {
        (Some(min), Some(max)) if min == max => Some(format!("exactly {min} {}", plural(min))),
        (Some(min), Some(max)) => Some(format!("{min}..{max} {}", plural(max))),
        (Some(min), None) => Some(format!("at least {min} {}", plural(min))),
        (None, Some(max)) => Some(format!("at most {max} {}", plural(max))),
        (None, None) => None,
    }
}
