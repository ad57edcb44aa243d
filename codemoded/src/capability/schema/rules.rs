//! Reads one subschema's keywords about scalars, counts and values into a node that may already hold others'.

use serde_json::{Map as Json, Value as Text};

use super::keyword::count;
use super::node::{About, Node, NumberRules, Types};
use super::number::Bound;
use super::text::{Format, Pattern};
use crate::value::Value;

/// Whether null is allowed beside everything that the subschema's parts demand, as OpenAPI 3.0 spells it.
pub(super) fn is_null_an_alternative(members: &Json<String, Text>) -> bool {
    is_nullable(members)
        && (!members.contains_key("type")
            || ["$ref", "allOf", "anyOf", "oneOf", "not", "if"].iter().any(|keyword| members.contains_key(*keyword)))
}

fn is_nullable(members: &Json<String, Text>) -> bool {
    members.get("nullable") == Some(&Text::Bool(true))
}

/// What the subschema says to readers; what an outer one has said stands.
pub(super) fn describe(about: &mut About, members: &Json<String, Text>) {
    let text = |keyword| members.get(keyword).and_then(Text::as_str).map(str::trim).filter(|text| !text.is_empty());
    if about.description.is_none() {
        about.description = text("description").or_else(|| text("title")).map(str::to_owned);
    }
    if about.default.is_none() {
        about.default = members.get("default").and_then(|value| Value::from_serde(value).ok());
    }
    if about.examples.is_empty() {
        let listed = members.get("examples").and_then(Text::as_array).into_iter().flatten();
        about.examples =
            listed.chain(members.get("example")).filter_map(|value| Value::from_serde(value).ok()).collect();
    }
}

/// Everything that the subschema demands by itself.
pub(super) fn apply(node: &mut Node, members: &Json<String, Text>) {
    let types = types(node, members);
    values(node, members);
    bounds(&mut node.number, members);
    if types.has(Types::INT) && !types.has(Types::FLOAT) {
        int_format(&mut node.number, members);
    }
    texts(node, members, types);
    lowest(&mut node.text.max_chars, members, "maxLength");
    highest(&mut node.text.min_chars, members, "minLength");
    lowest(&mut node.list.max_items, members, "maxItems");
    highest(&mut node.list.min_items, members, "minItems");
    node.list.unique |= members.get("uniqueItems") == Some(&Text::Bool(true));
    lowest(&mut node.map.max_entries, members, "maxProperties");
    highest(&mut node.map.min_entries, members, "minProperties");
}

/// The types that the subschema names, all where it names none.
fn types(node: &mut Node, members: &Json<String, Text>) -> Types {
    let named = |name: &Text| match name.as_str() {
        Some("array") => Types::LIST,
        Some("boolean") => Types::BOOL,
        Some("integer") => Types::INT,
        Some("null") => Types::NULL,
        Some("number") => Types::INT.or(Types::FLOAT),
        Some("object") => Types::MAP,
        Some("string") => Types::STR,
        Some(_) | None => Types::NONE,
    };
    let mut types = match members.get("type") {
        None => return Types::ALL,
        Some(Text::Array(names)) => names.iter().map(named).fold(Types::NONE, Types::or),
        Some(name) => named(name),
    };
    if is_nullable(members) {
        types = types.or(Types::NULL);
    }
    let before = node.types;
    node.types = before.and(types);
    node.floats = (node.floats || types.has(Types::FLOAT)) && node.types.has(Types::FLOAT);
    types
}

fn values(node: &mut Node, members: &Json<String, Text>) {
    // The walk has seen that every number in the schema can be held.
    let read = |values: &[Text]| values.iter().filter_map(|value| Value::from_serde(value).ok()).collect::<Vec<_>>();
    if let Some(Text::Array(listed)) = members.get("enum") {
        let mut allowed = read(listed);
        if is_nullable(members) && !allowed.contains(&Value::Null) {
            allowed.push(Value::Null);
        }
        node.allow_only(allowed);
    }
    if let Some(only) = members.get("const") {
        node.allow_only(read(std::slice::from_ref(only)));
    }
}

fn bounds(rules: &mut NumberRules, members: &Json<String, Text>) {
    let number = |keyword: &str| members.get(keyword).and_then(|value| Value::from_serde(value).ok());
    // Draft 4 and OpenAPI 3.0 say with a boolean that the other keyword's bound is exclusive.
    let exclusive = |keyword: &str| members.get(keyword) == Some(&Text::Bool(true));
    let is_number = |value: &Value| matches!(value, Value::Int(_) | Value::Float(_));
    let ends = |bound: &str, other: &str| {
        let first = number(bound).map(|limit| Bound { limit, exclusive: exclusive(other) });
        let second = number(other).filter(is_number).map(|limit| Bound { limit, exclusive: true });
        first.into_iter().chain(second)
    };
    for bound in ends("minimum", "exclusiveMinimum") {
        raise(rules, bound);
    }
    for bound in ends("maximum", "exclusiveMaximum") {
        lower(rules, bound);
    }
    rules.multiples.extend(number("multipleOf"));
}

fn raise(rules: &mut NumberRules, bound: Bound) {
    rules.min = Some(match rules.min.take() {
        Some(known) => known.higher(bound),
        None => bound,
    });
}

fn lower(rules: &mut NumberRules, bound: Bound) {
    rules.max = Some(match rules.max.take() {
        Some(known) => known.lower(bound),
        None => bound,
    });
}

/// The range that a format names, as OpenAPI and `schemars` do. A float's size is no bound on its value.
fn int_format(rules: &mut NumberRules, members: &Json<String, Text>) {
    let mut range = |min: i128, max: i128| {
        for (bound, end) in [(min, raise as fn(&mut NumberRules, Bound)), (max, lower)] {
            if let Ok(limit) = crate::value::Int::try_from(num_bigint::BigInt::from(bound)) {
                end(rules, Bound::inclusive(Value::Int(limit)));
            }
        }
    };
    match members.get("format").and_then(Text::as_str) {
        Some("int8") => range(i8::MIN.into(), i8::MAX.into()),
        Some("int16") => range(i16::MIN.into(), i16::MAX.into()),
        Some("int32") => range(i32::MIN.into(), i32::MAX.into()),
        Some("int64" | "int") => rules.int64 = true,
        Some("uint8") => range(0, u8::MAX.into()),
        Some("uint16") => range(0, u16::MAX.into()),
        Some("uint32") => range(0, u32::MAX.into()),
        Some("uint64" | "uint") => range(0, u64::MAX.into()),
        Some(_) | None => {}
    }
}

fn texts(node: &mut Node, members: &Json<String, Text>, types: Types) {
    if let Some(pattern) = members.get("pattern").and_then(Text::as_str) {
        node.text.patterns.push(Pattern::new(pattern));
    }
    // Where the type is not said to be a string, 2020-12 makes the format an annotation.
    let format = members.get("format").and_then(Text::as_str).filter(|_| types != Types::ALL && types.has(Types::STR));
    node.text.formats.extend(format.and_then(Format::named));
}

fn lowest(limit: &mut Option<u64>, members: &Json<String, Text>, keyword: &str) {
    if let Some(new) = members.get(keyword).and_then(count) {
        *limit = Some(limit.map_or(new, |known| known.min(new)));
    }
}

fn highest(limit: &mut Option<u64>, members: &Json<String, Text>, keyword: &str) {
    if let Some(new) = members.get(keyword).and_then(count) {
        *limit = Some(limit.map_or(new, |known| known.max(new)));
    }
}
