//! The `json` namespace (Starlark's `json.star`), on the boundary's own reader and writer: integers stay exact, and
//! nothing that the reader refuses can take the interpreter down.

use starlark::environment::GlobalsBuilder;
use starlark::starlark_module;
use starlark::values::{Heap, Value};

use super::value::{self, MAX_LEVELS};
use crate::value::{Bounds, JsonError, read};

/// Levels that a decoded text may nest; a deeper one is refused with its place.
const MAX_DECODED_LEVELS: usize = 1_000;

/// A `json` function was given something that it cannot work on.
#[derive(Debug, thiserror::Error)]
enum JsonFailure {
    #[error("json.{function}: {error}")]
    Read { function: &'static str, error: JsonError },
    #[error("{0}")]
    Encode(String),
}

#[starlark_module]
pub(super) fn functions(builder: &mut GlobalsBuilder) {
    fn encode<'v>(#[starlark(require = pos)] x: Value<'v>) -> starlark::Result<String> {
        let bounds = Bounds { max_bytes: usize::MAX, max_depth: MAX_LEVELS };
        match value::convert(x, bounds) {
            Ok(converted) => Ok(converted.to_json()),
            Err(unsupported) => Err(starlark::Error::new_value(JsonFailure::Encode(unsupported.in_json()))),
        }
    }

    fn decode<'v>(
        #[starlark(require = pos)] x: &str,
        default: Option<Value<'v>>,
        heap: Heap<'v>,
    ) -> starlark::Result<Value<'v>> {
        match (decoded("decode", x), default) {
            (Ok(read), _) => Ok(value::alloc(&read, heap)),
            (Err(_), Some(default)) => Ok(default),
            (Err(failure), None) => Err(starlark::Error::new_value(failure)),
        }
    }

    fn indent<'v>(
        #[starlark(require = pos)] s: &str,
        #[starlark(require = named, default = "")] prefix: &str,
        #[starlark(require = named, default = "\t")] indent: &str,
    ) -> starlark::Result<String> {
        let read = decoded("indent", s).map_err(starlark::Error::new_value)?;
        let mut out = String::new();
        write_indented(&read, prefix, indent, 0, &mut out);
        Ok(out)
    }
}

fn decoded(function: &'static str, text: &str) -> Result<crate::value::Value, JsonFailure> {
    let bounds = Bounds { max_bytes: usize::MAX, max_depth: MAX_DECODED_LEVELS };
    read(text.as_bytes(), bounds).map_err(|error| JsonFailure::Read { function, error })
}

fn write_indented(value: &crate::value::Value, prefix: &str, indent: &str, level: usize, out: &mut String) {
    use crate::value::Value;
    let line = |level: usize, out: &mut String| {
        out.push('\n');
        out.push_str(prefix);
        out.extend(std::iter::repeat_n(indent, level));
    };
    match value {
        Value::List(items) if !items.is_empty() => {
            out.push('[');
            for (index, item) in items.iter().enumerate() {
                out.push_str(if index == 0 { "" } else { "," });
                line(level + 1, out);
                write_indented(item, prefix, indent, level + 1, out);
            }
            line(level, out);
            out.push(']');
        }
        Value::Map(members) if !members.is_empty() => {
            out.push('{');
            for (index, (key, member)) in members.iter().enumerate() {
                out.push_str(if index == 0 { "" } else { "," });
                line(level + 1, out);
                out.push_str(&Value::from(key.as_str()).to_json());
                out.push_str(": ");
                write_indented(member, prefix, indent, level + 1, out);
            }
            line(level, out);
            out.push('}');
        }
        Value::Null
        | Value::Bool(_)
        | Value::Int(_)
        | Value::Float(_)
        | Value::Str(_)
        | Value::List(_)
        | Value::Map(_) => out.push_str(&value.to_json()),
    }
}
