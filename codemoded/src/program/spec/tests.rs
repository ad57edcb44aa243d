//! Beside Python's own answers: `tests/language/formats.json` holds `[specification, value, text or null]`, made by
//! `format(value, specification)` of CPython 3.11, and `percents.json` the same by `specification % (value,)`; null is
//! what it refuses.

use starlark::values::{Heap, Value};

use super::super::format::interpolate;
use super::super::value::alloc;
use super::Spec;
use crate::value::{Bounds, read};

fn text<'v>(spec: &str, value: Value<'v>, heap: Heap<'v>) -> Option<String> {
    Spec::read(spec).ok()?.apply(value, spec, heap).ok()
}

#[track_caller]
fn check(file: &str, format: impl for<'v> Fn(&str, Value<'v>, Heap<'v>) -> Option<String>) {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/language");
    let table = std::fs::read(format!("{folder}/{file}")).unwrap();
    let rows: Vec<(String, Box<serde_json::value::RawValue>, Option<String>)> = serde_json::from_slice(&table).unwrap();
    assert!(rows.len() > 1_500, "{}", rows.len());
    let mut faults = Vec::new();
    Heap::temp(|heap| {
        for (spec, json, expected) in &rows {
            let value = read(json.get().as_bytes(), Bounds { max_bytes: 1_000, max_depth: 1 }).unwrap();
            let given = format(spec, alloc(&value, heap), heap);
            if given != *expected {
                faults.push(format!("{spec:?} {json}: {given:?}, not {expected:?}"));
            }
        }
    });
    assert!(faults.is_empty(), "{} of {}\n{}", faults.len(), rows.len(), faults.join("\n"));
}

#[test]
fn every_format_gives_what_python_gives() {
    check("formats.json", text);
}

#[test]
fn every_percent_gives_what_python_gives() {
    check("percents.json", |spec, value, heap| interpolate(spec, heap.alloc((value,)), heap).ok());
}

#[test]
fn a_width_is_bounded() {
    Heap::temp(|heap| {
        let one = heap.alloc(1);
        assert_eq!(text("10000", one, heap).map(|text| text.len()), Some(10_000));
        assert_eq!(text("10001", one, heap), None);
        assert_eq!(text(".10001f", one, heap), None);
        assert_eq!(text("99999999999999999999d", one, heap), None);
    });
}
