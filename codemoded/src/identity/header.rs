//! Headers that decide who is calling: what counts stands there exactly once.

use http::header::AUTHORIZATION;
use http::{HeaderMap, HeaderValue};

use super::Refusal;

/// Longer than any credential that is issued, and short enough to be read for anybody.
const MAX_TOKEN_BYTES: usize = 16 << 10;

/// A header that came more than once.
pub(super) struct Repeated;

/// The one value of a header, where there is any.
pub(super) fn only<'a>(headers: &'a HeaderMap, name: &str) -> Result<Option<&'a HeaderValue>, Repeated> {
    let mut values = headers.get_all(name).iter();
    match (values.next(), values.next()) {
        (first, None) => Ok(first),
        (_, Some(_)) => Err(Repeated),
    }
}

/// The token of `Authorization: Bearer TOKEN`. Two values that a proxy has joined with a comma are no token.
pub(super) fn bearer(headers: &HeaderMap) -> Result<&str, Refusal> {
    let value = only(headers, AUTHORIZATION.as_str()).map_err(|Repeated| Refusal::RepeatedCredential)?;
    let value = value.ok_or(Refusal::NoCredential)?.to_str().map_err(|_| Refusal::InvalidCredential)?;
    let (scheme, token) = value.split_once(' ').ok_or(Refusal::InvalidCredential)?;
    let sound = scheme.eq_ignore_ascii_case("bearer")
        && (1..=MAX_TOKEN_BYTES).contains(&token.len())
        && token.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-._~+/=".contains(&byte));
    if sound { Ok(token) } else { Err(Refusal::InvalidCredential) }
}
