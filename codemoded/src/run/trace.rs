//! Where a run stands in a trace, as W3C Trace Context has it: its own span, and one for each of its calls.
//!
//! Whether a trace is recorded is decided here, by its ID alone, so that replicas agree without asking. What the caller
//! wished is not heard, nor is its baggage.

use std::fmt;

use http::HeaderMap;
use uuid::Uuid;

const TRACEPARENT: &str = "traceparent";

/// The bits of a trace's ID that are random in every version of the standard.
const RANDOM_BITS: u32 = 56;

/// The part of a trace that is one run, or one call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    trace: u128,
    span: u64,
    parent: Option<u64>,
    pub sampled: bool,
}

/// A span of somebody else's that a run shall hang under.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Remote {
    trace: u128,
    span: u64,
}

/// Which share of all traces is recorded.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sampling(f64);

/// The number is no share.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
#[error("`{0}` must be between 0 and 1")]
pub struct NoShare(f64);

impl Span {
    /// One below this one.
    pub(super) fn child(self) -> Self {
        Self { span: new_span(), parent: Some(self.span), ..self }
    }

    pub fn trace_id(self) -> String {
        format!("{:032x}", self.trace)
    }

    pub fn span_id(self) -> String {
        format!("{:016x}", self.span)
    }

    pub fn parent_id(self) -> Option<String> {
        self.parent.map(|parent| format!("{parent:016x}"))
    }

    /// The header for whoever is called within this span.
    pub fn traceparent(self) -> String {
        format!("00-{:032x}-{:016x}-{:02x}", self.trace, self.span, u8::from(self.sampled))
    }
}

impl Remote {
    /// The header where it came once and is sound; a later version may say more behind what this one says.
    pub fn read(headers: &HeaderMap) -> Option<Self> {
        let mut values = headers.get_all(TRACEPARENT).iter();
        let (Some(value), None) = (values.next(), values.next()) else { return None };
        let parts: Vec<&str> = value.to_str().ok()?.split('-').collect();
        let [version, trace, span, flags, rest @ ..] = &*parts else { return None };
        let is_later = hex(version, 2)? > 0;
        hex(flags, 2)?;
        let (trace, span) = (hex(trace, 32)?, u64::try_from(hex(span, 16)?).ok()?);
        let sound = *version != "ff" && (rest.is_empty() || is_later) && trace != 0 && span != 0;
        sound.then_some(Self { trace, span })
    }
}

impl fmt::Display for Sampling {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl Sampling {
    /// Every trace.
    pub const ALL: Self = Self(1.0);

    pub fn share(share: f64) -> Result<Self, NoShare> {
        if (0.0..=1.0).contains(&share) { Ok(Self(share)) } else { Err(NoShare(share)) }
    }

    /// A trace whose random part is below this is sampled. The whole share is above every one of them.
    fn threshold(self) -> u128 {
        (self.0 * (1_u64 << RANDOM_BITS) as f64) as u128
    }

    /// The span of a new run.
    pub(super) fn begin(self, remote: Option<Remote>) -> Span {
        let trace = remote.map_or_else(|| Uuid::new_v4().as_u128(), |remote| remote.trace);
        let random = trace & ((1 << RANDOM_BITS) - 1);
        let sampled = random < self.threshold();
        Span { trace, span: new_span(), parent: remote.map(|remote| remote.span), sampled }
    }
}

/// The low half of a random UUID is never zero.
fn new_span() -> u64 {
    let (_, low) = Uuid::new_v4().as_u64_pair();
    low
}

/// Small letters only, as the standard wants.
fn hex(text: &str, digits: usize) -> Option<u128> {
    let sound = text.len() == digits && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    u128::from_str_radix(text, 16).ok().filter(|_| sound)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TRACE: &str = "0af7651916cd43dd8448eb211c80319c";

    #[track_caller]
    fn check(values: &[&str], is_sound: bool) {
        let mut headers = HeaderMap::new();
        for value in values {
            headers.append(TRACEPARENT, value.parse().unwrap());
        }
        assert_eq!(Remote::read(&headers).is_some(), is_sound, "{values:?}");
    }

    #[test]
    fn only_one_sound_header_counts() {
        let sound = format!("00-{TRACE}-b7ad6b7169203331-01");
        check(&[&sound], true);
        check(&[&sound, &sound], false);
        check(&[], false);
        check(&[&format!("01-{TRACE}-b7ad6b7169203331-01-more")], true);
        for broken in [
            format!("00-{TRACE}-b7ad6b7169203331-01-more"),
            format!("ff-{TRACE}-b7ad6b7169203331-01"),
            format!("00-{}-b7ad6b7169203331-01", TRACE.to_uppercase()),
            format!("00-{TRACE}-b7ad6b7169203331"),
            format!("00-{TRACE}-b7ad6b716920333-01"),
            format!("00-{TRACE}-0000000000000000-01"),
            format!("00-{}-b7ad6b7169203331-01", "0".repeat(32)),
            format!("00-{}-b7ad6b7169203331-01", TRACE.replacen('0', "+", 1)),
            "nonsense".to_owned(),
        ] {
            check(&[&broken], false);
        }
    }

    #[test]
    fn a_share_of_the_traces_is_sampled_and_the_same_ones_everywhere() {
        let of = |share: f64| Sampling::share(share).unwrap();
        let count = |share| (0..2_000).filter(|_| of(share).begin(None).sampled).count();
        assert_eq!((count(0.0), count(1.0)), (0, 2_000));
        assert!((50..400).contains(&count(0.1)));
        for (trace, least) in [(1, 0.001), (u128::MAX, 1.0), (0x0af7_6519_16cd_43dd_8448_eb21_1c80_319c, 0.285)] {
            let sampled = |share: f64| of(share).begin(Some(Remote { trace, span: 1 })).sampled;
            assert!(sampled(least) && sampled(1.0) && !sampled(0.0) && !sampled(least - 0.001), "{trace:x}");
        }
        assert!(Sampling::share(1.5).is_err() && Sampling::share(f64::NAN).is_err() && Sampling::share(-0.1).is_err());
    }
}
