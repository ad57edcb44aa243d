//! `x / y` of integers: the nearest float of the quotient, as Python has it, and not the quotient of the nearest floats.

use num_bigint::BigInt;
use num_traits::{One, Signed, ToPrimitive, Zero};

/// Every integer of so many bits is a float's.
const EXACT_BITS: u64 = 53;

/// More than a float holds and so exactly rounded, whatever is left of it.
const QUOTIENT_BITS: i64 = 66;

/// A number is beyond all floats.
#[derive(Debug, thiserror::Error)]
#[error("a number beyond the largest float, about 1.8e308; use `//`")]
pub(super) struct TooLarge;

/// Nothing where the interpreter's own division is right, or says why there is none.
pub(super) fn quotient(left: &BigInt, right: &BigInt) -> Result<Option<f64>, TooLarge> {
    if right.is_zero() || (left.bits() <= EXACT_BITS && right.bits() <= EXACT_BITS) {
        return Ok(None);
    }
    let bits = |integer: &BigInt| i64::try_from(integer.bits()).unwrap_or(i64::MAX);
    let shift = QUOTIENT_BITS - (bits(left) - bits(right));
    let (left, right) = match shift.is_negative() {
        true => (left.clone(), right << shift.unsigned_abs()),
        false => (left << shift.unsigned_abs(), right.clone()),
    };
    let mut scaled = (&left / &right).abs();
    if !(&left % &right).is_zero() {
        // What is left decides between two floats that are equally near.
        scaled |= BigInt::one();
    }
    let sign = if left.is_negative() == right.is_negative() { 1.0 } else { -1.0 };
    let exponent = i32::try_from(-shift).map_err(|_| TooLarge)?;
    finite(sign * libm::ldexp(scaled.to_f64().ok_or(TooLarge)?, exponent)).map(Some)
}

/// The nearest float of an integer.
pub(super) fn nearest(integer: &BigInt) -> Result<f64, TooLarge> {
    finite(integer.to_f64().ok_or(TooLarge)?)
}

fn finite(float: f64) -> Result<f64, TooLarge> {
    if float.is_finite() { Ok(float) } else { Err(TooLarge) }
}
