#![expect(unsafe_code, clippy::panic, reason = "what the interpreter's derives write")]
//! The methods of strings and bytes that the interpreter's own library lacks or gets wrong, found by the names that
//! programs are rewritten for.

use std::fmt;

use allocative::Allocative;
use starlark::any::ProvidesStaticType;
use starlark::eval::{Arguments, Evaluator};
use starlark::starlark_simple_value;
use starlark::values::bytes::StarlarkBytes;
use starlark::values::list::AllocList;
use starlark::values::{
    Heap, NoSerialize, StarlarkPagablePanic, StarlarkValue, UnpackValue, Value, ValueLike, starlark_value,
};

use super::format::fill;
use super::spec::{Align, MAX_SIZE, pad};

/// The names of the methods here.
pub(super) const MENDED: [&str; 9] =
    ["center", "codepoints", "elems", "format", "ljust", "rjust", "rsplit", "split", "zfill"];

/// A method, bound to its value.
#[derive(Debug, ProvidesStaticType, NoSerialize, StarlarkPagablePanic, Allocative)]
enum Method {
    /// Gives texts.
    Codepoints { text: String },
    /// Prints floats exactly.
    Format { template: String },
    /// Refuses an empty separator.
    Split { text: String, name: &'static str },
    /// Fills a field.
    Pad {
        text: String,
        name: &'static str,
        #[allocative(skip)]
        align: Align,
    },
    /// Fills a field with zeros behind the sign.
    Zeros { text: String },
    /// Gives numbers.
    Elems { bytes: Vec<u8> },
}

starlark_simple_value!(Method);

/// An empty separator has no meaning: Python refuses it too.
#[derive(Debug, thiserror::Error)]
#[error("{0}: empty separator; for the characters use `list(s.elems())`")]
struct EmptySeparator(&'static str);

/// A method that fills a field was not given the field.
#[derive(Debug, thiserror::Error)]
enum Misfit {
    #[error("{name} takes a width and, where it is not to be a space, one character: `s.{name}(20, \".\")`")]
    Arguments { name: &'static str },
    #[error("zfill takes a width: `s.zfill(20)`")]
    Zeros,
    #[error("{name}: a width of more than {MAX_SIZE}")]
    TooWide { name: &'static str },
}

/// This method of this value, where the interpreter's own is wrong.
pub(super) fn mended<'v>(of: Value<'v>, name: &str, heap: Heap<'v>) -> Option<Value<'v>> {
    let method = match (of.unpack_str(), name) {
        (Some(text), "codepoints") => Method::Codepoints { text: text.to_owned() },
        (Some(template), "format") => Method::Format { template: template.to_owned() },
        (Some(text), "split") => Method::Split { text: text.to_owned(), name: "split" },
        (Some(text), "rsplit") => Method::Split { text: text.to_owned(), name: "rsplit" },
        (Some(text), "center") => Method::Pad { text: text.to_owned(), name: "center", align: Align::Centre },
        (Some(text), "ljust") => Method::Pad { text: text.to_owned(), name: "ljust", align: Align::Left },
        (Some(text), "rjust") => Method::Pad { text: text.to_owned(), name: "rjust", align: Align::Right },
        (Some(text), "zfill") => Method::Zeros { text: text.to_owned() },
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
            Self::Pad { text, name, align } => {
                arguments.no_named_args()?;
                let padded = padded(text, name, *align, &positional).map_err(starlark::Error::new_value)?;
                Ok(heap.alloc(padded))
            }
            Self::Zeros { text } => {
                arguments.no_named_args()?;
                let [width] = positional.as_slice() else { return Err(Misfit::Zeros.into()) };
                let (sign, digits) = text.split_at(usize::from(text.starts_with(['+', '-'])));
                let width = size("zfill", *width, Misfit::Zeros)?.saturating_sub(sign.len());
                Ok(heap.alloc(format!("{sign}{}", pad(digits, width, '0', Align::Right))))
            }
            Self::Elems { bytes } => {
                arguments.no_positional_args(heap)?;
                arguments.no_named_args()?;
                Ok(heap.alloc(AllocList(bytes.iter().map(|byte| i32::from(*byte)))))
            }
        }
    }
}

fn padded(text: &str, name: &'static str, align: Align, given: &[Value<'_>]) -> Result<String, Misfit> {
    let wrong = Misfit::Arguments { name };
    let (width, fill) = match given {
        [width] => (*width, ' '),
        [width, fill] => {
            let mut fill = fill.unpack_str().unwrap_or_default().chars();
            match (fill.next(), fill.next()) {
                (Some(fill), None) => (*width, fill),
                (_, _) => return Err(wrong),
            }
        }
        _ => return Err(wrong),
    };
    let width = size(name, width, wrong)?;
    match align {
        // Of an odd number the one too many goes to the left where the width is odd too.
        Align::Centre => {
            let missing = width.saturating_sub(text.chars().count());
            let before = missing / 2 + (missing & width & 1);
            let left = pad(text, text.chars().count() + before, fill, Align::Right);
            Ok(pad(&left, width, fill, Align::Left))
        }
        Align::Left | Align::Right | Align::AfterSign => Ok(pad(text, width, fill, align)),
    }
}

/// A width; a negative one is none.
fn size(name: &'static str, width: Value<'_>, wrong: Misfit) -> Result<usize, Misfit> {
    let width = i64::unpack_value(width).ok().flatten().ok_or(wrong)?;
    let width = usize::try_from(width).unwrap_or_default();
    if width > MAX_SIZE { Err(Misfit::TooWide { name }) } else { Ok(width) }
}

impl From<Misfit> for starlark::Error {
    fn from(misfit: Misfit) -> Self {
        Self::new_value(misfit)
    }
}

impl fmt::Display for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Codepoints { .. } => "codepoints",
            Self::Format { .. } => "format",
            Self::Split { name, .. } => name,
            Self::Pad { name, .. } => name,
            Self::Zeros { .. } => "zfill",
            Self::Elems { .. } => "elems",
        })
    }
}
