//! Texts with values put in: `"%d of %d" % (1, 2)` and `"{} of {}".format(1, 2)` (Starlark specification, String
//! interpolation and `string·format`).

use num_bigint::BigInt;
use num_traits::FromPrimitive;
use starlark::collections::SmallMap;
use starlark::values::dict::DictRef;
use starlark::values::float::UnpackFloat;
use starlark::values::tuple::TupleRef;
use starlark::values::{Heap, StringValue, UnpackValue, Value};

use super::spec::{Align, Sign, Spec, SpecFailure, pad, size};
use super::text::{float_text, repr_of, str_of};

/// A format that cannot be carried out.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum FormatFailure {
    #[error("not enough arguments for format string")]
    TooFew,
    #[error("too many arguments for format string")]
    TooMany,
    #[error("incomplete format: a single % must be written %%")]
    Incomplete,
    #[error("unsupported format %{0}; there is %s, %r, %d, %x, %X, %o, %c, %e, %f and %g, with widths and precisions")]
    Verb(char),
    #[error("a width or precision of `*` is not supported; write the number, or `s.ljust(width)`")]
    Star,
    #[error("unsupported format %(; names stand in braces: `\"{{name}}\".format(**d)`")]
    Named,
    #[error("%{verb} needs {needs}, not {given}")]
    Type { verb: char, needs: &'static str, given: &'static str },
    #[error("single '}}' in format; write '}}}}' for one brace")]
    LoneClose,
    #[error("unmatched '{{' in format; write '{{{{' for one brace")]
    LoneOpen,
    #[error("format: cannot mix manual and automatic field numbering")]
    Mixed,
    #[error("format: tuple index out of range: not enough parameters for `{{{0}}}`")]
    NoPosition(String),
    #[error("format: keyword {0} not found")]
    NoName(String),
    #[error("format: invalid character in `{{{0}}}`: attributes and indices are not supported; pass the value itself")]
    Compound(String),
    #[error(transparent)]
    Spec(#[from] SpecFailure),
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
        let end = after.find(|c: char| !"-+ #.0123456789".contains(c)).ok_or(FormatFailure::Incomplete)?;
        let (directive, after) = after.split_at(end);
        let mut chars = after.chars();
        let verb = chars.next().ok_or(FormatFailure::Incomplete)?;
        rest = chars.as_str();
        if verb == '%' && directive.is_empty() {
            out.push('%');
            continue;
        }
        let spec = directed(directive)?;
        out.push_str(&formatted(verb, &spec, *arguments.next().ok_or(FormatFailure::TooFew)?, heap)?);
    }
    out.push_str(rest);
    let takes_none = DictRef::from_value(argument).is_some();
    if arguments.next().is_some() && !takes_none { Err(FormatFailure::TooMany) } else { Ok(out) }
}

/// What stands between `%` and the letter: flags, width and precision.
fn directed(directive: &str) -> Result<Spec, FormatFailure> {
    let mut spec = Spec { align: Some(Align::Right), ..Spec::default() };
    let chars: Vec<char> = directive.chars().collect();
    let flags = chars.iter().take_while(|flag| "-+ #0".contains(**flag)).count();
    let (flags, mut rest) = chars.split_at(flags);
    for flag in flags {
        match flag {
            '#' => spec.alternate = true,
            '+' => spec.sign = Sign::Plus,
            ' ' if spec.sign == Sign::Nothing => spec.sign = Sign::Space,
            '-' => spec.align = Some(Align::Left),
            '0' if spec.align != Some(Align::Left) => (spec.fill, spec.align) = (Some('0'), Some(Align::AfterSign)),
            _ => {}
        }
    }
    if spec.align == Some(Align::Left) {
        spec.fill = None;
    }
    spec.width = size(&mut rest)?.unwrap_or_default();
    if let ['.', tail @ ..] = rest {
        rest = tail;
        // A lone point is a precision of nothing.
        spec.precision = Some(size(&mut rest)?.unwrap_or_default());
    }
    if rest.is_empty() { Ok(spec) } else { Err(FormatFailure::Incomplete) }
}

fn formatted<'v>(verb: char, spec: &Spec, value: Value<'v>, heap: Heap<'v>) -> Result<String, FormatFailure> {
    let fail = |needs| Err(FormatFailure::Type { verb, needs, given: value.get_type() });
    let placed = |text: &str| {
        let align = if spec.align == Some(Align::Left) { Align::Left } else { Align::Right };
        pad(text, spec.width, ' ', align)
    };
    let cut = |text: &str| placed(&text.chars().take(spec.precision.unwrap_or(usize::MAX)).collect::<String>());
    match verb {
        's' => Ok(cut(&str_of(value, heap))),
        'r' => Ok(cut(&repr_of(value, heap))),
        'd' | 'i' | 'u' => match integer(value).or_else(|| BigInt::from_f64(float(value)?.trunc())) {
            Some(integer) => Ok(spec.whole(&integer, 'd')),
            None => fail("a finite number"),
        },
        'o' | 'x' | 'X' => match integer(value) {
            Some(integer) => Ok(spec.whole(&integer, verb)),
            None => fail("an integer"),
        },
        'c' => match (value.unpack_str(), integer(value).and_then(|code| char::from_u32(u32::try_from(code).ok()?))) {
            (Some(text), _) if text.chars().count() == 1 => Ok(placed(text)),
            (_, Some(character)) => Ok(placed(&character.to_string())),
            (_, None) => fail("one character or its code"),
        },
        'e' | 'E' | 'f' | 'F' | 'g' | 'G' => match float(value) {
            Some(float) => Ok(float_as(verb, spec, float)),
            None => fail("a number"),
        },
        '(' => Err(FormatFailure::Named),
        '*' => Err(FormatFailure::Star),
        other => Err(FormatFailure::Verb(other)),
    }
}

/// `%g` without a precision prints what `str` does (Starlark specification), where Python cuts at six digits.
fn float_as(verb: char, spec: &Spec, float: f64) -> String {
    let shortest = matches!(verb, 'g' | 'G') && spec.precision.is_none() && !spec.alternate;
    if shortest && spec.sign == Sign::Nothing && spec.align == Some(Align::Right) {
        let text = float_text(float);
        return pad(&if verb == 'G' { text.to_uppercase() } else { text }, spec.width, ' ', Align::Right);
    }
    if !float.is_finite() {
        let text = float_text(float);
        let text = if verb.is_ascii_uppercase() { text.to_uppercase() } else { text };
        return pad(&text, spec.width, ' ', spec.align.unwrap_or(Align::Right));
    }
    spec.fraction(float, verb)
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
            if field.contains('{') {
                return Err(SpecFailure::Nested.into());
            }
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
        let (field, written) = field.split_once(':').unwrap_or((field, ""));
        let (name, conversion) = match field.split_once('!') {
            Some((name, conversion)) => (name, Some(conversion)),
            None => (field, None),
        };
        let value = self.value(name)?;
        let value = match conversion {
            None => value,
            Some("s") => self.heap.alloc(str_of(value, self.heap)),
            Some("r") => self.heap.alloc(repr_of(value, self.heap)),
            Some(other) => return Err(FormatFailure::Conversion(other.to_owned())),
        };
        Ok(Spec::read(written)?.apply(value, written, self.heap)?)
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
    let float = UnpackFloat::unpack_value(value).ok().flatten()?.0;
    // An integer that no float holds has become infinite.
    (float.is_finite() || integer(value).is_none()).then_some(float)
}
