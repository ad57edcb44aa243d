//! What schemas promise, row by row.

mod binding;
mod compiling;
mod notation;
mod properties;
mod suite;
mod texts;

use serde_json::{Value as Text, json};

use super::{Input, Output};
use crate::value::{Map, Value};

#[track_caller]
fn value(text: &Text) -> Value {
    Value::from_serde(text).expect("a value")
}

#[track_caller]
fn map(text: &Text) -> Map {
    match value(text) {
        Value::Map(members) => members,
        other => panic!("no object: {other:?}"),
    }
}

#[track_caller]
fn input(schema: &Text) -> Input {
    Input::compile(schema).expect("an input")
}

#[track_caller]
fn output(schema: &Text) -> Output {
    Output::compile(schema).expect("an output")
}

/// The schema of a call whose only argument, `x`, is required.
fn one(schema: &Text) -> Text {
    json!({"type": "object", "properties": {"x": schema}, "required": ["x"]})
}

/// The canonical arguments as compact JSON, or the diagnostic.
#[track_caller]
fn bound(schema: &Text, arguments: &Text) -> String {
    match input(schema).bind(map(arguments)) {
        Ok(bound) => Value::Map(bound).to_json(),
        Err(diagnostic) => diagnostic.to_string(),
    }
}
