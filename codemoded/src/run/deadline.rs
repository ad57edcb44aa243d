//! Waiting for an instant more exactly than the runtime's clock does.

use std::time::{Duration, Instant};

/// The runtime rounds to milliseconds, once when it sets a timer and once more when it waits for it.
const COARSE: Duration = Duration::from_millis(3);

/// Completes at the instant, and not a millisecond or two later. Few runs get near their deadlines, so the exact part
/// of the wait may cost a thread.
pub(super) async fn reached(instant: Instant) {
    let nearly = instant.checked_sub(COARSE).unwrap_or(instant);
    tokio::time::sleep_until(nearly.into()).await;
    let rest = instant.saturating_duration_since(Instant::now());
    if !rest.is_zero() && tokio::task::spawn_blocking(move || std::thread::sleep(rest)).await.is_err() {
        // The runtime is ending; its own clock is good enough for that.
        tokio::time::sleep_until(instant.into()).await;
    }
}
