//! What `str` and `repr` give, and with them all that prints a value.
//!
//! The interpreter prints a float beyond six decimal orders with seven digits only, and every character that is not
//! ASCII as an escape, inside containers too. So every way from a value to text goes through here: floats print the
//! shortest text that reads back as the same number, and what can be seen prints as itself.

use std::collections::HashSet;
use std::fmt::Write as _;

use starlark::values::dict::DictRef;
use starlark::values::float::StarlarkFloat;
use starlark::values::list::ListRef;
use starlark::values::structs::StructRef;
use starlark::values::tuple::TupleRef;
use starlark::values::{Heap, Value, ValueIdentity, ValueLike};

use super::fault::SOURCE_NAME;
use super::namespace::Callable;

/// What `str` gives: a string as it is, anything else as `repr`.
pub(super) fn str_of<'v>(value: Value<'v>, heap: Heap<'v>) -> String {
    match value.unpack_str() {
        Some(text) => text.to_owned(),
        None if value.get_type() == "bytes" => value.to_str(),
        None => repr_of(value, heap),
    }
}

/// What `repr` gives.
pub(super) fn repr_of<'v>(value: Value<'v>, heap: Heap<'v>) -> String {
    let mut printer = Printer { heap, out: String::new(), open: HashSet::new() };
    printer.value(value);
    printer.out
}

fn holds_values(value: Value<'_>) -> bool {
    ListRef::from_value(value).is_some()
        || TupleRef::from_value(value).is_some()
        || DictRef::from_value(value).is_some()
        || StructRef::from_value(value).is_some()
        || is_set(value)
}

fn is_set(value: Value<'_>) -> bool {
    value.get_type() == "set"
}

/// A function of the program, of the language, or a value's method; a capability is one too, with a text of its own.
fn is_function(value: Value<'_>) -> bool {
    value.get_type() == "function" && value.downcast_ref::<Callable>().is_none()
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
pub(super) fn pythonic(text: &str) -> String {
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

/// A string as a program would write it.
fn quote(text: &str, out: &mut String) {
    out.push('"');
    for character in text.chars() {
        match character {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\x07' => out.push_str("\\a"),
            '\x08' => out.push_str("\\b"),
            '\x0c' => out.push_str("\\f"),
            '\x0b' => out.push_str("\\v"),
            _ if is_visible(character) => out.push(character),
            // Writing to a string cannot fail.
            _ => drop(match u32::from(character) {
                code @ 0..=0xff => write!(out, "\\x{code:02x}"),
                code @ 0x100..=0xffff => write!(out, "\\u{code:04x}"),
                code => write!(out, "\\U{code:08x}"),
            }),
        }
    }
    out.push('"');
}

/// Whether a character shows: neither control, format, surrogate nor white space but for the plain space.
fn is_visible(character: char) -> bool {
    if character.is_ascii() {
        return !character.is_ascii_control();
    }
    // The standard library escapes what does not show; a combining mark only where it comes first.
    let mut pair = String::from("a");
    pair.push(character);
    pair.escape_debug().nth(1) == Some(character)
}

struct Printer<'v> {
    heap: Heap<'v>,
    out: String,
    /// The containers being printed; one inside itself prints as an ellipsis.
    open: HashSet<ValueIdentity<'v>>,
}

impl<'v> Printer<'v> {
    fn value(&mut self, value: Value<'v>) {
        if let Some(float) = value.downcast_ref::<StarlarkFloat>() {
            self.out.push_str(&float_text(float.0));
        } else if let Some(text) = value.unpack_str() {
            quote(text, &mut self.out);
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
            self.sequence("[", list.content(), "]");
        } else if let Some(tuple) = TupleRef::from_value(value) {
            self.sequence("(", tuple.content(), if tuple.len() == 1 { ",)" } else { ")" });
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
        } else if let Ok(items) = value.iterate(self.heap) {
            self.sequence("set([", &items.collect::<Vec<_>>(), "])");
        }
    }

    fn sequence(&mut self, open: &str, items: &[Value<'v>], close: &str) {
        self.out.push_str(open);
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
