//! What `str`, `repr`, `%` and the formatters print.
//!
//! The interpreter prints a float beyond six decimal orders with seven digits only, inside containers too, so every
//! way from a value to text goes through here: floats print the shortest text that reads back as the same number.

use std::collections::HashSet;
use std::fmt::Write as _;

use num_bigint::BigInt;
use num_traits::{FromPrimitive, Signed};
use starlark::values::dict::DictRef;
use starlark::values::float::StarlarkFloat;
use starlark::values::list::ListRef;
use starlark::values::structs::StructRef;
use starlark::values::tuple::TupleRef;
use starlark::values::{UnpackValue, Value, ValueIdentity, ValueLike};

use super::fault::SOURCE_NAME;
use super::namespace::Callable;

/// A `%` that cannot be carried out.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum FormatFailure {
    #[error("not enough arguments for format string")]
    TooFew,
    #[error("too many arguments for format string")]
    TooMany,
    #[error("incomplete format: a single % must be written %%")]
    Incomplete,
    #[error("unsupported format %{0}; widths and precisions are not supported, use math.round or slicing")]
    Verb(char),
    #[error("%{verb} needs {needs}, not {given}")]
    Type { verb: char, needs: &'static str, given: &'static str },
}

/// What `str` gives: a string as it is, anything else as `repr`.
pub(super) fn str_of(value: Value<'_>) -> String {
    match value.unpack_str() {
        Some(text) => text.to_owned(),
        None if is_ours(value) => repr_of(value),
        None => value.to_str(),
    }
}

/// What `repr` gives.
pub(super) fn repr_of(value: Value<'_>) -> String {
    let mut printer = Printer { out: String::new(), open: HashSet::new() };
    printer.value(value);
    printer.out
}

/// Whether the interpreter's own text of this value may differ from ours.
pub(super) fn is_ours(value: Value<'_>) -> bool {
    holds_values(value) || is_float(value) || is_function(value)
}

fn holds_values(value: Value<'_>) -> bool {
    ListRef::from_value(value).is_some()
        || TupleRef::from_value(value).is_some()
        || DictRef::from_value(value).is_some()
        || StructRef::from_value(value).is_some()
}

fn is_float(value: Value<'_>) -> bool {
    value.downcast_ref::<StarlarkFloat>().is_some()
}

/// A function of the program, of the language, or a value's method; a capability is one too, with a text of its own.
fn is_function(value: Value<'_>) -> bool {
    value.get_type() == "function" && value.downcast_ref::<Callable>().is_none()
}

/// `format % argument` for a string on the left (Starlark specification, String interpolation).
pub(super) fn interpolate(format: &str, argument: Value<'_>) -> Result<String, FormatFailure> {
    let single = [argument];
    let mut arguments = TupleRef::from_value(argument).map_or(single.as_slice(), |tuple| tuple.content()).iter();
    let mut out = String::new();
    let mut rest = format;
    while let Some((literal, after)) = rest.split_once('%') {
        out.push_str(literal);
        let mut chars = after.chars();
        let verb = chars.next().ok_or(FormatFailure::Incomplete)?;
        rest = chars.as_str();
        if verb == '%' {
            out.push('%');
            continue;
        }
        out.push_str(&formatted(verb, *arguments.next().ok_or(FormatFailure::TooFew)?)?);
    }
    out.push_str(rest);
    let takes_none = DictRef::from_value(argument).is_some();
    if arguments.next().is_some() && !takes_none { Err(FormatFailure::TooMany) } else { Ok(out) }
}

fn formatted(verb: char, value: Value<'_>) -> Result<String, FormatFailure> {
    let fail = |needs| Err(FormatFailure::Type { verb, needs, given: value.get_type() });
    match verb {
        's' => Ok(str_of(value)),
        'r' => Ok(repr_of(value)),
        'd' | 'i' => match integer(value).or_else(|| BigInt::from_f64(float(value)?.trunc())) {
            Some(integer) => Ok(integer.to_string()),
            None => fail("a finite number"),
        },
        'o' | 'x' | 'X' => match integer(value) {
            Some(integer) => {
                let sign = if integer.is_negative() { "-" } else { "" };
                let digits = integer.abs();
                Ok(match verb {
                    'o' => format!("{sign}{digits:o}"),
                    'x' => format!("{sign}{digits:x}"),
                    _ => format!("{sign}{digits:X}"),
                })
            }
            None => fail("an integer"),
        },
        'c' => match (value.unpack_str(), integer(value).and_then(|code| char::from_u32(u32::try_from(code).ok()?))) {
            (Some(text), _) if text.chars().count() == 1 => Ok(text.to_owned()),
            (_, Some(character)) => Ok(character.to_string()),
            (_, None) => fail("one character or its code"),
        },
        'e' | 'E' | 'f' | 'F' | 'g' | 'G' => match float(value) {
            Some(float) => Ok(float_as(verb, float)),
            None => fail("a number"),
        },
        other => Err(FormatFailure::Verb(other)),
    }
}

fn float_as(verb: char, float: f64) -> String {
    let text = match verb.to_ascii_lowercase() {
        _ if !float.is_finite() => float_text(float),
        'f' => format!("{float:.6}"),
        'e' => pythonic(&format!("{float:.6e}")),
        _ => float_text(float),
    };
    if verb.is_ascii_uppercase() { text.to_uppercase() } else { text }
}

/// The shortest text that reads back as the same float, with an exponent where Python would write one.
pub(super) fn float_text(float: f64) -> String {
    match float {
        _ if float.is_nan() => "nan".to_owned(),
        f64::INFINITY => "+inf".to_owned(),
        f64::NEG_INFINITY => "-inf".to_owned(),
        _ => pythonic(&format!("{float:?}")),
    }
}

/// `1e16` as Python and Go write it: `1e+16`, at least two digits of exponent.
fn pythonic(text: &str) -> String {
    let Some((mantissa, exponent)) = text.split_once('e') else { return text.to_owned() };
    let (sign, digits) = match exponent.strip_prefix('-') {
        Some(digits) => ('-', digits),
        None => ('+', exponent),
    };
    format!("{mantissa}e{sign}{digits:0>2}")
}

/// The interpreter names a program's function with its file, and any other barely.
fn function_text(name: &str) -> String {
    match name.strip_prefix(SOURCE_NAME).and_then(|rest| rest.strip_prefix('.')) {
        Some(own) => format!("<function {own}>"),
        None => format!("<built-in function {name}>"),
    }
}

fn integer(value: Value<'_>) -> Option<BigInt> {
    BigInt::unpack_value(value).ok().flatten()
}

fn float(value: Value<'_>) -> Option<f64> {
    starlark::values::float::UnpackFloat::unpack_value(value).ok().flatten().map(|float| float.0)
}

struct Printer<'v> {
    out: String,
    /// The containers being printed; one inside itself prints as an ellipsis.
    open: HashSet<ValueIdentity<'v>>,
}

impl<'v> Printer<'v> {
    fn value(&mut self, value: Value<'v>) {
        if let Some(float) = value.downcast_ref::<StarlarkFloat>() {
            self.out.push_str(&float_text(float.0));
        } else if is_function(value) {
            self.out.push_str(&function_text(&value.to_str()));
        } else if !holds_values(value) {
            self.out.push_str(&value.to_repr());
        } else if self.open.insert(value.identity()) {
            self.container(value);
            self.open.remove(&value.identity());
        } else {
            self.out.push_str("...");
        }
    }

    fn container(&mut self, value: Value<'v>) {
        if let Some(list) = ListRef::from_value(value) {
            self.sequence('[', list.content(), "]");
        } else if let Some(tuple) = TupleRef::from_value(value) {
            self.sequence('(', tuple.content(), if tuple.len() == 1 { ",)" } else { ")" });
        } else if let Some(dict) = DictRef::from_value(value) {
            self.out.push('{');
            for (index, (key, member)) in dict.iter().enumerate() {
                self.separate(index);
                self.value(key);
                self.out.push_str(": ");
                self.value(member);
            }
            self.out.push('}');
        } else if let Some(fields) = StructRef::from_value(value) {
            self.out.push_str("struct(");
            for (index, (name, field)) in fields.iter().enumerate() {
                self.separate(index);
                // Writing to a string cannot fail.
                let _ = write!(self.out, "{}=", name.as_str());
                self.value(field);
            }
            self.out.push(')');
        }
    }

    fn sequence(&mut self, open: char, items: &[Value<'v>], close: &str) {
        self.out.push(open);
        for (index, item) in items.iter().enumerate() {
            self.separate(index);
            self.value(*item);
        }
        self.out.push_str(close);
    }

    fn separate(&mut self, index: usize) {
        if index > 0 {
            self.out.push_str(", ");
        }
    }
}
