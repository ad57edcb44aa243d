//! Tables that are not ours to type, such as a plugin's settings, as JSON.

use std::collections::BTreeMap;

use figment::value::{Num, Value};
use serde_json::{Map, Number};

use super::fault::Problem;
use super::place::KeyPath;
use super::reading::Reading;

pub(super) type Table = BTreeMap<String, Value>;

/// The table as a JSON object; what JSON cannot say is a fault and left out.
pub(super) fn table(reading: &mut Reading, key: &KeyPath, table: Table) -> Map<String, serde_json::Value> {
    let members = table.into_iter().map(|(name, member)| {
        let member = json(reading, &key.key(&name), member);
        (name, member)
    });
    members.collect()
}

fn json(reading: &mut Reading, key: &KeyPath, value: Value) -> serde_json::Value {
    match value {
        Value::String(_, text) => text.into(),
        Value::Char(_, character) => character.to_string().into(),
        Value::Bool(_, truth) => truth.into(),
        Value::Num(_, number) => match json_number(number) {
            Some(number) => number.into(),
            None => {
                reading.fault(key.clone(), Problem::NotFinite);
                serde_json::Value::Null
            }
        },
        Value::Empty(..) => serde_json::Value::Null,
        Value::Dict(_, members) => table(reading, key, members).into(),
        Value::Array(_, items) => {
            items.into_iter().enumerate().map(|(index, item)| json(reading, &key.index(index), item)).collect()
        }
    }
}

fn json_number(number: Num) -> Option<Number> {
    match (number.to_i128(), number.to_u128(), number.to_f64()) {
        (Some(integer), _, _) => Number::from_i128(integer),
        (None, Some(integer), _) => Number::from_u128(integer),
        (None, None, Some(float)) => Number::from_f64(float),
        (None, None, None) => None,
    }
}
