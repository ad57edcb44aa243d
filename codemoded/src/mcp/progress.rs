//! Telling a client how far its run is.

use std::pin::pin;

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
    let mut run = pin!(run);
    let mut told;
    let ended = loop {
        let done = *calls.borrow_and_update();
        told = done;
        let mut telling = pin!(tell(client, &token, done));
        let heard = tokio::select! {
            biased;
            ended = &mut run => {
                // What is not on its way yet could be overtaken by the answer, and nothing may follow that.
                telling.await;
                break ended;
            }
            heard = &mut telling => heard,
        };
        tokio::select! {
            biased;
            ended = &mut run => break ended,
            changed = calls.changed(), if heard => if changed.is_err() {
                break run.await;
            }
        }
    };
    let done = *calls.borrow();
    if told != done {
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
