//! What people and models read, as it stands: every form of a diagnostic, and the description of every shape.

use std::fmt::Write as _;

use serde_json::{Value as Text, json};

use super::{one, output, value};
use crate::capability::Hints;
use crate::capability::catalog::{Catalog, Registration};
use crate::capability::schema::{Diagnostic, Input, Problem, Step};

/// The diagnostic of an argument `x` that does not fit.
fn told(schema: &Text, argument: &Text) -> String {
    let arguments = super::map(&json!({ "x": argument }));
    Input::compile(&one(schema)).expect("an input").bind(arguments).expect_err("no fit").to_string()
}

#[test]
fn every_form_of_a_diagnostic_has_its_text() {
    let object = json!({
        "type": "object",
        "properties": {"owner": {"type": "string"}, "created-at": {"type": "integer"}},
        "required": ["owner"],
        "additionalProperties": false,
    });
    let big = serde_json::from_str::<Text>(&"9".repeat(400)).unwrap();
    let rows = [
        (json!({"type": "string"}), json!(1)),
        (json!({"type": ["integer", "null"]}), json!("1")),
        (json!({"type": ["string", "array", "object", "null"]}), json!(true)),
        (json!({"enum": ["open", "closed", null]}), json!("opne")),
        (json!({"enum": (0..20).collect::<Vec<_>>()}), json!(20)),
        (object.clone(), json!({"owner": "a", "ownr": "b"})),
        (object.clone(), json!({"owner": "a", "something": "b"})),
        (object.clone(), json!({})),
        (object.clone(), json!({"owner": "a", "created-at": "b"})),
        (json!({"type": "array", "items": object}), json!([{"owner": "a"}, {"owner": 2}])),
        (json!({"type": "object", "additionalProperties": {"type": "boolean"}}), json!({"it's": 1})),
        (json!({"type": "integer", "format": "int64"}), serde_json::from_str("9223372036854775808").unwrap()),
        (json!({"type": "number"}), big),
        (json!(false), json!(1)),
        (json!({"type": "integer", "minimum": 0, "maximum": 255}), json!(256)),
        (json!({"type": "number", "exclusiveMinimum": 0}), json!(0)),
        (json!({"type": "integer", "multipleOf": 5}), json!(7)),
        (json!({"type": "string", "maxLength": 2}), json!("abc")),
        (json!({"type": "string", "pattern": "^[a-z]+$"}), json!("A")),
        (json!({"type": "string", "format": "date"}), json!("soon")),
        (json!({"type": "array", "minItems": 2}), json!([1])),
        (json!({"type": "array", "uniqueItems": true}), json!([1, 1])),
        (json!({"type": "object", "maxProperties": 1}), json!({"a": 1, "b": 2})),
        (json!({"type": "object", "propertyNames": {"pattern": "^[a-z]$"}}), json!({"A": 1})),
        (json!({"anyOf": [{"type": "string"}, {"type": "integer"}]}), json!(true)),
        (json!({"oneOf": [{"type": "integer"}, {"type": "number"}]}), json!(1)),
        (json!({"not": {"type": "string"}}), json!("a")),
        (json!({"contains": {"type": "string"}}), json!([1])),
    ];
    let mut text = String::new();
    for (schema, argument) in rows {
        writeln!(text, "{}", told(&schema, &argument)).unwrap();
    }
    let from_the_program = [
        Problem::KeysNotStrings,
        Problem::NotFinite,
        Problem::TooManyDigits,
        Problem::Unsupported { kind: "function".to_owned() },
        Problem::TooComplex,
    ];
    for problem in from_the_program {
        writeln!(text, "{}", Diagnostic::argument(problem).inside(Step::Name("x".to_owned()))).unwrap();
    }
    let given = json!({"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]});
    for result in [json!({}), json!({"n": "1"}), json!([])] {
        writeln!(text, "{}", output(&given).check(value(&result)).expect_err("no fit")).unwrap();
    }
    insta::assert_snapshot!("diagnostics", text);
}

#[test]
fn every_shape_has_its_description() {
    let registrations = [
        ("shapes.any", json!({}), json!({})),
        ("shapes.null", json!({"type": "null"}), json!({"type": "null"})),
        ("shapes.bool", json!({"type": "boolean", "default": false}), json!({"type": "boolean"})),
        (
            "shapes.int",
            json!({"type": "integer", "minimum": 1, "maximum": 9, "default": 3}),
            json!({"type": "integer"}),
        ),
        ("shapes.float", json!({"type": "number", "exclusiveMinimum": 0}), json!({"type": "number"})),
        (
            "shapes.str",
            json!({"type": "string", "pattern": "^[a-z]+$", "description": "Lower-case letters."}),
            json!({"type": "string", "format": "date-time"}),
        ),
        ("shapes.enum", json!({"enum": ["open", "closed"]}), json!({"enum": [1, 2, null]})),
        (
            "shapes.list",
            json!({"type": "array", "items": {"type": "string", "maxLength": 9}, "minItems": 1, "uniqueItems": true}),
            json!({"type": "array", "items": {"type": "integer"}}),
        ),
        (
            "shapes.tuple",
            json!({"type": "array", "prefixItems": [{"type": "string"}, {"type": "integer"}], "items": false, "minItems": 2}),
            json!({"type": "array", "prefixItems": [{"type": "number"}], "items": false}),
        ),
        (
            "shapes.dict",
            json!({"type": "object", "additionalProperties": {"type": "integer"}, "maxProperties": 3}),
            json!({"type": "object", "additionalProperties": {"type": "number"}}),
        ),
        (
            "shapes.object",
            json!({
                "type": "object",
                "properties": {"start": {"type": "integer"}, "created-at": {"type": ["string", "null"]}},
                "required": ["start"],
                "additionalProperties": false,
            }),
            json!({
                "type": "object",
                "properties": {"count": {"type": "integer", "description": "How many."}, "next": {"type": "string"}},
                "required": ["count"],
            }),
        ),
        (
            "shapes.union",
            json!({"anyOf": [{"type": "string"}, {"type": "integer"}, {"type": "null"}]}),
            json!({"oneOf": [{"type": "boolean"}, {"type": "array", "items": {"type": "string"}}]}),
        ),
        (
            "shapes.tagged",
            json!({"oneOf": [
                {"type": "object", "properties": {"kind": {"const": "line"}, "to": {"type": "number"}}, "required": ["kind", "to"]},
                {"type": "object", "properties": {"kind": {"const": "dot"}}, "required": ["kind"]},
            ]}),
            json!({"type": "object", "properties": {}, "additionalProperties": false}),
        ),
        (
            "shapes.recursive",
            json!({"$ref": "#/$defs/tree"}),
            json!({"type": "object", "properties": {"depth": {"type": "integer"}}}),
        ),
    ];
    let tree = json!({"tree": {
        "type": "object",
        "properties": {"weight": {"type": "number"}, "children": {"type": "array", "items": {"$ref": "#/$defs/tree"}}},
    }});
    let names: Vec<&str> = registrations.iter().map(|(name, ..)| *name).collect();
    let registrations = registrations.iter().map(|(name, input, output)| {
        let mut input = one(input);
        input["$defs"] = tree.clone();
        registration(name, &input, output)
    });
    let bare = registration("shapes.bare", &json!({"type": "object", "additionalProperties": false}), &json!({}));
    let open =
        registration("shapes.open", &json!({"type": "object", "additionalProperties": {"type": "string"}}), &json!({}));
    let catalog = Catalog::build(registrations.chain([bare, open]).collect(), &[]).unwrap();
    let mut text = String::new();
    for name in names.into_iter().chain(["shapes.bare", "shapes.open"]) {
        writeln!(text, "{}", serde_json::to_string_pretty(&catalog.describe(name).unwrap()).unwrap()).unwrap();
    }
    insta::assert_snapshot!("descriptions", text);
}

fn registration(name: &str, input: &Text, output: &Text) -> Registration {
    Registration {
        plugin: "shapes".into(),
        library: "libshapes.so".into(),
        name: name.to_owned(),
        id: None,
        summary: "Take and give one shape.".to_owned(),
        description: None,
        search_terms: Vec::new(),
        hints: Hints { read_only: Some(true), ..Hints::default() },
        input: input.to_string().into(),
        output: output.to_string().into(),
    }
}
