//! Numbers, byte sizes and durations as the file writes them, each with its bounds in its type.

use std::fmt;
use std::marker::PhantomData;
use std::time::Duration;

use serde::de::{self, Deserialize, Deserializer, Visitor};

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;
const GIB: u64 = 1 << 30;

/// An integer from 1 to `MAX`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Count<const MAX: u64>(u64);

/// Bytes from `MIN` to `MAX`: an integer, or a text such as `"128MiB"`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Size<const MIN: u64, const MAX: u64>(u64);

/// A positive duration of at most a day, such as `"5s"`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Period(Duration);

impl<const MAX: u64> From<Count<MAX>> for u64 {
    fn from(count: Count<MAX>) -> Self {
        count.0
    }
}

impl<const MAX: u64> From<Count<MAX>> for usize {
    fn from(count: Count<MAX>) -> Self {
        Self::try_from(count.0).unwrap_or(Self::MAX)
    }
}

impl<const MIN: u64, const MAX: u64> From<Size<MIN, MAX>> for u64 {
    fn from(size: Size<MIN, MAX>) -> Self {
        size.0
    }
}

impl<const MIN: u64, const MAX: u64> From<Size<MIN, MAX>> for usize {
    fn from(size: Size<MIN, MAX>) -> Self {
        Self::try_from(size.0).unwrap_or(Self::MAX)
    }
}

impl From<Period> for Duration {
    fn from(period: Period) -> Self {
        period.0
    }
}

impl Period {
    const MAX: Duration = Duration::from_secs(24 * 60 * 60);
}

/// What a quantity makes of an integer and of a text; nothing where it takes none.
trait Quantity: Sized {
    const EXPECTED: &'static str;
    fn from_integer(number: i128) -> Option<Result<Self, Unfit>>;
    fn from_text(text: &str) -> Option<Result<Self, Unfit>>;
}

/// An integer or a text that is no such quantity.
#[derive(Debug, thiserror::Error)]
enum Unfit {
    #[error("`{given}` must be between {least} and {most}")]
    OutOfBounds { given: String, least: String, most: String },
    #[error("`{0}` is no size; write an integer and B, KiB, MiB or GiB, such as \"128MiB\"")]
    NoSize(String),
    #[error("`{0}` is no duration; write an integer and ms, s, m or h, such as \"5s\"")]
    NoDuration(String),
}

impl Unfit {
    fn out_of_bounds(given: impl ToString, least: impl ToString, most: impl ToString) -> Self {
        Self::OutOfBounds { given: given.to_string(), least: least.to_string(), most: most.to_string() }
    }
}

impl<const MAX: u64> Quantity for Count<MAX> {
    const EXPECTED: &'static str = "an integer";

    fn from_integer(number: i128) -> Option<Result<Self, Unfit>> {
        let fits = u64::try_from(number).ok().filter(|number| (1..=MAX).contains(number));
        Some(fits.map(Self).ok_or_else(|| Unfit::out_of_bounds(number, 1, MAX)))
    }

    fn from_text(_: &str) -> Option<Result<Self, Unfit>> {
        None
    }
}

impl<const MIN: u64, const MAX: u64> Quantity for Size<MIN, MAX> {
    const EXPECTED: &'static str = "a size such as \"128MiB\", or a number of bytes";

    fn from_integer(number: i128) -> Option<Result<Self, Unfit>> {
        let fits = u64::try_from(number).ok().filter(|number| (MIN..=MAX).contains(number));
        Some(fits.map(Self).ok_or_else(|| Unfit::out_of_bounds(number, size_text(MIN), size_text(MAX))))
    }

    fn from_text(text: &str) -> Option<Result<Self, Unfit>> {
        let bytes = split_unit(text).and_then(|(number, unit)| {
            let unit = match unit {
                "B" => 1,
                "KiB" => KIB,
                "MiB" => MIB,
                "GiB" => GIB,
                _ => return None,
            };
            number.checked_mul(unit)
        });
        Some(match bytes {
            Some(bytes) if (MIN..=MAX).contains(&bytes) => Ok(Self(bytes)),
            Some(_) => Err(Unfit::out_of_bounds(text, size_text(MIN), size_text(MAX))),
            None => Err(Unfit::NoSize(text.to_owned())),
        })
    }
}

impl Quantity for Period {
    const EXPECTED: &'static str = "a duration such as \"5s\"";

    fn from_integer(_: i128) -> Option<Result<Self, Unfit>> {
        None
    }

    fn from_text(text: &str) -> Option<Result<Self, Unfit>> {
        let period = split_unit(text).and_then(|(number, unit)| {
            let millis = match unit {
                "ms" => 1,
                "s" => 1_000,
                "m" => 60_000,
                "h" => 3_600_000,
                _ => return None,
            };
            number.checked_mul(millis).map(Duration::from_millis)
        });
        Some(match period {
            Some(period) if !period.is_zero() && period <= Self::MAX => Ok(Self(period)),
            Some(_) => Err(Unfit::out_of_bounds(text, "1ms", "24h")),
            None => Err(Unfit::NoDuration(text.to_owned())),
        })
    }
}

struct QuantityVisitor<T>(PhantomData<T>);

impl<T: Quantity> Visitor<'_> for QuantityVisitor<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(T::EXPECTED)
    }

    fn visit_i64<E: de::Error>(self, number: i64) -> Result<T, E> {
        let unexpected = || E::invalid_type(de::Unexpected::Signed(number), &T::EXPECTED);
        T::from_integer(number.into()).ok_or_else(unexpected)?.map_err(E::custom)
    }

    fn visit_u64<E: de::Error>(self, number: u64) -> Result<T, E> {
        let unexpected = || E::invalid_type(de::Unexpected::Unsigned(number), &T::EXPECTED);
        T::from_integer(number.into()).ok_or_else(unexpected)?.map_err(E::custom)
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<T, E> {
        let unexpected = || E::invalid_type(de::Unexpected::Str(text), &T::EXPECTED);
        T::from_text(text).ok_or_else(unexpected)?.map_err(E::custom)
    }
}

impl<'de, const MAX: u64> Deserialize<'de> for Count<MAX> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(QuantityVisitor(PhantomData))
    }
}

impl<'de, const MIN: u64, const MAX: u64> Deserialize<'de> for Size<MIN, MAX> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(QuantityVisitor(PhantomData))
    }
}

impl<'de> Deserialize<'de> for Period {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(QuantityVisitor(PhantomData))
    }
}

/// `"128MiB"` as 128 and its unit.
fn split_unit(text: &str) -> Option<(u64, &str)> {
    let digits = text.find(|c: char| !c.is_ascii_digit())?;
    let (number, unit) = text.split_at_checked(digits)?;
    Some((number.parse().ok()?, unit.trim_start_matches(' ')))
}

fn size_text(bytes: u64) -> String {
    let unit = [(GIB, "GiB"), (MIB, "MiB"), (KIB, "KiB")]
        .into_iter()
        .find(|(unit, _)| bytes >= *unit && bytes.is_multiple_of(*unit));
    match unit {
        Some((unit, name)) => format!("{}{name}", bytes / unit),
        None => bytes.to_string(),
    }
}
