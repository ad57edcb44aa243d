//! The format specifications of Python's `format`, `%` and f-strings (The Python Library Reference, "Format
//! Specification Mini-Language" and "printf-style String Formatting"): how one text or number is put into a text.

use num_bigint::BigInt;
use num_traits::{Signed, ToPrimitive};
use starlark::values::float::UnpackFloat;
use starlark::values::{Heap, UnpackValue, Value};

use super::text::{float_text, pythonic, str_of};

/// The widest field and the most digits: what is wider is no text that anybody reads.
pub(super) const MAX_SIZE: usize = 10_000;

/// A specification, read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Spec {
    pub(super) fill: Option<char>,
    pub(super) align: Option<Align>,
    pub(super) sign: Sign,
    pub(super) alternate: bool,
    pub(super) width: usize,
    pub(super) grouping: Option<char>,
    pub(super) precision: Option<usize>,
    pub(super) kind: Option<char>,
}

/// Where the value stands in its field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Align {
    Left,
    Right,
    Centre,
    /// The sign at the left, the digits at the right.
    AfterSign,
}

/// What stands before a number that is not negative.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Sign {
    #[default]
    Nothing,
    /// Nothing, said explicitly.
    Minus,
    Plus,
    Space,
}

/// A specification that cannot be read, or does not fit its value.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum SpecFailure {
    #[error("the format `:{0}` is none of Python's: `[[fill]<>^=][+- ][#][0][width][,_][.precision][type]`")]
    Unreadable(String),
    #[error("a field inside a format is not supported; write `s.ljust(width)`, `s.rjust(width)` or `s.center(width)`")]
    Nested,
    #[error("a width or precision of more than {MAX_SIZE}")]
    TooLarge,
    #[error("the format `:{spec}` does not fit {given}")]
    Unfit { spec: String, given: &'static str },
    #[error("the format `:{spec}` takes a text or a number, not {given}; write `str(x)`")]
    NoText { spec: String, given: &'static str },
}

impl Spec {
    /// Reads what stands behind the colon.
    pub(super) fn read(text: &str) -> Result<Self, SpecFailure> {
        if text.contains(['{', '}']) {
            return Err(SpecFailure::Nested);
        }
        let mut spec = Self::default();
        let chars: Vec<char> = text.chars().collect();
        let mut rest = chars.as_slice();
        match rest {
            [fill, align, tail @ ..] if Align::of(*align).is_some() => {
                (spec.fill, spec.align, rest) = (Some(*fill), Align::of(*align), tail);
            }
            [align, tail @ ..] if Align::of(*align).is_some() => (spec.align, rest) = (Align::of(*align), tail),
            _ => {}
        }
        if let [sign @ ('+' | '-' | ' '), tail @ ..] = rest {
            spec.sign = Sign::of(*sign);
            rest = tail;
        }
        if let ['#', tail @ ..] = rest {
            (spec.alternate, rest) = (true, tail);
        }
        if let ['0', tail @ ..] = rest {
            spec.fill_with_zeros();
            rest = tail;
        }
        spec.width = size(&mut rest)?.unwrap_or_default();
        if let [grouping @ (',' | '_'), tail @ ..] = rest {
            (spec.grouping, rest) = (Some(*grouping), tail);
        }
        if let ['.', tail @ ..] = rest {
            rest = tail;
            let precision = size(&mut rest)?.ok_or_else(|| SpecFailure::Unreadable(text.to_owned()))?;
            spec.precision = Some(precision);
        }
        match rest {
            [] => Ok(spec),
            [kind] if "bcdeEfFgGnosxX%".contains(*kind) => Ok(Self { kind: Some(*kind), ..spec }),
            _ => Err(SpecFailure::Unreadable(text.to_owned())),
        }
    }

    /// Pads a number between its sign and its digits, where nothing else is said.
    pub(super) fn fill_with_zeros(&mut self) {
        self.fill = self.fill.or(Some('0'));
        self.align = self.align.or(Some(Align::AfterSign));
    }

    /// The value's text; `written` is the specification as the program has it.
    pub(super) fn apply<'v>(&self, value: Value<'v>, written: &str, heap: Heap<'v>) -> Result<String, SpecFailure> {
        if *self == Self::default() {
            return Ok(str_of(value, heap));
        }
        let unfit = || SpecFailure::Unfit { spec: written.to_owned(), given: value.get_type() };
        if let Some(text) = value.unpack_str() {
            return self.text(text).ok_or_else(unfit);
        }
        let integer = match value.unpack_bool() {
            Some(flag) => Some(BigInt::from(u8::from(flag))),
            None => BigInt::unpack_value(value).ok().flatten(),
        };
        match (integer, UnpackFloat::unpack_value(value).ok().flatten()) {
            (Some(integer), _) => self.integer(&integer).ok_or_else(unfit),
            (None, Some(float)) => self.float(float.0).ok_or_else(unfit),
            (None, None) => Err(SpecFailure::NoText { spec: written.to_owned(), given: value.get_type() }),
        }
    }

    /// An integer as `%` prints it: a precision is the fewest digits.
    pub(super) fn whole(&self, integer: &BigInt, kind: char) -> String {
        let fewest = self.precision.unwrap_or_default();
        let spec = Self { kind: Some(kind), precision: None, ..self.clone() };
        let sign = usize::from(integer.is_negative() || self.sign != Sign::Nothing);
        let prefix = if self.alternate && kind != 'd' { 2 } else { 0 };
        let zeros =
            Self { fill: Some('0'), align: Some(Align::AfterSign), width: sign + prefix + fewest, ..spec.clone() };
        match fewest > 0 && (zeros.width >= self.width || self.align != Some(Align::AfterSign)) {
            true => {
                pad(&zeros.integer(integer).unwrap_or_default(), self.width, ' ', self.align.unwrap_or(Align::Right))
            }
            // The zeros of the width are more than those of the precision.
            false => spec.integer(integer).unwrap_or_default(),
        }
    }

    /// A float as `%` prints it.
    pub(super) fn fraction(&self, float: f64, kind: char) -> String {
        Self { kind: Some(kind), ..self.clone() }.float(float).unwrap_or_default()
    }

    /// Nothing where a specification is for numbers.
    fn text(&self, text: &str) -> Option<String> {
        let is_for_numbers = self.sign != Sign::Nothing || self.alternate || self.grouping.is_some();
        let zeros = (self.fill, self.align) == (Some('0'), Some(Align::AfterSign));
        if is_for_numbers || !matches!(self.kind, None | Some('s')) || (self.align == Some(Align::AfterSign) && !zeros)
        {
            return None;
        }
        let cut: String = text.chars().take(self.precision.unwrap_or(usize::MAX)).collect();
        let align = if zeros { Some(Align::Left) } else { self.align };
        Some(pad(&cut, self.width, self.fill.unwrap_or(' '), align.unwrap_or(Align::Left)))
    }

    fn integer(&self, integer: &BigInt) -> Option<String> {
        let digits = integer.abs();
        let (prefix, digits, group) = match self.kind {
            Some('e' | 'E' | 'f' | 'F' | 'g' | 'G' | '%') => {
                return integer.to_f64().filter(|float| float.is_finite()).and_then(|float| self.float(float));
            }
            _ if self.precision.is_some() => return None,
            Some('n') if self.grouping.is_some() => return None,
            None | Some('d' | 'n') => ("", digits.to_string(), 3),
            Some('b') => ("0b", format!("{digits:b}"), 4),
            Some('o') => ("0o", format!("{digits:o}"), 4),
            Some('x') => ("0x", format!("{digits:x}"), 4),
            Some('X') => ("0X", format!("{digits:X}"), 4),
            Some('c') if self.sign == Sign::Nothing && self.grouping.is_none() && !integer.is_negative() => {
                let character = char::from_u32(digits.to_u32()?)?.to_string();
                return Some(pad(&character, self.width, self.fill.unwrap_or(' '), self.align.unwrap_or(Align::Left)));
            }
            Some(_) => return None,
        };
        if group == 4 && self.grouping == Some(',') {
            return None;
        }
        let prefix = if self.alternate { prefix } else { "" };
        Some(self.number(integer.is_negative(), prefix, &digits, "", group))
    }

    fn float(&self, float: f64) -> Option<String> {
        let upper = matches!(self.kind, Some('E' | 'F' | 'G'));
        let precision = self.precision.unwrap_or(6);
        let (digits, suffix) = match self.kind {
            Some('b' | 'c' | 'd' | 'o' | 's' | 'x' | 'X') => return None,
            Some('n') if self.grouping.is_some() => return None,
            _ if !float.is_finite() => (float_text(float.abs()).trim_start_matches('+').to_owned(), ""),
            Some('e' | 'E') => (self.scientific(float.abs(), precision), ""),
            Some('f' | 'F') => (self.fixed(float.abs(), precision), ""),
            Some('%') => (self.fixed(float.abs() * 100.0, precision), "%"),
            Some(_) => (self.general(float.abs(), precision, false), ""),
            None => match self.precision {
                Some(precision) => (self.general(float.abs(), precision, true), ""),
                None => (self.pointed(float_text(float.abs())), ""),
            },
        };
        let suffix = if self.kind == Some('%') && !float.is_finite() { "%" } else { suffix };
        let digits = if upper { digits.to_uppercase() } else { digits };
        let (whole, fraction) = digits.split_at(digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len()));
        let negative = float.is_sign_negative() && !float.is_nan();
        Some(self.number(negative, "", whole, &format!("{fraction}{suffix}"), 3))
    }

    /// With the point that `#` asks for.
    fn pointed(&self, text: String) -> String {
        if !self.alternate || text.contains('.') { text } else { text.replacen('e', ".e", 1) }
    }

    fn fixed(&self, float: f64, precision: usize) -> String {
        let text = format!("{float:.precision$}");
        if self.alternate && precision == 0 { text + "." } else { text }
    }

    fn scientific(&self, float: f64, precision: usize) -> String {
        let text = pythonic(&format!("{float:.precision$e}"));
        if self.alternate && precision == 0 { text.replacen('e', ".e", 1) } else { text }
    }

    /// So many significant digits, with an exponent where the number is very large or small; `shows_fraction` keeps one
    /// digit behind the point.
    fn general(&self, float: f64, precision: usize, shows_fraction: bool) -> String {
        let significant = precision.max(1);
        let scientific = pythonic(&format!("{float:.*e}", significant - 1));
        let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
        let exponent: i64 = exponent.parse().unwrap_or_default();
        let most = i64::try_from(significant).unwrap_or(i64::MAX) - i64::from(shows_fraction);
        let trimmed = |text: &str| match text.contains('.') && !self.alternate {
            true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
            false => text.to_owned(),
        };
        if exponent < -4 || exponent >= most {
            let (_, tail) = scientific.split_at(mantissa.len());
            let point = if self.alternate && !mantissa.contains('.') { "." } else { "" };
            return trimmed(mantissa) + point + tail;
        }
        let decimals =
            usize::try_from(i64::try_from(significant).unwrap_or(i64::MAX) - 1 - exponent).unwrap_or_default();
        let fixed = trimmed(&format!("{float:.decimals$}"));
        let point = if self.alternate && !fixed.contains('.') { "." } else { "" };
        if shows_fraction && !fixed.contains('.') { fixed + ".0" } else { fixed + point }
    }

    /// Sign, prefix, grouped digits and the rest, in a field.
    fn number(&self, is_negative: bool, prefix: &str, whole: &str, rest: &str, group: usize) -> String {
        let sign = match (is_negative, self.sign) {
            (true, _) => "-",
            (false, Sign::Plus) => "+",
            (false, Sign::Space) => " ",
            (false, Sign::Nothing | Sign::Minus) => "",
        };
        let (fill, align) = (self.fill.unwrap_or(' '), self.align.unwrap_or(Align::Right));
        let around = sign.len() + prefix.len() + rest.chars().count();
        // Infinity has no digits.
        let is_number = whole.starts_with(|c: char| c.is_ascii_hexdigit());
        let whole = match self.grouping.filter(|_| is_number) {
            Some(separator) => {
                let least =
                    if (fill, align) == ('0', Align::AfterSign) { self.width.saturating_sub(around) } else { 0 };
                grouped(whole, separator, group, least)
            }
            None => whole.to_owned(),
        };
        if align == Align::AfterSign {
            let digits = format!("{whole}{rest}");
            let width = self.width.saturating_sub(sign.len() + prefix.len());
            return format!("{sign}{prefix}{}", pad(&digits, width, fill, Align::Right));
        }
        pad(&format!("{sign}{prefix}{whole}{rest}"), self.width, fill, align)
    }
}

impl Align {
    fn of(character: char) -> Option<Self> {
        match character {
            '<' => Some(Self::Left),
            '>' => Some(Self::Right),
            '^' => Some(Self::Centre),
            '=' => Some(Self::AfterSign),
            _ => None,
        }
    }
}

impl Sign {
    pub(super) fn of(character: char) -> Self {
        match character {
            '-' => Self::Minus,
            '+' => Self::Plus,
            ' ' => Self::Space,
            _ => Self::Nothing,
        }
    }
}

/// A text in a field of so many characters.
pub(super) fn pad(text: &str, width: usize, fill: char, align: Align) -> String {
    let missing = width.saturating_sub(text.chars().count());
    let before = match align {
        Align::Left => 0,
        Align::Right | Align::AfterSign => missing,
        Align::Centre => missing / 2,
    };
    let fill = |count| std::iter::repeat_n(fill, count).collect::<String>();
    format!("{}{text}{}", fill(before), fill(missing - before))
}

/// Digits in groups, with zeros before them up to a width.
fn grouped(digits: &str, separator: char, group: usize, least: usize) -> String {
    let mut out = Vec::new();
    let mut digits = digits.chars().rev();
    let mut count = 0;
    loop {
        let next = digits.next();
        if next.is_none() && out.len() >= least {
            break;
        }
        if count > 0 && count % group == 0 {
            out.push(separator);
        }
        out.push(next.unwrap_or('0'));
        count += 1;
    }
    out.iter().rev().collect()
}

/// Takes a number from the front.
pub(super) fn size(rest: &mut &[char]) -> Result<Option<usize>, SpecFailure> {
    let count = rest.iter().take_while(|character| character.is_ascii_digit()).count();
    let (digits, tail) = rest.split_at(count);
    *rest = tail;
    if digits.is_empty() {
        return Ok(None);
    }
    let number: String = digits.iter().collect();
    number.parse().ok().filter(|size| *size <= MAX_SIZE).map(Some).ok_or(SpecFailure::TooLarge)
}

#[cfg(test)]
mod tests;
