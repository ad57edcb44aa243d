//! The runs of a daemon together, as far as their common end is concerned.

use std::sync::Arc;

use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

/// Counts what runs, and can end all of it; clones share both.
#[derive(Clone, Debug, Default)]
pub(super) struct Running {
    count: Arc<watch::Sender<usize>>,
    pub(super) cancelled: CancellationToken,
}

/// One run, for as long as it lives.
#[derive(Debug)]
pub(super) struct Counted(Arc<watch::Sender<usize>>);

impl Running {
    pub(super) fn one(&self) -> Counted {
        self.count.send_modify(|count| *count += 1);
        Counted(Arc::clone(&self.count))
    }

    pub(super) fn count(&self) -> usize {
        *self.count.borrow()
    }

    /// Returns when nothing runs.
    pub(super) async fn finished(&self) {
        // The sender is held here, so the wait cannot fail.
        drop(self.count.subscribe().wait_for(|count| *count == 0).await);
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.send_modify(|count| *count -= 1);
    }
}
