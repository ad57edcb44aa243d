//! Random schemas and values, against the JSON Schema library as the oracle.

use std::collections::HashMap;

use proptest::collection::{btree_map, vec};
use proptest::prelude::*;
use proptest::sample::{select, subsequence};
use proptest::strategy::ValueTree;
use serde_json::{Map as Json, Value as Text, json};

use super::{map, value};
use crate::capability::schema::{Input, Member, Shape, Style};
use crate::value::Value;

const NAMES: [&str; 4] = ["a", "ab", "b", "c-d"];

fn scalar() -> impl Strategy<Value = Text> {
    prop_oneof![
        3 => select(vec![json!(""), json!("a"), json!("ab"), json!("bcd"), json!("ä")]),
        3 => (-3i64..6).prop_map(Text::from),
        2 => select(vec![json!(0.5), json!(1.5), json!(-2.25)]),
        1 => any::<bool>().prop_map(Text::from),
    ]
}

fn any_scalar() -> impl Strategy<Value = Text> {
    prop_oneof![8 => scalar(), 1 => Just(Text::Null), 1 => select(vec![json!(1.0), json!(2.0), json!(-0.0)])]
}

fn nested(scalar: impl Strategy<Value = Text> + 'static) -> impl Strategy<Value = Text> {
    scalar.prop_recursive(3, 16, 4, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..4).prop_map(Text::from),
            btree_map(select(&NAMES[..]), inner, 0..4)
                .prop_map(|members| members.into_iter().map(|(name, member)| (name.to_owned(), member)).collect()),
        ]
    })
}

/// Joins objects of keywords; a later one wins.
fn joined(parts: impl IntoIterator<Item = Text>) -> Text {
    let mut all = Json::new();
    for part in parts {
        if let Text::Object(members) = part {
            all.extend(members);
        }
    }
    Text::Object(all)
}

fn typed() -> impl Strategy<Value = Text> {
    select(vec![
        json!({}),
        json!({}),
        json!({}),
        json!({}),
        json!({"type": "string"}),
        json!({"type": "integer"}),
        json!({"type": "number"}),
        json!({"type": "boolean"}),
        json!({"type": "null"}),
        json!({"type": "array"}),
        json!({"type": "object"}),
        json!({"type": ["string", "null"]}),
        json!({"type": ["integer", "object"]}),
        json!({"type": ["number", "array"]}),
    ])
}

fn constraint() -> impl Strategy<Value = Text> {
    prop_oneof![
        (-2i64..4).prop_map(|limit| json!({ "minimum": limit })),
        (-2i64..4).prop_map(|limit| json!({ "exclusiveMaximum": limit })),
        select(vec![json!(1), json!(2), json!(0.5)]).prop_map(|divisor| json!({ "multipleOf": divisor })),
        (0u64..3).prop_map(|n| json!({ "minLength": n })),
        (0u64..3).prop_map(|n| json!({ "maxLength": n })),
        select(vec!["^a", "b$", "^[a-z]*$", "."]).prop_map(|pattern| json!({ "pattern": pattern })),
        (0u64..3).prop_map(|n| json!({ "minItems": n })),
        (0u64..3).prop_map(|n| json!({ "maxItems": n })),
        Just(json!({ "uniqueItems": true })),
        (0u64..3).prop_map(|n| json!({ "minProperties": n })),
        (0u64..3).prop_map(|n| json!({ "maxProperties": n })),
        subsequence(&NAMES[..], 1..3).prop_map(|names| json!({ "required": names })),
        vec(scalar(), 1..4).prop_map(|values| json!({ "enum": values })),
        scalar().prop_map(|only| json!({ "const": only })),
        Just(json!({"propertyNames": {"maxLength": 1}})),
        Just(json!({"dependentRequired": {"a": ["b"]}})),
    ]
}

fn properties(inner: impl Strategy<Value = Text> + Clone) -> impl Strategy<Value = Text> {
    btree_map(select(&NAMES[..]), inner, 1..4).prop_map(|properties| json!({ "properties": properties }))
}

fn applicator(inner: impl Strategy<Value = Text> + Clone + 'static) -> impl Strategy<Value = Text> {
    let child = prop_oneof![8 => inner.clone(), 1 => Just(json!({"$ref": "#/$defs/d"}))];
    prop_oneof![
        4 => properties(child.clone()),
        1 => child.clone().prop_map(|schema| json!({ "items": schema })),
        1 => (vec(child.clone(), 1..3), child.clone()).prop_map(|(prefix, rest)| json!({"prefixItems": prefix, "items": rest})),
        1 => child.clone().prop_map(|schema| json!({ "contains": schema })),
        1 => child.clone().prop_map(|schema| json!({ "additionalProperties": schema })),
        1 => child.prop_map(|schema| json!({"patternProperties": {"^a": schema}})),
        2 => vec(inner.clone(), 1..4).prop_map(|list| json!({ "anyOf": list })),
        2 => vec(inner.clone(), 1..4).prop_map(|list| json!({ "oneOf": list })),
        2 => vec(inner.clone(), 1..3).prop_map(|list| json!({ "allOf": list })),
        1 => inner.clone().prop_map(|schema| json!({ "not": schema })),
        1 => (inner.clone(), inner.clone(), inner).prop_map(|(a, b, c)| json!({"if": a, "then": b, "else": c})),
        1 => Just(json!({ "unevaluatedProperties": false })),
        1 => Just(json!({ "additionalProperties": false })),
        1 => Just(json!({ "unevaluatedItems": false })),
    ]
}

fn schema() -> impl Strategy<Value = Text> {
    let leaf = (typed(), vec(constraint(), 0..2)).prop_map(|(kind, rest)| joined([kind].into_iter().chain(rest)));
    let leaf = prop_oneof![20 => leaf, 1 => any::<bool>().prop_map(Text::from)];
    leaf.prop_recursive(3, 24, 4, |inner| {
        (typed(), vec(constraint(), 0..2), vec(applicator(inner), 1..3))
            .prop_map(|(kind, rules, parts)| joined([kind].into_iter().chain(rules).chain(parts)))
    })
}

fn wrapped() -> impl Strategy<Value = Text> {
    (schema(), schema()).prop_map(|(schema, def)| {
        json!({"type": "object", "properties": {"value": schema}, "required": ["value"], "$defs": {"d": def}})
    })
}

fn oracle(schema: &Text) -> jsonschema::Validator {
    jsonschema::options().offline().build(schema).expect("a schema")
}

proptest! {
    // A run leaves nothing in the tree; the failing case is in its output.
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// Without null and `1.0` there is no difference at all.
    #[test]
    fn binding_accepts_what_json_schema_accepts(schema in wrapped(), value in nested(scalar())) {
        let arguments = json!({ "value": value });
        let accepted = oracle(&schema).is_valid(&arguments);
        match Input::compile(&schema) {
            Ok(input) => {
                let bound = input.bind(map(&arguments));
                prop_assert_eq!(bound.is_ok(), accepted, "{} with {}: {:?}", schema, arguments, bound);
            }
            // A value that nothing fits makes the whole input impossible.
            Err(faults) => prop_assert!(!accepted, "{} with {}: {:?}", schema, arguments, faults),
        }
    }

    /// Whatever is bound is valid as it stands, is its own canonical form, and is the same in worker and parent.
    #[test]
    fn canonical_arguments_are_valid_and_stable(schema in wrapped(), value in nested(any_scalar())) {
        let Ok(input) = Input::compile(&schema) else { return Ok(()) };
        let worker = Input::from_checked(input.source());
        let arguments = map(&json!({ "value": value }));
        // To JSON Schema `1.0` is an integer too, so that it may fit one alternative more.
        let differs = holds_whole_float(&value) && ["oneOf", "not", "if"].iter().any(|keyword| schema.to_string().contains(keyword));
        let bound = input.bind(arguments.clone());
        prop_assert_eq!(&bound, &worker.bind(arguments));
        if let Ok(bound) = bound {
            let text = Value::Map(bound.clone()).to_serde();
            prop_assert!(differs || oracle(&schema).is_valid(&text), "{} gave {}", schema, text);
            prop_assert_eq!(input.bind(bound.clone()), Ok(bound), "{}", schema);
        }
    }

    /// What authors read can always be written, and an example is one that binds.
    #[test]
    fn every_schema_can_be_described(schema in wrapped()) {
        let Ok(input) = Input::compile(&schema) else { return Ok(()) };
        prop_assert!(!input.fields().is_empty());
        if let Some(example) = input.example() {
            prop_assert!(input.bind(example).is_ok());
        }
    }

    /// The shape never refuses what binding accepts.
    #[test]
    fn a_shape_admits_whatever_binds(schema in wrapped(), given in nested(any_scalar())) {
        let Ok(input) = Input::compile(&schema) else { return Ok(()) };
        if let Ok(bound) = input.bind(map(&json!({ "value": given }))) {
            let shape = &input.parameters()[0].shape;
            prop_assert!(admits(shape, &value(&given)), "{:?} given {} of {}", shape, given, schema);
            prop_assert!(admits(shape, &bound["value"]), "{:?} bound {:?} of {}", shape, bound, schema);
        }
    }

    /// No text is too odd to be decided.
    #[test]
    fn no_schema_panics(schema in nonsense()) {
        if let Ok(input) = Input::compile(&schema) {
            let _ = (input.fields(), input.example(), input.bind(map(&json!({"a": 1, "b": {"a": null}}))));
        }
    }

    /// Equal text only for equal shapes.
    #[test]
    fn the_notation_is_unambiguous(shapes in vec(shape(), 40)) {
        let mut seen: HashMap<String, &Shape> = HashMap::new();
        for shape in &shapes {
            let known = *seen.entry(shape.notation(Style::Output)).or_insert(shape);
            prop_assert_eq!(known, shape, "{}", shape.notation(Style::Output));
        }
    }
}

fn holds_whole_float(value: &Text) -> bool {
    match value {
        Text::Number(number) => number.as_f64().is_some_and(|float| float.fract() == 0.0) && !number.is_i64(),
        Text::Array(items) => items.iter().any(holds_whole_float),
        Text::Object(members) => members.values().any(holds_whole_float),
        Text::Null | Text::Bool(_) | Text::String(_) => false,
    }
}

fn admits(shape: &Shape, value: &Value) -> bool {
    match (shape, value) {
        (Shape::Any, _)
        | (Shape::Null, Value::Null)
        | (Shape::Bool, Value::Bool(_))
        | (Shape::Int, Value::Int(_))
        | (Shape::Float, Value::Int(_) | Value::Float(_))
        | (Shape::Str, Value::Str(_)) => true,
        (Shape::Enum(values), value) => values.iter().any(|known| super::super::number::equal(known, value)),
        (Shape::List(item), Value::List(items)) => items.iter().all(|value| admits(item, value)),
        (Shape::Dict(member), Value::Map(members)) => members.values().all(|value| admits(member, value)),
        (Shape::Object(members), Value::Map(given)) => members.iter().all(|member| match given.get(&member.name) {
            None => !member.required,
            Some(value) => admits(&member.given(Style::Input), value),
        }),
        (Shape::Union(shapes), value) => shapes.iter().any(|shape| admits(shape, value)),
        _ => false,
    }
}

/// Texts that look like the notation around them, too.
fn marked_scalar() -> impl Strategy<Value = Text> {
    prop_oneof![4 => scalar(), 1 => select(vec![json!("a\" | \"b"), json!("str"), json!("1"), json!("]"), json!(1.0)])]
}

const MEMBER_NAMES: [&str; 6] = ["a", "b", "c-d", "a: str, b", "a\"", "str"];

fn distinct(values: Vec<Value>) -> Vec<Value> {
    values.into_iter().fold(Vec::new(), |mut kept, value| {
        if !kept.contains(&value) {
            kept.push(value);
        }
        kept
    })
}

fn shape() -> impl Strategy<Value = Shape> {
    let leaf = prop_oneof![
        select(vec![Shape::Any, Shape::Never, Shape::Null, Shape::Bool, Shape::Int, Shape::Float, Shape::Str]),
        vec(marked_scalar().prop_map(|scalar| value(&scalar)), 1..3).prop_map(distinct).prop_map(Shape::Enum),
    ];
    leaf.prop_recursive(2, 6, 2, |inner| {
        prop_oneof![
            inner.clone().prop_map(|item| Shape::List(Box::new(item))),
            inner.clone().prop_map(|value| Shape::Dict(Box::new(value))),
            vec(inner.clone(), 0..3).prop_map(Shape::union),
            btree_map(select(&MEMBER_NAMES[..]), (inner, any::<bool>()), 0..3).prop_map(|members| {
                let member = |(name, (shape, required)): (&str, _)| Member { name: name.to_owned(), shape, required };
                Shape::Object(members.into_iter().map(member).collect())
            }),
        ]
    })
}

/// Known keywords with whatever behind them.
fn nonsense() -> impl Strategy<Value = Text> {
    const KEYWORDS: [&str; 40] = [
        "$anchor",
        "$defs",
        "$id",
        "$ref",
        "$schema",
        "additionalItems",
        "additionalProperties",
        "allOf",
        "anyOf",
        "const",
        "contains",
        "default",
        "definitions",
        "dependencies",
        "dependentRequired",
        "dependentSchemas",
        "else",
        "enum",
        "exclusiveMinimum",
        "format",
        "if",
        "items",
        "maxLength",
        "maximum",
        "minContains",
        "minItems",
        "multipleOf",
        "not",
        "nullable",
        "oneOf",
        "pattern",
        "patternProperties",
        "prefixItems",
        "properties",
        "propertyNames",
        "required",
        "then",
        "type",
        "unevaluatedItems",
        "unevaluatedProperties",
    ];
    let texts = [
        "#",
        "#/properties/a",
        "#a",
        "a",
        "http://x/y",
        "object",
        "string",
        "date",
        "^a",
        "(",
        "https://json-schema.org/draft/2020-12/schema",
        "http://json-schema.org/draft-07/schema#",
    ];
    let leaf =
        prop_oneof![any_scalar(), select(texts.to_vec()).prop_map(Text::from), Just(json!({})), Just(json!(["a"])),];
    leaf.prop_recursive(4, 48, 6, |inner| {
        let keywords = btree_map(select(&KEYWORDS[..]), inner.clone(), 0..6);
        let names = btree_map(select(vec!["a", "b"]), inner.clone(), 0..3);
        let object = |members: std::collections::BTreeMap<&'static str, Text>| {
            Text::Object(members.into_iter().map(|(name, member)| (name.to_owned(), member)).collect())
        };
        prop_oneof![4 => keywords.prop_map(object), 2 => names.prop_map(object), 1 => vec(inner, 0..3).prop_map(Text::from)]
    })
}

/// How much the random cases say; printed, for whoever changes the generators.
#[test]
fn random_cases_are_accepted_and_refused_alike() {
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let strategy = (wrapped(), nested(scalar()));
    let accepted = (0..2_000).filter(|_| {
        let (schema, value) = strategy.new_tree(&mut runner).expect("a case").current();
        oracle(&schema).is_valid(&json!({ "value": value }))
    });
    let accepted = accepted.count();
    assert!((300..1_700).contains(&accepted), "{accepted} of 2,000 accepted");
}
