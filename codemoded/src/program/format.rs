//! Texts with values put in: `"%d of %d" % (1, 2)` and `"{} of {}".format(1, 2)` (Starlark specification, String
//! interpolation and `string·format`).

use num_bigint::BigInt;
use num_traits::{FromPrimitive, Signed};
use starlark::collections::SmallMap;
use starlark::values::dict::DictRef;
use starlark::values::float::UnpackFloat;
use starlark::values::tuple::TupleRef;
use starlark::values::{Heap, StringValue, UnpackValue, Value};

use super::text::{float_text, pythonic, repr_of, str_of};

/// A format that cannot be carried out.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum FormatFailure {
    #[error("not enough arguments for format string")]
    TooFew,
    #[error("too many arguments for format string")]
    TooMany,
    #[error("incomplete format: a single % must be written %%")]
    Incomplete,
    #[error(
        "unsupported format %{0}; there is %s, %r, %d, %x, %o, %c, %e, %f and %g, without widths and precisions: \
             round first, `math.round(x * 100) / 100`, and pad with `\" \" * n`"
    )]
    Verb(char),
    #[error("unsupported format %(; names stand in braces: `\"{{name}}\".format(**d)`")]
    Named,
    #[error("%{verb} needs {needs}, not {given}")]
    Type { verb: char, needs: &'static str, given: &'static str },
    #[error("single '}}' in format; write '}}}}' for one brace")]
    LoneClose,
    #[error("unmatched '{{' in format; write '{{{{' for one brace")]
    LoneOpen,
    #[error("format: nested replacement fields are not supported: unmatched '{{'")]
    Nested,
    #[error("format: cannot mix manual and automatic field numbering")]
    Mixed,
    #[error("format: tuple index out of range: not enough parameters for `{{{0}}}`")]
    NoPosition(String),
    #[error("format: keyword {0} not found")]
    NoName(String),
    #[error("format: invalid character in `{{{0}}}`: attributes and indices are not supported; pass the value itself")]
    Compound(String),
    #[error(
        "format spec features are not supported: `:{0}`; round first, `math.round(x * 100) / 100`, and pad with `\" \" * n`"
    )]
    Spec(String),
    #[error("format: unknown conversion `!{0}`; there are `!s` and `!r`")]
    Conversion(String),
}

/// `format % argument` for a string on the left (Starlark specification, String interpolation).
pub(super) fn interpolate<'v>(format: &str, argument: Value<'v>, heap: Heap<'v>) -> Result<String, FormatFailure> {
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
        out.push_str(&formatted(verb, *arguments.next().ok_or(FormatFailure::TooFew)?, heap)?);
    }
    out.push_str(rest);
    let takes_none = DictRef::from_value(argument).is_some();
    if arguments.next().is_some() && !takes_none { Err(FormatFailure::TooMany) } else { Ok(out) }
}

fn formatted<'v>(verb: char, value: Value<'v>, heap: Heap<'v>) -> Result<String, FormatFailure> {
    let fail = |needs| Err(FormatFailure::Type { verb, needs, given: value.get_type() });
    match verb {
        's' => Ok(str_of(value, heap)),
        'r' => Ok(repr_of(value, heap)),
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
        '(' => Err(FormatFailure::Named),
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

/// `template.format(*positional, **named)`.
pub(super) fn fill<'v>(
    template: &str,
    positional: &[Value<'v>],
    named: &SmallMap<StringValue<'v>, Value<'v>>,
    heap: Heap<'v>,
) -> Result<String, FormatFailure> {
    let mut fields = Fields { heap, positional, named, next: 0, numbered: None };
    let mut out = String::new();
    let mut rest = template;
    while let Some(at) = rest.find(['{', '}']) {
        let (literal, from) = rest.split_at(at);
        out.push_str(literal);
        if let Some(after) = from.strip_prefix("{{") {
            out.push('{');
            rest = after;
        } else if let Some(after) = from.strip_prefix("}}") {
            out.push('}');
            rest = after;
        } else if let Some(after) = from.strip_prefix('{') {
            let (field, after) = after.split_once('}').ok_or(FormatFailure::LoneOpen)?;
            out.push_str(&fields.text(field)?);
            rest = after;
        } else {
            return Err(FormatFailure::LoneClose);
        }
    }
    out.push_str(rest);
    Ok(out)
}

/// What the replacement fields of one template may name.
struct Fields<'a, 'v> {
    heap: Heap<'v>,
    positional: &'a [Value<'v>],
    named: &'a SmallMap<StringValue<'v>, Value<'v>>,
    /// The position that the next empty field takes.
    next: usize,
    /// Whether the fields so far are numbered; unknown before the first.
    numbered: Option<bool>,
}

impl<'v> Fields<'_, 'v> {
    fn text(&mut self, field: &str) -> Result<String, FormatFailure> {
        if field.contains('{') {
            return Err(FormatFailure::Nested);
        }
        let (field, spec) = field.split_once(':').unwrap_or((field, ""));
        if !spec.is_empty() {
            return Err(FormatFailure::Spec(spec.to_owned()));
        }
        let (name, conversion) = field.split_once('!').unwrap_or((field, "s"));
        let value = self.value(name)?;
        match conversion {
            "s" => Ok(str_of(value, self.heap)),
            "r" => Ok(repr_of(value, self.heap)),
            other => Err(FormatFailure::Conversion(other.to_owned())),
        }
    }

    fn value(&mut self, name: &str) -> Result<Value<'v>, FormatFailure> {
        let is_number = !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_digit());
        if !is_number && !name.is_empty() {
            let found = self.named.iter().find(|(known, _)| known.as_str() == name);
            return match found {
                Some((_, value)) => Ok(*value),
                None if name.contains(['.', '[', ']']) => Err(FormatFailure::Compound(name.to_owned())),
                None => Err(FormatFailure::NoName(name.to_owned())),
            };
        }
        if *self.numbered.get_or_insert(is_number) != is_number {
            return Err(FormatFailure::Mixed);
        }
        let position = if is_number { name.parse().unwrap_or(usize::MAX) } else { self.next };
        self.next += 1;
        self.positional.get(position).copied().ok_or_else(|| FormatFailure::NoPosition(name.to_owned()))
    }
}

fn integer(value: Value<'_>) -> Option<BigInt> {
    BigInt::unpack_value(value).ok().flatten()
}

fn float(value: Value<'_>) -> Option<f64> {
    UnpackFloat::unpack_value(value).ok().flatten().map(|float| float.0)
}
