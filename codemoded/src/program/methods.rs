#![expect(unsafe_code, clippy::panic, reason = "what the interpreter's derives write")]
//! The methods of strings and bytes that the interpreter's own library gets wrong, found by the names that programs are
//! rewritten for.

use std::fmt;

use allocative::Allocative;
use starlark::any::ProvidesStaticType;
use starlark::eval::{Arguments, Evaluator};
use starlark::starlark_simple_value;
use starlark::values::bytes::StarlarkBytes;
use starlark::values::list::AllocList;
use starlark::values::{Heap, NoSerialize, StarlarkPagablePanic, StarlarkValue, Value, ValueLike, starlark_value};

use super::format::fill;

/// The names of the methods here.
pub(super) const MENDED: [&str; 5] = ["codepoints", "elems", "format", "rsplit", "split"];

/// A method, bound to its value.
#[derive(Debug, ProvidesStaticType, NoSerialize, StarlarkPagablePanic, Allocative)]
enum Method {
    /// Gives texts.
    Codepoints { text: String },
    /// Prints floats exactly.
    Format { template: String },
    /// Refuses an empty separator.
    Split { text: String, name: &'static str },
    /// Gives numbers.
    Elems { bytes: Vec<u8> },
}

starlark_simple_value!(Method);

/// An empty separator has no meaning: Python refuses it too.
#[derive(Debug, thiserror::Error)]
#[error("{0}: empty separator; for the characters use `list(s.elems())`")]
struct EmptySeparator(&'static str);

/// This method of this value, where the interpreter's own is wrong.
pub(super) fn mended<'v>(of: Value<'v>, name: &str, heap: Heap<'v>) -> Option<Value<'v>> {
    let method = match (of.unpack_str(), name) {
        (Some(text), "codepoints") => Method::Codepoints { text: text.to_owned() },
        (Some(template), "format") => Method::Format { template: template.to_owned() },
        (Some(text), "split") => Method::Split { text: text.to_owned(), name: "split" },
        (Some(text), "rsplit") => Method::Split { text: text.to_owned(), name: "rsplit" },
        (None, "elems") => Method::Elems { bytes: of.downcast_ref::<StarlarkBytes>()?.as_bytes().to_vec() },
        (Some(_) | None, _) => return None,
    };
    Some(heap.alloc(method))
}

#[starlark_value(type = "function")]
impl<'v> StarlarkValue<'v> for Method {
    fn invoke(
        &self,
        _me: Value<'v>,
        arguments: &Arguments<'v, '_>,
        evaluator: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<Value<'v>> {
        let heap = evaluator.heap();
        let positional: Vec<_> = arguments.positions(heap)?.collect();
        let named = arguments.names_map()?;
        match self {
            Self::Codepoints { text } => {
                arguments.no_positional_args(heap)?;
                arguments.no_named_args()?;
                Ok(heap.alloc(AllocList(text.chars().map(|character| character.to_string()))))
            }
            Self::Format { template } => {
                let filled = fill(template, &positional, &named, heap);
                Ok(heap.alloc(filled.map_err(starlark::Error::new_value)?))
            }
            Self::Split { name, .. }
                if positional.first().is_some_and(|separator| separator.unpack_str() == Some("")) =>
            {
                Err(starlark::Error::new_value(EmptySeparator(name)))
            }
            Self::Split { text, name } => {
                let method = heap.alloc(text.as_str()).get_attr_error(name, heap)?;
                let named: Vec<_> = named.iter().map(|(name, value)| (name.as_str(), *value)).collect();
                evaluator.eval_function(method, &positional, &named)
            }
            Self::Elems { bytes } => {
                arguments.no_positional_args(heap)?;
                arguments.no_named_args()?;
                Ok(heap.alloc(AllocList(bytes.iter().map(|byte| i32::from(*byte)))))
            }
        }
    }
}

impl fmt::Display for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Codepoints { .. } => "codepoints",
            Self::Format { .. } => "format",
            Self::Split { name, .. } => name,
            Self::Elems { .. } => "elems",
        })
    }
}
