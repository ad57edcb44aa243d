//! Which schemas are refused, and that every one is decided quickly.

use std::fs;
use std::time::Duration;

use serde_json::{Value as Text, json};

use super::one;
use crate::capability::schema::Input;

#[track_caller]
fn refuses(schema: Text, expected: &str) {
    let faults = Input::compile(&one(&schema)).expect_err("a fault");
    assert_eq!(faults[0].to_string(), expected);
}

/// What this thread has worked: the time that passes says nothing on a busy machine.
fn worked() -> Duration {
    let statistics = fs::read_to_string("/proc/thread-self/schedstat").unwrap();
    Duration::from_nanos(statistics.split(' ').next().unwrap().parse().unwrap())
}

#[track_caller]
fn decides_quickly(schema: &Text) {
    decides_text_quickly(schema.to_string());
}

#[track_caller]
fn decides_text_quickly(schema: String) {
    let start = worked();
    let decided = Input::read(schema.into()).map(|input| drop((input.fields(), input.example())));
    let took = worked() - start;
    assert!(took < Duration::from_secs(1), "{took:?}: {:?}", decided.map_err(|faults| faults[0].to_string()));
}

#[test]
fn what_cannot_be_honoured_is_refused_by_name_and_place() {
    refuses(json!({"$dynamicRef": "#x"}), "schema at `/properties/x`: keyword `$dynamicRef` is not supported");
    refuses(
        json!({"$ref": "https://example.com/s.json"}),
        "schema at `/properties/x`: keyword `$ref` names `https://example.com/s.json`, which is not in this schema, and nothing is fetched",
    );
    refuses(
        json!({"$ref": "#/$defs/nope"}),
        "schema at `/properties/x`: keyword `$ref` names `#/$defs/nope`, which is not in this schema, and nothing is fetched",
    );
    refuses(
        json!({"pattern": "(?=a)b"}),
        "schema at `/properties/x`: keyword `pattern`: `(?=a)b` cannot be used: it needs look-around or back-references, or is no regular expression",
    );
    refuses(
        json!({"pattern": "(a{1000}){1000}"}),
        "schema at `/properties/x`: keyword `pattern`: `(a{1000}){1000}` cannot be used: its automaton is too large",
    );
    refuses(json!({"minimum": "1"}), "schema at `/properties/x`: keyword `minimum` must be a number");
    let huge: Text = serde_json::from_str("1e400").unwrap();
    refuses(
        json!({"const": huge}),
        "schema at `/properties/x`: keyword `const` must be a value whose numbers can be held",
    );
    refuses(json!({"type": "text"}), "schema at `/properties/x`: keyword `type` must be a type or a list of types");
    refuses(json!({"items": 5}), "schema at `/properties/x/items`: a schema is an object or a boolean");
    refuses(
        json!({"$schema": "https://example.com/mine"}),
        "schema at `/properties/x`: keyword `$schema` names `https://example.com/mine`, which is not supported",
    );
}

#[test]
fn an_input_must_be_able_to_be_an_object() {
    let faults = Input::compile(&json!({"type": "string"})).expect_err("a fault");
    assert_eq!(faults[0].to_string(), "schema: an input is an object, and this one can be none");
}

#[test]
fn a_default_that_does_not_fit_is_refused() {
    let schema = json!({"type": "object", "properties": {"n": {"type": "integer", "default": []}}});
    let faults = Input::compile(&schema).expect_err("a fault");
    assert_eq!(faults[0].to_string(), "schema: the default of `n` does not fit");
    let endless = json!({"type": "object", "properties": {"c": {"$ref": "#", "default": {}}}});
    assert!(Input::compile(&endless).is_err());
    let doubling =
        json!({"type": "object", "properties": {"a": {"$ref": "#", "default": {}}, "b": {"$ref": "#", "default": {}}}});
    assert!(Input::compile(&doubling).is_err());
    decides_quickly(&doubling);
}

#[test]
fn references_that_never_end_are_refused_where_the_library_would_follow_them() {
    let schema =
        json!({"type": "object", "not": {"$ref": "#/$defs/a"}, "$defs": {"a": {"allOf": [{"$ref": "#/$defs/a"}]}}});
    let faults = Input::compile(&schema).expect_err("a fault");
    assert!(faults[0].to_string().ends_with("references lead back here without ever going into the value"));
    Input::compile(&json!({"type": "object", "$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/a"}}}))
        .expect("an input");
}

#[test]
fn a_check_that_doubles_with_each_level_is_refused_in_time() {
    let schema = json!({
        "type": "object",
        "properties": {"x": {"$ref": "#/$defs/d"}},
        "$defs": {"d": {"not": {"anyOf": [{"items": {"$ref": "#/$defs/d"}, "minItems": 1}, {"contains": {"$ref": "#/$defs/d"}}]}}},
    });
    let mut deep = json!([]);
    for _ in 0..60 {
        deep = json!([deep]);
    }
    let start = worked();
    let bound = super::bound(&schema, &json!({ "x": deep }));
    assert!(bound.ends_with("must be simpler: checking it takes too long"), "{bound}");
    assert!(worked() - start < Duration::from_secs(1));
}

#[test]
fn all_faults_are_reported_together() {
    let schema = json!({"type": "object", "properties": {"a": {"minimum": "1"}, "b": {"type": 5}}});
    assert_eq!(Input::compile(&schema).expect_err("faults").len(), 2);
}

#[test]
fn annotations_and_extensions_are_no_fault() {
    let schema = one(
        &json!({"title": "T", "x-order": 1, "deprecated": true, "readOnly": true, "$comment": "c", "format": "mine"}),
    );
    Input::compile(&schema).expect("an input");
}

#[test]
fn references_reach_places_that_no_keyword_does() {
    let schema = json!({
        "type": "object",
        "properties": {"x": {"$ref": "#/components/schemas/X"}},
        "components": {"schemas": {"X": {"type": "array", "items": {"$ref": "#/components/schemas/Y"}}, "Y": {"type": "string"}}},
    });
    assert_eq!(super::bound(&schema, &json!({"x": [1]})), r#"argument "x[0]" must be a string"#);
}

#[test]
fn every_schema_is_decided_quickly() {
    let mut deep = json!({"type": "string"});
    for _ in 0..100 {
        deep = json!({"items": deep});
    }
    decides_quickly(&one(&deep));
    let wide: Text =
        (0..10_000).map(|n| (format!("p{n}"), json!({"type": "string"}))).collect::<serde_json::Map<_, _>>().into();
    decides_quickly(
        &json!({"type": "object", "properties": wide.clone(), "required": (0..10_000).map(|n| format!("p{n}")).collect::<Vec<_>>()}),
    );
    let parts: Vec<_> = (0..2_000).map(|n| json!({"properties": {format!("p{n}"): {"minimum": n}}})).collect();
    decides_quickly(&json!({"type": "object", "allOf": parts}));
    let choices: Vec<_> =
        (0..20).map(|n| json!({"oneOf": [{"required": [format!("a{n}")]}, {"required": [format!("b{n}")]}]})).collect();
    decides_quickly(&json!({"type": "object", "allOf": choices}));
    let many: Vec<_> = (0..1_000).map(|n| json!({"properties": {"k": {"const": n}}, "required": ["k"]})).collect();
    decides_quickly(&json!({"type": "object", "properties": {"k": {}}, "oneOf": many.clone(), "anyOf": many}));
    let many: Vec<_> = (0..1_000)
        .map(|n| {
            let names = (0..10).map(|m| (format!("p{n}x{m}"), json!({"type": "string"})));
            json!({"type": "object", "properties": names.collect::<serde_json::Map<_, _>>()})
        })
        .collect();
    decides_quickly(&json!({"type": "object", "anyOf": many}));
    let mut defs = serde_json::Map::new();
    for n in 0..60 {
        let next = json!({"$ref": format!("#/$defs/d{}", (n + 1) % 60)});
        defs.insert(
            format!("d{n}"),
            json!({"allOf": [next, next], "properties": {"a": next, "b": next}, "not": {"not": next}}),
        );
    }
    decides_quickly(&json!({"type": "object", "$ref": "#/$defs/d0", "$defs": defs}));
    let mut defs = serde_json::Map::new();
    for n in 0..30 {
        let next = json!({"$ref": format!("#/$defs/d{}", n + 1)});
        defs.insert(format!("d{n}"), json!({"not": {"anyOf": [{"items": next}, {"contains": next}]}}));
    }
    defs.insert("d30".into(), json!({}));
    decides_quickly(&json!({"type": "object", "properties": {"x": {"$ref": "#/$defs/d0"}}, "$defs": defs}));
    let patterns: Vec<_> = (0..200).map(|n| json!({"pattern": format!("^\\p{{L}}{{1,40}}{n}$")})).collect();
    decides_quickly(&json!({"type": "object", "properties": {"x": {"allOf": patterns}}}));
    let merging: Vec<_> = (0..12).map(|n| json!({"properties": {"c": {"$ref": format!("#/$defs/m{n}")}}})).collect();
    let mut defs = serde_json::Map::new();
    for n in 0..12 {
        let next: Vec<_> =
            (0..12).filter(|m| (m + n) % 3 != 0).map(|m| json!({"$ref": format!("#/$defs/m{m}")})).collect();
        defs.insert(format!("m{n}"), json!({"properties": {"c": {"anyOf": next}, format!("d{n}"): {"oneOf": next}}}));
    }
    decides_quickly(&json!({"type": "object", "allOf": merging, "$defs": defs}));
}

#[test]
fn no_text_is_too_deep_to_be_decided() {
    let nested = |open: &str, close: &str| format!("{}true{}", open.repeat(200_000), close.repeat(200_000));
    decides_text_quickly(nested("[", "]"));
    decides_text_quickly(nested(r#"{"not":"#, "}"));
    decides_text_quickly(format!(r#"{{"type":"object","default":{}}}"#, nested("[", "]")));
    decides_text_quickly("[".repeat(1 << 20));
    decides_text_quickly(String::new());
    let chain = |n: usize| (format!("d{n}"), json!({"$ref": format!("#/$defs/d{}", n + 1)}));
    let mut defs: serde_json::Map<_, _> = (0..20_000).map(chain).collect();
    defs.insert("d20000".to_owned(), json!({"type": "object"}));
    decides_quickly(&json!({"$ref": "#/$defs/d0", "type": "object", "$defs": defs}));
}

#[test]
fn combinations_that_multiply_are_decided_quickly() {
    let doubling = |keyword: &str| {
        let twice = |n: usize| {
            let next = json!({"$ref": format!("#/$defs/d{}", n + 1)});
            (format!("d{n}"), json!({ keyword: [next, next] }))
        };
        let mut defs: serde_json::Map<_, _> = (0..60).map(twice).collect();
        defs.insert("d60".to_owned(), json!({"type": "object"}));
        json!({"type": "object", "$ref": "#/$defs/d0", "$defs": defs})
    };
    for keyword in ["allOf", "anyOf", "oneOf"] {
        decides_quickly(&doubling(keyword));
    }
    let tuple: Vec<_> = (0..5_000).map(|n| json!({"anyOf": [{"type": "string"}, {"const": n}]})).collect();
    decides_quickly(&one(&json!({ "prefixItems": tuple })));
    let merged =
        json!({"allOf": (0..40).map(|n| json!({"anyOf": [{"minimum": n}, {"maxLength": n}]})).collect::<Vec<_>>()});
    decides_quickly(&one(&merged));
}

#[test]
fn large_values_and_patterns_are_decided_quickly() {
    decides_quickly(&one(&json!({"enum": (0..90_000).map(|n| format!("value {n}")).collect::<Vec<_>>()})));
    let halves =
        |start: usize| json!({"enum": (start..start + 40_000).map(|n| format!("value {n}")).collect::<Vec<_>>()});
    decides_quickly(&one(&json!({"allOf": [halves(0), halves(20_000)]})));
    let objects: Vec<_> = (0..20_000).map(|n| json!({ "n": n })).collect();
    decides_quickly(&one(&json!({ "enum": objects })));
    decides_quickly(&one(&json!({"type": "string", "description": "x".repeat(10 << 20)})));
    decides_text_quickly(format!(r#"{{"type":"object","minProperties":{}}}"#, "9".repeat(1 << 20)));
    for pattern in
        ["a".repeat(4_096), "a".repeat(1 << 20), "(".repeat(4_000), "[a-z]{1000}".repeat(300), "(a|b?)*".repeat(500)]
    {
        decides_quickly(&one(&json!({ "pattern": pattern })));
    }
    let unicode: Vec<_> = (0..16).map(|n| json!({"pattern": format!("^\\p{{L}}{{1,{}}}$", 60 + n)})).collect();
    decides_quickly(&one(&json!({ "allOf": unicode })));
}
