//! How a daemon comes to its end: nothing new begins, what runs may finish, what does not finish is answered.

use std::time::Duration;

use crate::mcp::http::Http;
use crate::run::Runs;

/// How long answers to runs that were cut short, and the last bytes of others, may take to reach their clients.
pub const LAST_WORDS: Duration = Duration::from_secs(2);

/// Stops accepting, and waits for so long for what is being answered. Runs that are left then are cancelled, and their
/// clients hear it.
pub async fn stop(mut http: Http, runs: &Runs, patience: Duration) {
    http.stop_accepting();
    // In a session a run goes on whose client has hung up, so the connections alone do not tell.
    let finished = async { tokio::join!(http.finished(), runs.finished()) };
    let mut finished = std::pin::pin!(finished);
    if tokio::time::timeout(patience, finished.as_mut()).await.is_ok() {
        return;
    }
    tracing::warn!(runs = runs.in_flight(), "the time to finish is over; what still runs is cancelled");
    runs.cancel_all();
    if tokio::time::timeout(LAST_WORDS, finished).await.is_err() {
        tracing::warn!("closing connections that were still busy");
    }
}
