//! Telling a client how far its run is.

use rmcp::model::{ProgressNotificationParam, ProgressToken};
use rmcp::service::{Peer, RoleServer};
use tokio::sync::watch;

/// What the number counts.
const UNIT: &str = "native calls done";

/// Waits for a run and tells the client how many of its native calls are done, first that none is, at last all. A client
/// that is slow to listen misses numbers in between, and holds up nothing.
pub(super) async fn telling<T>(
    run: impl Future<Output = T>,
    mut calls: watch::Receiver<u64>,
    token: ProgressToken,
    client: &Peer<RoleServer>,
) -> T {
    let mut told = None;
    let telling = async {
        loop {
            let done = *calls.borrow_and_update();
            told = Some(done);
            if !tell(client, &token, done).await || calls.changed().await.is_err() {
                return std::future::pending().await;
            }
        }
    };
    let ended = tokio::select! {
        biased;
        ended = run => ended,
        never = telling => never,
    };
    let done = *calls.borrow();
    if told != Some(done) {
        tell(client, &token, done).await;
    }
    ended
}

/// Whether anybody could be told.
async fn tell(client: &Peer<RoleServer>, token: &ProgressToken, done: u64) -> bool {
    let done = u32::try_from(done).map_or(f64::MAX, f64::from);
    let progress = ProgressNotificationParam::new(token.clone(), done).with_message(UNIT);
    client.notify_progress(progress).await.is_ok()
}
