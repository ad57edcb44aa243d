//! Workers started ahead of need, for one generation.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::Notify;
use tokio::task::AbortHandle;

use super::{Outfit, Spawner, Start, Worker, WorkerFault};

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
    refill: Arc<Refill>,
}

#[derive(Debug)]
struct Shared {
    spawner: Spawner,
    outfit: Outfit,
    /// How many are kept ready.
    most: usize,
    ready: Mutex<VecDeque<(Instant, Worker)>>,
    taken: Notify,
    retired: AtomicBool,
}

/// Stops refilling when the pool is gone.
#[derive(Debug)]
struct Refill(AbortHandle);

impl Pool {
    /// Starts filling; `most` workers are kept ready.
    pub fn start(spawner: Spawner, outfit: Outfit, most: usize) -> Self {
        let shared = Arc::new(Shared {
            spawner,
            outfit,
            most,
            ready: Mutex::default(),
            taken: Notify::new(),
            retired: AtomicBool::new(false),
        });
        let refill = tokio::spawn(Arc::clone(&shared).refill());
        Self { shared, refill: Arc::new(Refill(refill.abort_handle())) }
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
                None => return self.start_now().await,
            }
        }
    }

    /// A retired pool's workers are few: a template for them would only take the place of the next pool's.
    async fn start_now(&self) -> Result<Worker, WorkerFault> {
        let Shared { spawner, outfit, retired, .. } = &*self.shared;
        match retired.load(Ordering::Relaxed) {
            true => Worker::start(spawner, &Outfit { start: Start::Exec, ..outfit.clone() }).await,
            false => Worker::start(spawner, outfit).await,
        }
    }

    /// How many could take a program now.
    pub fn ready(&self) -> usize {
        self.shared.lock().iter().filter(|(_, worker)| !worker.is_gone()).count()
    }

    /// Shows that workers can be started, by starting one more than is asked for.
    pub async fn try_to_start(&self) -> Result<(), WorkerFault> {
        let worker = self.start_now().await?;
        self.shared.keep(worker);
        Ok(())
    }

    /// Ends the ready workers and keeps none ready any longer; who still takes one waits for its start.
    pub fn retire(&self) {
        self.refill.0.abort();
        self.shared.retired.store(true, Ordering::Relaxed);
        self.shared.spawner.retire(&self.shared.outfit);
        let ready = std::mem::take(&mut *self.shared.lock());
        for (_, worker) in ready {
            worker.end(());
        }
    }
}

impl Shared {
    /// Keeps a worker that was started ahead of need, unless there are enough by now, or none is needed any longer.
    fn keep(&self, worker: Worker) {
        let mut ready = self.lock();
        match ready.len() < self.most && !self.retired.load(Ordering::Relaxed) {
            true => ready.push_back((Instant::now(), worker)),
            false => worker.end(()),
        }
    }

    async fn refill(self: Arc<Self>) {
        loop {
            self.retire();
            while self.lock().len() < self.most {
                match Worker::start(&self.spawner, &self.outfit).await {
                    Ok(worker) => self.keep(worker),
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

impl Drop for Shared {
    fn drop(&mut self) {
        // One that was never retired, or that was asked for a worker at that moment, has a template still.
        self.spawner.retire(&self.outfit);
    }
}
