//! Workers started ahead of need, for one generation.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::Notify;
use tokio::task::AbortHandle;

use super::{Outfit, Spawner, Worker, WorkerFault};

/// How long a ready worker waits before a fresh one takes its place.
const MAX_AGE: Duration = Duration::from_secs(600);
/// How long a start waits where workers are left: it would compete with the run that took one.
const START_AFTER: Duration = Duration::from_millis(1);
/// How long to wait after a worker could not be started ahead of need.
const RETRY_AFTER: Duration = Duration::from_millis(200);

/// Keeps a number of workers ready; cheap to clone. The last clone to go ends them.
#[derive(Clone, Debug)]
pub struct Pool {
    shared: Arc<Shared>,
    _refill: Arc<Refill>,
}

#[derive(Debug)]
struct Shared {
    spawner: Spawner,
    outfit: Outfit,
    ready: Mutex<VecDeque<(Instant, Worker)>>,
    taken: Notify,
}

/// Stops refilling when the pool is gone.
#[derive(Debug)]
struct Refill(AbortHandle);

impl Pool {
    /// Starts filling; `most` workers are kept ready.
    pub fn start(spawner: Spawner, outfit: Outfit, most: usize) -> Self {
        let shared = Arc::new(Shared { spawner, outfit, ready: Mutex::default(), taken: Notify::new() });
        let refill = tokio::spawn(Arc::clone(&shared).refill(most));
        Self { shared, _refill: Arc::new(Refill(refill.abort_handle())) }
    }

    /// A ready worker, or a new one where none is ready.
    pub async fn take(&self) -> Result<Worker, WorkerFault> {
        loop {
            let next = self.shared.lock().pop_front();
            self.shared.taken.notify_one();
            match next {
                // One that has died while it waited harms nobody.
                Some((_, worker)) if worker.is_gone() => {}
                Some((_, worker)) => return Ok(worker),
                None => return Worker::start(&self.shared.spawner, &self.shared.outfit).await,
            }
        }
    }
}

impl Shared {
    async fn refill(self: Arc<Self>, most: usize) {
        loop {
            self.retire();
            while self.lock().len() < most {
                match Worker::start(&self.spawner, &self.outfit).await {
                    Ok(worker) => self.lock().push_back((Instant::now(), worker)),
                    Err(fault) => {
                        let cause = std::error::Error::source(&fault).map(ToString::to_string);
                        tracing::warn!(%fault, cause, "cannot start a worker ahead of need");
                        tokio::time::sleep(RETRY_AFTER).await;
                    }
                }
            }
            // Woken by a taker, or now and then to retire the old.
            let _ = tokio::time::timeout(MAX_AGE / 4, self.taken.notified()).await;
            if !self.lock().is_empty() {
                tokio::time::sleep(START_AFTER).await;
            }
        }
    }

    fn retire(&self) {
        let mut old = Vec::new();
        {
            let mut ready = self.lock();
            while ready.front().is_some_and(|(since, worker)| since.elapsed() > MAX_AGE || worker.is_gone()) {
                old.extend(ready.pop_front());
            }
        }
        for (_, worker) in old {
            worker.end(());
        }
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<(Instant, Worker)>> {
        self.ready.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Refill {
    fn drop(&mut self) {
        self.0.abort();
    }
}
