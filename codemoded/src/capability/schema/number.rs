//! Exact comparison of numbers, and the equality of JSON Schema, to which `1` and `1.0` are the same number.

use std::cmp::Ordering;
use std::fmt::Write as _;

use num_bigint::BigInt;
use num_traits::{FromPrimitive, Zero};

use crate::value::{Float, Int, Value};

/// One end of a range.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Bound {
    /// An `Int` or a `Float`.
    pub(super) limit: Value,
    pub(super) exclusive: bool,
}

impl Bound {
    pub(super) fn inclusive(limit: Value) -> Self {
        Self { limit, exclusive: false }
    }

    /// Whether the value lies above this lower bound; what is no number does.
    pub(super) fn admits_above(&self, value: &Value) -> bool {
        match compare(value, &self.limit) {
            Some(Ordering::Greater) | None => true,
            Some(Ordering::Equal) => !self.exclusive,
            Some(Ordering::Less) => false,
        }
    }

    /// Whether the value lies below this upper bound; what is no number does.
    pub(super) fn admits_below(&self, value: &Value) -> bool {
        match compare(value, &self.limit) {
            Some(Ordering::Less) | None => true,
            Some(Ordering::Equal) => !self.exclusive,
            Some(Ordering::Greater) => false,
        }
    }

    /// The higher of two lower bounds.
    pub(super) fn higher(self, other: Self) -> Self {
        match compare(&self.limit, &other.limit) {
            Some(Ordering::Less) => other,
            Some(Ordering::Equal) => Self { exclusive: self.exclusive || other.exclusive, ..self },
            Some(Ordering::Greater) | None => self,
        }
    }

    /// The lower of two upper bounds.
    pub(super) fn lower(self, other: Self) -> Self {
        match compare(&self.limit, &other.limit) {
            Some(Ordering::Greater) => other,
            Some(Ordering::Equal) => Self { exclusive: self.exclusive || other.exclusive, ..self },
            Some(Ordering::Less) | None => self,
        }
    }
}

/// The order of two numbers, exactly; nothing where one is no number.
pub(super) fn compare(a: &Value, b: &Value) -> Option<Ordering> {
    match (a, b) {
        (Value::Int(a), Value::Int(b)) => Some(a.cmp(b)),
        (Value::Float(a), Value::Float(b)) => a.partial_cmp(b),
        (Value::Int(a), Value::Float(b)) => Some(compare_int(a, *b)),
        (Value::Float(a), Value::Int(b)) => Some(compare_int(b, *a).reverse()),
        _ => None,
    }
}

fn compare_int(int: &Int, float: Float) -> Ordering {
    let whole = float.get().trunc();
    // Every finite float has an exact whole part.
    let whole_int = BigInt::from_f64(whole).unwrap_or_default();
    int.to_big().cmp(&whole_int).then_with(|| {
        let fraction = float.get() - whole;
        0.0_f64.partial_cmp(&fraction).unwrap_or(Ordering::Equal)
    })
}

/// Whether two values are the same to JSON Schema.
pub(super) fn equal(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::List(a), Value::List(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| equal(a, b)),
        (Value::Map(a), Value::Map(b)) => {
            a.len() == b.len() && a.iter().all(|(key, a)| b.get(key).is_some_and(|b| equal(a, b)))
        }
        (Value::Int(_) | Value::Float(_), Value::Int(_) | Value::Float(_)) => compare(a, b) == Some(Ordering::Equal),
        (a, b) => a == b,
    }
}

/// A text that two values share exactly where they are [`equal`].
pub(super) fn identity(value: &Value) -> String {
    let mut text = String::new();
    identify(value, &mut text);
    text
}

fn identify(value: &Value, out: &mut String) {
    match value {
        Value::Float(float) if float.get().trunc() == float.get() => {
            // `-0.0` is zero.
            let _ = write!(out, "{:.0}", float.get() + 0.0);
        }
        Value::List(items) => {
            out.push('[');
            for item in items {
                identify(item, out);
                out.push(',');
            }
            out.push(']');
        }
        Value::Map(members) => {
            let mut sorted: Vec<_> = members.iter().collect();
            sorted.sort_unstable_by_key(|(key, _)| *key);
            out.push('{');
            for (key, member) in sorted {
                let _ = write!(out, "{key:?}:");
                identify(member, out);
                out.push(',');
            }
            out.push('}');
        }
        Value::Str(text) => {
            let _ = write!(out, "{text:?}");
        }
        Value::Null | Value::Bool(_) | Value::Int(_) | Value::Float(_) => out.push_str(&value.to_json()),
    }
}

/// Whether the number is a whole multiple of the divisor, reckoned in decimal as an author reads them.
pub(super) fn is_multiple(value: &Value, divisor: &Value) -> bool {
    let (Some((value, value_exponent)), Some((divisor, divisor_exponent))) = (decimal(value), decimal(divisor)) else {
        return true;
    };
    let exponent = value_exponent.min(divisor_exponent);
    let scale = |digits: BigInt, from: i32| digits * BigInt::from(10).pow(from.abs_diff(exponent));
    let divisor = scale(divisor, divisor_exponent);
    !divisor.is_zero() && (scale(value, value_exponent) % divisor).is_zero()
}

/// The number as digits and a power of ten.
fn decimal(value: &Value) -> Option<(BigInt, i32)> {
    match value {
        Value::Int(int) => Some((int.to_big(), 0)),
        Value::Float(float) => {
            let text = format!("{:e}", float.get());
            let (digits, exponent) = text.split_once('e')?;
            let exponent: i32 = exponent.parse().ok()?;
            let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
            let places = i32::try_from(fraction.len()).ok()?;
            Some((format!("{whole}{fraction}").parse().ok()?, exponent - places))
        }
        Value::Null | Value::Bool(_) | Value::Str(_) | Value::List(_) | Value::Map(_) => None,
    }
}
