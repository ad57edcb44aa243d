//! When a token counts. Its times are numbers of seconds since 1970, whole or not, and however large (RFC 7519).

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use super::Fault;
use crate::value::{Map, Value};

/// A token ends, and so says when. It may say when it begins and when it was made, neither of which lies ahead.
pub(super) fn check(claims: &Map, leeway: Duration) -> Result<(), Fault> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs_f64();
    let leeway = leeway.as_secs_f64();
    let ends = seconds(claims, "exp")?.ok_or(Fault::Claim)?;
    if ends <= now - leeway {
        return Err(Fault::Expired);
    }
    for name in ["nbf", "iat"] {
        if seconds(claims, name)?.is_some_and(|from| from > now + leeway) {
            return Err(Fault::Early);
        }
    }
    Ok(())
}

/// The claim, where there is one.
fn seconds(claims: &Map, name: &str) -> Result<Option<f64>, Fault> {
    match claims.get(name) {
        None => Ok(None),
        Some(Value::Int(whole)) => Ok(Some(whole.to_f64())),
        Some(Value::Float(seconds)) => Ok(Some(seconds.get())),
        Some(Value::Null | Value::Bool(_) | Value::Str(_) | Value::List(_) | Value::Map(_)) => Err(Fault::Claim),
    }
}
