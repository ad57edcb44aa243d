//! Any bytes as a value's JSON text: refused within its bounds, or read exactly and written again unchanged in meaning.
#![no_main]

use codemoded_fuzz::value::{Bounds, JsonFault, Value, read};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let Some(([depth, size], text)) = bytes.split_first_chunk::<2>() else { return };
    let bounds = Bounds { max_bytes: usize::from(*size) * 16, max_depth: usize::from(depth % 64) };
    match read(text, bounds) {
        Ok(value) => {
            assert!(text.len() <= bounds.max_bytes);
            survives(&value, bounds.max_depth);
            means_what_others_read(&value, text);
        }
        Err(error) => {
            assert!(error.at <= text.len());
            is_refused_for_a_reason(error.fault, text);
        }
    }
});

/// The value comes back from its own text, and from the library's form.
fn survives(value: &Value, max_depth: usize) {
    assert!(value.depth_within(max_depth));
    let text = value.to_json();
    assert_eq!(value.json_size(), text.len());
    let again = read(text.as_bytes(), Bounds { max_bytes: text.len(), max_depth }).expect("its own text is read");
    assert_eq!(*value, again);
    assert_eq!(again.to_json(), text, "the order is kept");
    assert_eq!(Value::from_serde(&value.to_serde()), Ok(again));
}

/// Another reader of JSON takes the text for the same value, but for its private markers.
fn means_what_others_read(value: &Value, text: &[u8]) {
    if holds(text, b"$serde_json") {
        return;
    }
    let other: serde_json::Value = serde_json::from_slice(text).expect("JSON to us is JSON to others");
    assert_eq!(Value::from_serde(&other).as_ref(), Ok(value));
}

/// What is JSON to others is refused for a bound or for exactness, never as something else.
fn is_refused_for_a_reason(fault: JsonFault, text: &[u8]) {
    let is_json = || serde_json::from_slice::<serde_json::Value>(text).is_ok();
    match fault {
        JsonFault::Syntax | JsonFault::Encoding | JsonFault::Surrogate => assert!(!is_json()),
        JsonFault::TooLong | JsonFault::TooDeep => {}
        JsonFault::DuplicateKey | JsonFault::TooManyDigits | JsonFault::FloatRange => {}
    }
}

fn holds(text: &[u8], part: &[u8]) -> bool {
    text.windows(part.len()).any(|window| window == part)
}
