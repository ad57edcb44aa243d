//! Beside Python's own answers: `tests/language/formats.json` holds `[specification, value, text or null]`, made by
//! `format(value, specification)` of CPython 3.11; null is what it refuses.

use serde_json::Value as Json;
use starlark::values::{Heap, Value};

use super::super::value::alloc;
use super::Spec;
use crate::value::{Bounds, read};

fn text<'v>(spec: &str, value: Value<'v>, heap: Heap<'v>) -> Option<String> {
    Spec::read(spec).ok()?.apply(value, spec, heap).ok()
}

#[test]
fn every_format_gives_what_python_gives() {
    let table = std::fs::read(concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/language/formats.json")).unwrap();
    let rows: Vec<(String, Box<serde_json::value::RawValue>, Option<String>)> = serde_json::from_slice(&table).unwrap();
    assert!(rows.len() > 1_500, "{}", rows.len());
    let mut faults = Vec::new();
    Heap::temp(|heap| {
        for (spec, json, expected) in &rows {
            let value = read(json.get().as_bytes(), Bounds { max_bytes: 1_000, max_depth: 1 }).unwrap();
            let given = text(spec, alloc(&value, heap), heap);
            if given != *expected {
                faults.push(format!("{spec:?} {json}: {given:?}, not {expected:?}"));
            }
        }
    });
    assert!(faults.is_empty(), "{} of {}\n{}", faults.len(), rows.len(), faults.join("\n"));
}

#[test]
fn a_width_is_bounded() {
    let json: Json = serde_json::json!(1);
    Heap::temp(|heap| {
        let one = heap.alloc(i32::try_from(json.as_i64().unwrap()).unwrap());
        assert_eq!(text("10000", one, heap).map(|text| text.len()), Some(10_000));
        assert_eq!(text("10001", one, heap), None);
        assert_eq!(text(".10001f", one, heap), None);
        assert_eq!(text("99999999999999999999d", one, heap), None);
    });
}
