//! How often callers may ask, and fail to be known.

use std::num::NonZeroU32;

use super::raw;

/// Each a number a minute.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rates {
    pub requests_per_minute: NonZeroU32,
    pub failures_per_minute: NonZeroU32,
}

const DEFAULT: Rates =
    Rates { requests_per_minute: NonZeroU32::new(6_000).unwrap(), failures_per_minute: NonZeroU32::new(60).unwrap() };

pub(super) fn check(raw: &raw::Rates) -> Rates {
    let narrow = |count| u32::try_from(u64::from(count)).ok().and_then(NonZeroU32::new);
    Rates {
        requests_per_minute: raw.requests_per_minute.and_then(narrow).unwrap_or(DEFAULT.requests_per_minute),
        failures_per_minute: raw.failures_per_minute.and_then(narrow).unwrap_or(DEFAULT.failures_per_minute),
    }
}
