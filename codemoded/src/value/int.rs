//! Exact integers, to 1,000 decimal digits.

use std::fmt;

use num_bigint::{BigInt, Sign};
use num_traits::ToPrimitive;

/// The most decimal digits an integer may have on any crossing.
pub const MAX_DIGITS: usize = 1000;

/// An integer. Kept normal: what fits 64 bits is never held as a big one, so equality is plain.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Int(Repr);

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Repr {
    Small(i64),
    Big(Box<BigInt>),
}

/// The integer has more than [`MAX_DIGITS`] digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("an integer may have at most {MAX_DIGITS} digits")]
pub struct TooManyDigits;

impl Int {
    /// Reads an optional minus sign and decimal digits; the caller has seen that the text is nothing else.
    pub(super) fn from_digits(text: &str) -> Result<Self, TooManyDigits> {
        if let Ok(small) = text.parse::<i64>() {
            return Ok(Self(Repr::Small(small)));
        }
        let digits = text.strip_prefix('-').unwrap_or(text);
        if digits.len() > MAX_DIGITS {
            return Err(TooManyDigits);
        }
        match BigInt::parse_bytes(text.as_bytes(), 10) {
            Some(big) => Ok(Self(Repr::Big(Box::new(big)))),
            None => Err(TooManyDigits),
        }
    }

    /// The integer where it fits 64 bits.
    pub fn to_i64(&self) -> Option<i64> {
        match &self.0 {
            Repr::Small(small) => Some(*small),
            Repr::Big(_) => None,
        }
    }

    /// The integer as an unlimited one.
    pub fn to_big(&self) -> BigInt {
        match &self.0 {
            Repr::Small(small) => BigInt::from(*small),
            Repr::Big(big) => (**big).clone(),
        }
    }

    /// The nearest float; infinite where the integer is beyond every float.
    pub fn to_f64(&self) -> f64 {
        match &self.0 {
            Repr::Small(small) => small.to_f64().unwrap_or(f64::NAN),
            Repr::Big(big) => big.to_f64().unwrap_or(f64::INFINITY),
        }
    }

    pub(super) fn to_number(&self) -> serde_json::Number {
        match &self.0 {
            Repr::Small(small) => serde_json::Number::from(*small),
            Repr::Big(big) => serde_json::Number::from_string_unchecked(big.to_string()),
        }
    }
}

impl From<i64> for Int {
    fn from(value: i64) -> Self {
        Self(Repr::Small(value))
    }
}

impl TryFrom<BigInt> for Int {
    type Error = TooManyDigits;

    fn try_from(value: BigInt) -> Result<Self, TooManyDigits> {
        if let Some(small) = value.to_i64() {
            return Ok(Self(Repr::Small(small)));
        }
        // 3,321 bits never need more than 1,000 digits and 3,322 may need 1,001: only there are they counted.
        match value.bits() {
            ..=3_321 => {}
            3_322 if value.to_str_radix(10).trim_start_matches('-').len() <= MAX_DIGITS => {}
            _ => return Err(TooManyDigits),
        }
        Ok(Self(Repr::Big(Box::new(value))))
    }
}

impl PartialOrd for Int {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Int {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        match (&self.0, &other.0) {
            (Repr::Small(a), Repr::Small(b)) => a.cmp(b),
            (Repr::Big(a), Repr::Big(b)) => a.cmp(b),
            (Repr::Small(_), Repr::Big(b)) => match b.sign() {
                Sign::Minus => std::cmp::Ordering::Greater,
                Sign::NoSign | Sign::Plus => std::cmp::Ordering::Less,
            },
            (Repr::Big(_), Repr::Small(_)) => other.cmp(self).reverse(),
        }
    }
}

impl fmt::Display for Int {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Repr::Small(small) => small.fmt(f),
            Repr::Big(big) => big.fmt(f),
        }
    }
}
