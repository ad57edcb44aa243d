//! Canonical arguments and the text of every diagnostic.

use serde_json::{Value as Text, json};

use super::{bound, one, output, value};
use crate::capability::schema::{Diagnostic, Problem, Step};

#[track_caller]
fn binds(schema: &Text, arguments: &Text, expected: &str) {
    assert_eq!(bound(schema, arguments), expected, "{schema} with {arguments}");
}

/// A required argument `x` of this schema.
#[track_caller]
fn x(schema: Text, argument: Text, expected: &str) {
    binds(&one(&schema), &json!({ "x": argument }), expected);
}

#[track_caller]
fn checks(schema: Text, given: Text, expected: &str) {
    let result = output(&schema).check(value(&given));
    let text = result.map_or_else(|diagnostic| diagnostic.to_string(), |value| value.to_json());
    assert_eq!(text, expected, "{schema} with {given}");
}

fn request() -> Text {
    json!({
        "type": "object",
        "properties": {
            "key": {"type": "string"},
            "count": {"type": "integer", "format": "uint8", "minimum": 0, "maximum": 255},
            "ratio": {"type": "number"},
            "filter": {
                "type": "object",
                "properties": {"owner": {"type": "string"}, "limit": {"type": "integer", "default": 10}},
                "additionalProperties": false,
            },
            "tags": {"type": "array", "items": {"type": "string"}},
            "labels": {"type": "object", "additionalProperties": {"type": ["string", "null"]}},
            "window": {
                "type": "object",
                "properties": {"end": {"type": "integer"}, "created-at": {"type": "string"}},
                "required": ["end"],
            },
            "note": {"type": ["string", "null"]},
        },
        "required": ["key", "note"],
    })
}

#[track_caller]
fn asks(more: Text, expected: &str) {
    let mut arguments = json!({"key": "k", "note": null});
    arguments.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    binds(&request(), &arguments, expected);
}

#[test]
fn arguments_come_out_in_the_order_of_the_schema() {
    asks(json!({"tags": ["a"], "count": 3}), r#"{"key":"k","count":3,"tags":["a"],"note":null}"#);
}

#[test]
fn paths_name_the_place() {
    asks(json!({"key": 1}), r#"argument "key" must be a string"#);
    asks(json!({"filter": {"owner": 1}}), r#"argument "filter.owner" must be a string or None"#);
    asks(json!({"tags": ["a", 2]}), r#"argument "tags[1]" must be a string"#);
    asks(json!({"labels": {"env": 1}}), r#"argument "labels['env']" must be a string or None"#);
    asks(json!({"window": {"end": 1, "created-at": 2}}), r#"argument "window['created-at']" must be a string or None"#);
    asks(json!({"window": {}}), r#"missing required argument "window.end""#);
    asks(json!({"count": 256}), r#"argument "count" must be between 0 and 255"#);
    asks(json!({"count": "1"}), r#"argument "count" must be an integer or None"#);
}

#[test]
fn unknown_names_suggest_the_nearest() {
    asks(json!({"ky": "a"}), r#"unknown argument "ky"; did you mean "key"?"#);
    asks(
        json!({"zzzzzz": "a"}),
        r#"unknown argument "zzzzzz"; there is "key", "count", "ratio", "filter", "tags", "labels", "window", "note""#,
    );
    asks(json!({"filter": {"ownr": "a"}}), r#"unknown argument "filter.ownr"; did you mean "filter.owner"?"#);
    binds(&request(), &json!({"note": null}), r#"missing required argument "key""#);
}

#[test]
fn none_for_an_optional_argument_means_omitted_and_elsewhere_null() {
    asks(json!({"count": null, "filter": {"owner": null}}), r#"{"key":"k","filter":{"limit":10},"note":null}"#);
    asks(json!({"filter": {"limit": null}}), r#"{"key":"k","filter":{"limit":10},"note":null}"#);
    asks(json!({"labels": {"env": null}}), r#"{"key":"k","labels":{"env":null},"note":null}"#);
    asks(json!({"note": null}), r#"{"key":"k","note":null}"#);
    asks(json!({"key": null}), r#"argument "key" must be a string"#);
    asks(json!({"tags": [null]}), r#"argument "tags[0]" must be a string"#);
}

#[test]
fn numbers_are_exact() {
    x(json!({"type": "number"}), json!(3), r#"{"x":3.0}"#);
    x(json!({"type": "integer"}), json!(1.0), r#"argument "x" must be an integer"#);
    x(json!({"type": "integer"}), json!(true), r#"argument "x" must be an integer"#);
    x(json!({"type": "number"}), json!(true), r#"argument "x" must be a number"#);
    let nine: Text = serde_json::from_str(&"9".repeat(1000)).unwrap();
    x(json!({"type": "integer"}), nine.clone(), &format!(r#"{{"x":{nine}}}"#));
    x(json!({"type": "integer", "format": "int64"}), nine, r#"argument "x" overflows int64"#);
    let big: Text = serde_json::from_str("9223372036854775808").unwrap();
    x(json!({"type": "integer", "format": "int64"}), big.clone(), r#"argument "x" overflows int64"#);
    let range = json!({"type": "integer", "format": "uint64", "minimum": 0});
    x(range.clone(), big, r#"{"x":9223372036854775808}"#);
    x(range, json!(-1), r#"argument "x" must be between 0 and 18446744073709551615"#);
    x(json!({"minimum": 0.5, "type": "integer"}), json!(0), r#"argument "x" must be at least 0.5"#);
    x(json!({"exclusiveMinimum": 1, "type": "integer"}), json!(1), r#"argument "x" must be greater than 1"#);
    x(
        json!({"minimum": 1, "exclusiveMinimum": true, "type": "number"}),
        json!(1),
        r#"argument "x" must be greater than 1"#,
    );
    x(json!({"exclusiveMaximum": 1, "type": "integer"}), json!(1), r#"argument "x" must be less than 1"#);
    x(json!({"maximum": 1, "type": "integer"}), json!(2), r#"argument "x" must be at most 1"#);
    x(json!({"multipleOf": 0.01, "type": "number"}), json!(0.07), r#"{"x":0.07}"#);
    x(json!({"multipleOf": 5, "type": "integer"}), json!(7), r#"argument "x" must be a multiple of 5"#);
    let huge: Text = serde_json::from_str(&"9".repeat(400)).unwrap();
    x(json!({"type": "number"}), huge, r#"argument "x" is not finite"#);
    let edge: Text = serde_json::from_str("9007199254740993").unwrap();
    x(
        json!({"type": "integer", "maximum": 9007199254740992.0}),
        edge,
        r#"argument "x" must be at most 9007199254740992.0"#,
    );
}

#[test]
fn texts_say_their_rule() {
    x(json!({"type": "string", "pattern": "^[a-z]+$"}), json!("A"), r#"argument "x" must match ^[a-z]+$"#);
    x(json!({"type": "string", "maxLength": 2}), json!("äöü"), r#"argument "x" must be at most 2 characters"#);
    x(json!({"type": "string", "minLength": 1}), json!(""), r#"argument "x" must be at least 1 character"#);
    x(json!({"type": "string", "format": "date"}), json!("soon"), r#"argument "x" must be a valid date"#);
    x(json!({"type": "string", "format": "colour"}), json!("soon"), r#"{"x":"soon"}"#);
    x(json!({"enum": ["open", "closed"]}), json!("shut"), r#"argument "x" must be "open" or "closed""#);
    x(json!({"enum": ["open", "closed", null]}), json!(1), r#"argument "x" must be "open", "closed" or None"#);
    x(json!({"const": 1}), json!(2), r#"argument "x" must be 1"#);
}

#[test]
fn lists_and_dicts_say_their_rule() {
    x(json!({"type": "array", "maxItems": 1}), json!([1, 2]), r#"argument "x" must have at most 1 item"#);
    x(json!({"type": "array", "minItems": 2}), json!([1]), r#"argument "x" must have at least 2 items"#);
    x(
        json!({"type": "array", "uniqueItems": true}),
        json!([1, 1.0]),
        r#"argument "x" must not have the same item twice"#,
    );
    x(json!({"type": "array", "items": {"type": "number"}}), json!([1, 2]), r#"{"x":[1.0,2.0]}"#);
    x(
        json!({"prefixItems": [{"type": "string"}], "items": {"type": "integer"}}),
        json!(["a", "b"]),
        r#"argument "x[1]" must be an integer"#,
    );
    x(
        json!({"items": [{"type": "string"}], "additionalItems": false}),
        json!(["a", "b"]),
        r#"argument "x[1]" is not allowed"#,
    );
    x(
        json!({"type": "object", "maxProperties": 1}),
        json!({"a": 1, "b": 2}),
        r#"argument "x" must have at most 1 entry"#,
    );
    x(
        json!({"type": "object", "propertyNames": {"pattern": "^[a-z]$"}}),
        json!({"A": 1}),
        r#"argument "x" key "A" must match ^[a-z]$"#,
    );
    x(
        json!({"type": "object", "patternProperties": {"^n": {"type": "integer"}}, "additionalProperties": false}),
        json!({"n1": 1, "m": 1}),
        r#"unknown argument "x['m']""#,
    );
    x(json!({"type": "array", "items": {"type": "string"}}), json!("a"), r#"argument "x" must be a list"#);
    x(json!({"type": "object"}), json!([]), r#"argument "x" must be a dict"#);
    x(json!({"type": ["object", "string", "null"]}), json!([]), r#"argument "x" must be a string, a dict or None"#);
}

#[test]
fn lists_joined_by_all_of_are_one() {
    let joined = json!({"allOf": [{"items": {"type": "number"}}, {"items": {"minimum": 1}}, {"prefixItems": [{"multipleOf": 2}]}]});
    x(joined.clone(), json!([2, 1]), r#"{"x":[2.0,1.0]}"#);
    x(joined.clone(), json!([2, 0]), r#"argument "x[1]" must be at least 1"#);
    x(joined, json!([3]), r#"argument "x[0]" must be a multiple of 2"#);
}

#[test]
fn none_for_an_optional_member_rules_out_no_alternative() {
    let choice = json!({"anyOf": [
        {"type": "object", "properties": {"mode": {"const": "fast"}, "n": {"type": "number"}}, "required": ["n"]},
        {"type": "object", "properties": {"s": {"type": "string"}}, "required": ["s"]},
    ]});
    x(choice, json!({"mode": null, "n": 1}), r#"{"x":{"n":1.0}}"#);
}

fn tagged() -> Text {
    json!({"oneOf": [
        {"type": "object", "properties": {"kind": {"const": "line"}, "to": {"type": "number"}}, "required": ["kind", "to"]},
        {"type": "object", "properties": {"kind": {"const": "dot"}, "size": {"type": "integer"}}, "required": ["kind"]},
    ]})
}

#[test]
fn a_discriminated_choice_reports_the_variant_that_was_meant() {
    x(tagged(), json!({"kind": "line", "to": 1}), r#"{"x":{"kind":"line","to":1.0}}"#);
    x(tagged(), json!({"kind": "line", "to": "a"}), r#"argument "x.to" must be a number"#);
    x(tagged(), json!({"kind": "line"}), r#"missing required argument "x.to""#);
    x(tagged(), json!({"kind": "arc"}), r#"argument "x.kind" must be "line" or "dot""#);
    x(tagged(), json!({}), r#"missing required argument "x.kind""#);
    x(tagged(), json!("line"), r#"argument "x" must be a dict"#);
}

#[test]
fn other_choices_say_what_they_take() {
    let either = json!({"anyOf": [{"type": "string"}, {"type": "integer"}]});
    x(either.clone(), json!(1), r#"{"x":1}"#);
    x(either, json!(true), r#"argument "x" must be a string or an integer"#);
    let twice = json!({"oneOf": [{"type": "integer"}, {"type": "number"}]});
    x(twice.clone(), json!(1.5), r#"{"x":1.5}"#);
    x(twice, json!(1), r#"argument "x" must match only one of int | float"#);
    // Without the member that is left out it fits both.
    let closed = json!({"type": ["integer", "object"], "properties": {"a": {}}});
    let once = json!({"additionalProperties": false, "oneOf": [closed, {}]});
    x(once, json!({"a": null}), r#"argument "x" must match only one of any"#);
    // What one demands as an integer is one, whatever another would make of it.
    let (integer, number) = (json!({"type": "integer"}), json!({"type": "number"}));
    for (rest, pattern, bound) in [(&integer, &number, "0"), (&number, &integer, "0"), (&number, &number, "0.0")] {
        let both = json!({"additionalProperties": rest, "oneOf": [{"patternProperties": {"^a": pattern}}, {"type": "string"}]});
        x(both, json!({"a": 0}), &format!("{{\"x\":{{\"a\":{bound}}}}}"));
    }
    let nullable = json!({"anyOf": [{"type": "string", "maxLength": 1}, {"type": "null"}]});
    x(nullable.clone(), json!("ab"), r#"argument "x" must be at most 1 character"#);
    x(nullable, json!(1), r#"argument "x" must be a string or None"#);
    let objects = json!({"anyOf": [
        {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]},
        {"type": "object", "properties": {"b": {"type": "integer"}}, "required": ["b"]},
    ]});
    x(objects, json!({"c": 1}), r#"argument "x" must match one of {a: int} | {b: int}"#);
}

#[test]
fn what_stands_beside_a_choice_counts_in_each_variant() {
    let schema = json!({
        "type": "object",
        "properties": {"id": {"type": "integer"}},
        "required": ["id"],
        "oneOf": [
            {"properties": {"a": {"type": "number"}}, "required": ["a"]},
            {"properties": {"b": {"type": "string"}}, "required": ["b"]},
        ],
    });
    binds(&schema, &json!({"a": 1, "id": 1}), r#"{"id":1,"a":1.0}"#);
    binds(&schema, &json!({"b": "s", "a": null, "id": 1}), r#"{"id":1,"b":"s","a":null}"#);
    binds(&schema, &json!({"b": "s"}), r#"missing required argument "id""#);
}

#[test]
fn openapi_spellings_count() {
    x(json!({"type": "string", "nullable": true}), json!(null), r#"{"x":null}"#);
    x(json!({"type": "string", "enum": ["a"], "nullable": true}), json!(null), r#"{"x":null}"#);
    x(json!({"allOf": [{"type": "string"}], "nullable": true}), json!(null), r#"{"x":null}"#);
    x(json!({"allOf": [{"type": "string"}], "nullable": true}), json!(1), r#"argument "x" must be a string or None"#);
    x(json!({"nullable": true, "not": {"type": "string"}}), json!(null), r#"{"x":null}"#);
    x(json!({"nullable": true, "not": {"type": "string"}}), json!(1), r#"{"x":1}"#);
    x(
        json!({"nullable": true, "not": {"type": "string"}}),
        json!("a"),
        r#"argument "x" must satisfy the keyword `not` of its schema"#,
    );
}

#[test]
fn what_no_rule_expresses_is_checked_all_the_same() {
    x(
        json!({"contains": {"type": "string"}}),
        json!([1]),
        r#"argument "x" must satisfy the keyword `contains` of its schema"#,
    );
    let dependent = json!({"type": "object", "properties": {"a": {}, "b": {}}, "dependentRequired": {"a": ["b"]}});
    x(dependent.clone(), json!({"a": 1}), r#"missing required argument "x.b""#);
    x(dependent, json!({"a": null}), r#"{"x":{}}"#);
    let closed = json!({"type": "object", "properties": {"a": {}}, "unevaluatedProperties": false});
    x(closed, json!({"b": 1}), r#"unknown argument "x.b""#);
}

#[test]
fn recursion_is_followed_as_deep_as_the_value_goes() {
    let tree = json!({
        "type": "object",
        "properties": {"tree": {"$ref": "#/$defs/node"}},
        "$defs": {"node": {
            "type": "object",
            "properties": {"weight": {"type": "number"}, "children": {"type": "array", "items": {"$ref": "#/$defs/node"}}},
        }},
    });
    let leaf = |weight: Text| json!({"tree": {"children": [{"children": [{"weight": weight}]}]}});
    binds(&tree, &leaf(json!(1)), r#"{"tree":{"children":[{"children":[{"weight":1.0}]}]}}"#);
    binds(&tree, &leaf(json!("a")), r#"argument "tree.children[0].children[0].weight" must be a number or None"#);
}

#[test]
fn objects_joined_by_all_of_are_one() {
    let joined = json!({"allOf": [
        {"type": "object", "properties": {"n": {"type": "number"}}, "required": ["n"]},
        {"type": "object", "properties": {"n": {"type": "integer"}, "m": {"type": "string"}}},
    ]});
    binds(&joined, &json!({"n": 1}), r#"{"n":1}"#);
    binds(&joined, &json!({"n": 1.5}), r#"argument "n" must be an integer"#);
}

#[test]
fn a_choice_within_a_choice_within_a_choice_ends() {
    let schema = json!({
        "type": "object", "properties": {"x": {"$ref": "#/$defs/n"}}, "required": ["x"],
        "$defs": {"n": {"anyOf": [
            {"type": "object", "properties": {"c": {"$ref": "#/$defs/n"}, "x": {"type": "string"}}, "required": ["x"]},
            {"type": "object", "properties": {"c": {"$ref": "#/$defs/n"}, "x": {"type": "integer"}}, "required": ["x"]},
        ]}},
    });
    let mut deep = json!({"x": true});
    for _ in 0..40 {
        deep = json!({"x": 1, "c": deep});
    }
    assert!(bound(&schema, &json!({ "x": deep })).ends_with("must be simpler: checking it takes too long"));
}

#[test]
fn outputs_are_checked_and_not_bent() {
    let schema = json!({"type": "object", "properties": {
        "n": {"type": "number"}, "s": {"type": "string", "default": "x"}, "m": {"type": ["string", "null"]},
    }, "required": ["n"]});
    checks(schema.clone(), json!({"n": 1}), r#"{"n":1.0}"#);
    checks(schema.clone(), json!({"n": 1, "m": null}), r#"{"n":1.0,"m":null}"#);
    checks(schema.clone(), json!({"n": 1, "s": null}), r#"output field "s" must be a string"#);
    checks(schema.clone(), json!({}), r#"missing required output field "n""#);
    checks(schema, json!([]), r#"the output must be a dict"#);
    checks(
        json!({"type": "array", "items": {"type": "integer"}}),
        json!([1, 1.0]),
        r#"output field "[1]" must be an integer"#,
    );
}

#[test]
fn what_only_the_worker_can_see_has_its_texts() {
    let labels = |problem| Diagnostic::argument(problem).inside(Step::Name("labels".to_owned()));
    assert_eq!(labels(Problem::KeysNotStrings).to_string(), r#"argument "labels" keys must be strings"#);
    assert_eq!(labels(Problem::NotFinite).to_string(), r#"argument "labels" is not finite"#);
    let kind = "function".to_owned();
    assert_eq!(labels(Problem::Unsupported { kind }).to_string(), r#"argument "labels" cannot be a function"#);
    assert_eq!(labels(Problem::TooManyDigits).to_string(), r#"argument "labels" has more than 1,000 digits"#);
    let inner = Diagnostic::argument(Problem::NotFinite).inside(Step::Key("it's".to_owned()));
    let path = inner.inside(Step::Index(2)).inside(Step::Name("labels".to_owned())).path();
    assert_eq!(path, r"labels[2]['it\'s']");
}
