//! The keywords of JSON Schema (draft 4 to 2020-12, and OpenAPI 3.0's additions) and what may stand behind each.

use serde_json::Value;

/// What stands behind a keyword.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Grammar {
    Schema,
    Schemas,
    /// `items`: one schema, or (before 2020-12) one for each place.
    SchemaOrSchemas,
    SchemaMap,
    /// `patternProperties`.
    PatternMap,
    /// `dependencies`: schemas or lists of names.
    Dependencies,
    Types,
    Names,
    NameMap,
    Count,
    Number,
    PositiveNumber,
    /// `exclusiveMinimum`: a number, or (draft 4, OpenAPI 3.0) whether the other bound is exclusive.
    NumberOrBool,
    Bool,
    Pattern,
    Text,
    Values,
    /// `const`, `default`.
    Value,
    /// Cannot be honoured, and must not be ignored.
    Refused,
    /// Says nothing about values.
    Annotation,
}

pub(super) fn grammar(keyword: &str) -> Grammar {
    match keyword {
        "additionalItems"
        | "additionalProperties"
        | "contains"
        | "else"
        | "if"
        | "not"
        | "propertyNames"
        | "then"
        | "unevaluatedItems"
        | "unevaluatedProperties" => Grammar::Schema,
        "allOf" | "anyOf" | "oneOf" | "prefixItems" => Grammar::Schemas,
        "items" => Grammar::SchemaOrSchemas,
        "$defs" | "definitions" | "dependentSchemas" | "properties" => Grammar::SchemaMap,
        "patternProperties" => Grammar::PatternMap,
        "dependencies" => Grammar::Dependencies,
        "type" => Grammar::Types,
        "required" => Grammar::Names,
        "dependentRequired" => Grammar::NameMap,
        "maxContains" | "maxItems" | "maxLength" | "maxProperties" | "minContains" | "minItems" | "minLength"
        | "minProperties" => Grammar::Count,
        "maximum" | "minimum" => Grammar::Number,
        "multipleOf" => Grammar::PositiveNumber,
        "exclusiveMaximum" | "exclusiveMinimum" => Grammar::NumberOrBool,
        "nullable" | "uniqueItems" => Grammar::Bool,
        "pattern" => Grammar::Pattern,
        "$anchor" | "$dynamicAnchor" | "$id" | "$ref" | "$schema" | "format" => Grammar::Text,
        "enum" => Grammar::Values,
        "const" | "default" => Grammar::Value,
        "$dynamicRef" | "$recursiveRef" => Grammar::Refused,
        _ => Grammar::Annotation,
    }
}

/// Whether the keyword says something that no rule of ours expresses, so that the JSON Schema library must check it.
pub(super) fn is_residual(keyword: &str) -> bool {
    matches!(
        keyword,
        "not"
            | "if"
            | "contains"
            | "dependentRequired"
            | "dependentSchemas"
            | "dependencies"
            | "unevaluatedItems"
            | "unevaluatedProperties"
    )
}

/// What the value behind the keyword must be, where it is not.
pub(super) fn mistake(grammar: Grammar, value: &Value) -> Option<&'static str> {
    let names = |value: &Value| value.as_array().is_some_and(|names| names.iter().all(Value::is_string));
    let (fits, expected) = match grammar {
        Grammar::Schema | Grammar::Annotation | Grammar::Refused => (true, ""),
        Grammar::Schemas => (value.as_array().is_some_and(|list| !list.is_empty()), "a list of schemas"),
        Grammar::SchemaOrSchemas => (!value.is_null(), "a schema or a list of schemas"),
        Grammar::SchemaMap | Grammar::PatternMap | Grammar::Dependencies => (value.is_object(), "an object of schemas"),
        Grammar::Types => (are_types(value), "a type or a list of types"),
        Grammar::Names => (names(value), "a list of names"),
        Grammar::NameMap => (value.as_object().is_some_and(|map| map.values().all(names)), "an object of name lists"),
        Grammar::Count => (count(value).is_some(), "a whole number, zero or more"),
        Grammar::Number => (is_number(value), "a number"),
        Grammar::PositiveNumber => (is_number(value) && is_positive(value), "a number above zero"),
        Grammar::NumberOrBool => (value.is_boolean() || is_number(value), "a number"),
        Grammar::Bool => (value.is_boolean(), "true or false"),
        Grammar::Pattern | Grammar::Text => (value.is_string(), "a string"),
        Grammar::Values => (value.is_array() && is_crossing(value), "a list of values whose numbers can be held"),
        Grammar::Value => (is_crossing(value), "a value whose numbers can be held"),
    };
    (!fits).then_some(expected)
}

/// The whole number behind a keyword such as `maxLength`, which may also be written `2.0`.
pub(super) fn count(value: &Value) -> Option<u64> {
    let number = value.as_number()?;
    if let Some(count) = number.as_u64() {
        return Some(count);
    }
    let float = number.as_f64()?;
    // Beyond 2^53 no length is ever reached, so the cut does not matter.
    (float >= 0.0 && float.fract() == 0.0).then_some(float as u64)
}

fn is_number(value: &Value) -> bool {
    value.is_number() && is_crossing(value)
}

/// Whether the value can cross to a program at all.
fn is_crossing(value: &Value) -> bool {
    crate::value::Value::from_serde(value).is_ok()
}

fn is_positive(value: &Value) -> bool {
    value.as_number().and_then(serde_json::Number::as_f64).is_some_and(|number| number > 0.0)
}

fn are_types(value: &Value) -> bool {
    let is_type = |value: &Value| {
        value.as_str().is_some_and(|name| {
            matches!(name, "array" | "boolean" | "integer" | "null" | "number" | "object" | "string")
        })
    };
    is_type(value) || value.as_array().is_some_and(|list| !list.is_empty() && list.iter().all(is_type))
}
