//! The notation of signatures, fields and examples.

use serde_json::{Value as Text, json};

use super::{input, map, one, output};
use crate::capability::schema::{Style, literal};
use crate::capability::signature::{example, signature};
use crate::capability::{Capability, Hints, Id, Name};
use crate::value::Value;

#[track_caller]
fn reads(schema: Text, expected: &str) {
    let input = input(&one(&schema));
    assert_eq!(input.parameters().remove(0).given(Style::Input).notation(Style::Input), expected, "{schema}");
}

#[track_caller]
fn gives(schema: Text, expected: &str) {
    assert_eq!(output(&schema).shape().notation(Style::Output), expected, "{schema}");
}

#[track_caller]
fn signs(schema: Text, expected: &str) {
    assert_eq!(signature(&Name::new("records.lookup").unwrap(), &input(&schema)), expected);
}

#[track_caller]
fn constrains(schema: Text, expected: &str) {
    let field = input(&one(&schema)).fields().remove(0);
    assert_eq!(field.constraints.unwrap_or_default(), expected, "{schema}");
}

/// The example of a schema, as a program writes it.
#[track_caller]
fn shows(schema: Text, expected: &str) {
    let schema = one(&schema);
    let input = input(&schema);
    let example = input.example().unwrap_or_else(|| panic!("no example of {schema}"));
    assert_eq!(literal(&example["x"]), expected, "{schema}");
    input.bind(example).expect("an example binds");
}

#[test]
fn scalars_have_the_names_of_the_language() {
    reads(json!({"type": "string"}), "str");
    reads(json!({"type": "integer"}), "int");
    reads(json!({"type": "number"}), "float");
    reads(json!({"type": "boolean"}), "bool");
    reads(json!({"type": "null"}), "None");
    reads(json!({}), "any");
    reads(json!(true), "any");
}

#[test]
fn closed_sets_list_their_values() {
    reads(json!({"enum": ["open", "closed"]}), r#""open" | "closed""#);
    reads(json!({"type": "string", "enum": ["open", null]}), r#""open""#);
    reads(json!({"enum": ["open", null]}), r#""open" | None"#);
    reads(json!({"const": 1}), "1");
    reads(json!({"enum": [true, 1, "a\"b"]}), r#"True | 1 | "a\"b""#);
    reads(json!({"oneOf": [{"const": "a", "description": "A"}, {"const": "b"}]}), r#""a" | "b""#);
}

#[test]
fn containers_show_what_they_hold() {
    reads(json!({"type": "array", "items": {"type": "string"}}), "list[str]");
    reads(json!({"type": "array"}), "list[any]");
    reads(
        json!({"type": "array", "prefixItems": [{"type": "string"}, {"type": "integer"}], "items": false}),
        "list[str | int]",
    );
    reads(json!({"type": "object"}), "dict[str, any]");
    reads(json!({"type": "object", "additionalProperties": {"type": "integer"}}), "dict[str, int]");
    reads(
        json!({"type": "object", "patternProperties": {"^a": {"type": "integer"}}, "additionalProperties": false}),
        "dict[str, int]",
    );
    reads(json!({"type": "object", "additionalProperties": false}), "{}");
}

#[test]
fn objects_show_which_members_may_be_left_out() {
    let object = json!({
        "type": "object",
        "properties": {"a": {"type": "string"}, "created-at": {"type": "integer"}, "if": {"type": "boolean"}},
        "required": ["a"],
    });
    reads(object.clone(), r#"{a: str, "created-at": int | None, "if": bool | None}"#);
    gives(object, r#"{a: str, "created-at"?: int, "if"?: bool}"#);
}

#[test]
fn unions_are_flat_and_end_in_none() {
    reads(json!({"type": ["null", "string"]}), "str | None");
    reads(
        json!({"anyOf": [{"type": "null"}, {"anyOf": [{"type": "string"}, {"type": "integer"}]}]}),
        "str | int | None",
    );
    reads(json!({"anyOf": [{"type": "string"}, {}]}), "any");
    reads(json!({"type": "string", "nullable": true}), "str | None");
    reads(json!({"oneOf": [{"type": "integer"}, {"type": "number"}]}), "int | float");
}

#[test]
fn references_are_followed_and_recursion_is_any() {
    let schema = json!({
        "type": "object",
        "properties": {"t": {"$ref": "#/$defs/t"}},
        "$defs": {"t": {"type": "object", "properties": {"v": {"type": "integer"}, "kids": {"type": "array", "items": {"$ref": "#/$defs/t"}}}}},
    });
    signs(schema, "records.lookup(*, t: {v: int | None, kids: list[any] | None} | None)");
}

#[test]
fn signatures_end_at_the_parenthesis() {
    signs(
        json!({"type": "object", "properties": {"key": {"type": "string"}, "limit": {"type": "integer"}}, "required": ["key"]}),
        "records.lookup(*, key: str, limit: int | None)",
    );
    signs(json!({"type": "object"}), "records.lookup()");
    signs(json!({"type": "object", "additionalProperties": {"type": "integer"}}), "records.lookup(**others: int)");
    signs(
        json!({"oneOf": [
            {"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "integer"}}, "required": ["a", "b"]},
            {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]},
        ]}),
        "records.lookup(*, a: str | int, b: int | None)",
    );
}

#[test]
fn constraints_are_short() {
    constrains(json!({"type": "integer", "format": "uint8", "minimum": 0, "maximum": 255}), "0..255");
    constrains(json!({"type": "integer", "format": "uint64", "minimum": 0}), ">= 0");
    constrains(json!({"type": "integer", "format": "int64"}), "");
    constrains(json!({"type": "number", "exclusiveMinimum": 0}), "> 0");
    constrains(json!({"type": "string", "pattern": "^[a-z]+$"}), "matches ^[a-z]+$");
    constrains(json!({"type": "string", "minLength": 1, "maxLength": 64}), "1..64 characters");
    constrains(json!({"type": "string", "format": "uuid"}), "uuid");
    constrains(
        json!({"type": "array", "items": {"type": "string", "maxLength": 9}, "maxItems": 10}),
        "at most 10 items, each at most 9 characters",
    );
    constrains(json!({"type": "object", "minProperties": 1}), "at least 1 entry");
    constrains(json!({"anyOf": [{"type": "integer", "minimum": 1}, {"type": "null"}]}), ">= 1");
}

#[test]
fn fields_say_what_the_author_said() {
    let schema = json!({"type": "object", "properties": {
        "a": {"type": "string", "description": "The key."},
        "b": {"type": "integer", "default": 5},
    }, "required": ["a"]});
    let fields = input(&schema).fields();
    assert_eq!(fields[0].description.as_deref(), Some("The key."));
    assert_eq!((fields[1].ty.as_str(), fields[1].required), ("int | None", false));
    assert_eq!(fields[1].default, Some(Value::from(5)));
    assert_eq!(input(&schema).bind(map(&json!({"a": ""}))).unwrap()["b"], Value::from(5));
}

#[test]
fn an_output_that_is_no_object_is_one_field() {
    let fields = output(&json!({"type": "array", "items": {"type": "integer"}})).fields();
    assert_eq!((fields[0].name.as_str(), fields[0].ty.as_str(), fields.len()), ("result", "list[int]", 1));
    let fields = output(&json!({"type": "object", "properties": {"n": {"type": "integer"}}})).fields();
    assert_eq!((fields[0].name.as_str(), fields[0].ty.as_str(), fields[0].required), ("n", "int", false));
    assert!(output(&json!({"type": "object", "additionalProperties": false})).fields().is_empty());
}

#[test]
fn examples_bind() {
    shows(json!({"type": "string"}), r#""text""#);
    shows(json!({"type": "string", "examples": ["x1"]}), r#""x1""#);
    shows(json!({"type": "string", "maxLength": 2, "examples": ["long"]}), r#""te""#);
    shows(json!({"type": "string", "minLength": 6}), r#""texttt""#);
    shows(json!({"type": "string", "pattern": "^[A-Z]{3}-[0-9]+$"}), r#""AAA-0""#);
    shows(json!({"type": "string", "format": "date"}), r#""2026-01-31""#);
    shows(json!({"enum": ["open", "closed"]}), r#""open""#);
    shows(json!({"type": "integer", "minimum": 7}), "10");
    shows(json!({"type": "integer", "maximum": -3}), "-4");
    shows(json!({"type": "number"}), "1");
    shows(json!({"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1}), "0.5");
    shows(json!({"type": "array", "items": {"type": "integer"}, "minItems": 2}), "[1, 1]");
    shows(json!({"type": "object", "additionalProperties": {"type": "integer"}}), r#"{"key": 1}"#);
    shows(json!({"anyOf": [{"type": "null"}, {"type": "boolean"}]}), "True");
    shows(json!({}), r#""text""#);
}

#[test]
fn an_example_is_a_call_on_one_line() {
    let schema = json!({
        "type": "object",
        "properties": {"key": {"type": "string", "examples": ["a\nb"]}, "created-at": {"type": "integer"}, "open": {"type": "boolean"}},
        "required": ["key", "created-at"],
    });
    let capability = Capability {
        id: Id::new("records.lookup"),
        name: Name::new("records.lookup").unwrap(),
        summary: "Look up.".to_owned(),
        description: "Look up.".to_owned(),
        search_terms: Vec::new(),
        hints: Hints::default(),
        input: input(&schema),
        output: output(&json!({})),
        plugin: "records".into(),
    };
    assert_eq!(example(&capability), r#"records.lookup(key="a\nb", **{"created-at": 1})"#);
}
