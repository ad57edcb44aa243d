//! The threads that evaluate: a few, with big stacks, apart from the async runtime.
//!
//! A hand-over must cost less than the evaluation, some three microseconds. Waking a sleeping thread costs several
//! times that, so both sides first look for each other awake: one idle evaluator keeps looking at the queue for a
//! moment before it sleeps, for a run's calls come close together, and the caller looks for its answer before it
//! yields. Both stop after some tens of microseconds; an idle daemon does nothing. While they look they give way to
//! other threads: the scheduler may have put both on one core, where each would only keep the other from running.
//!
//! A built-in cannot be interrupted. Its caller has its answer at the deadline all the same; the evaluator counts as
//! stuck, another takes its place, and it ends when it gets free. So many may be stuck and no more; past that the
//! pool has what is left, and with nothing left every decision fails at once.

use std::collections::VecDeque;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use tokio::sync::oneshot;
use tokio::time::timeout_at;

use super::PolicyFailure;
use super::rego::{Blueprint, Evaluator};

/// Deep enough for the longest chain of rules that loads.
const STACK_BYTES: usize = 64 << 20;
/// Waiting decisions; beyond it one fails at once.
const MAX_QUEUED: usize = 1_024;
/// Stuck evaluators that are replaced.
const MAX_REPLACED: usize = 8;
/// How long an idle evaluator, and a waiting caller, look for each other.
const LOOK: Duration = Duration::from_micros(40);

/// The evaluators. Dropping it ends them; one that is stuck ends when it gets free.
#[derive(Debug)]
pub(super) struct Pool {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    blueprint: Blueprint,
    size: usize,
    look: Duration,
    queue: Mutex<Queue>,
    ready: Condvar,
    /// Jobs in the queue, for a look without the lock.
    queued: AtomicUsize,
    /// An evaluator that is awake will take the next job.
    looking: AtomicBool,
    stuck: AtomicUsize,
}

#[derive(Debug, Default)]
struct Queue {
    jobs: VecDeque<Job>,
    sleeping: usize,
    closed: bool,
}

struct Job(Box<dyn FnOnce(&mut Evaluator) -> Served + Send>);

/// What becomes of the evaluator after a job.
enum Served {
    Sound,
    Panicked,
    /// Another has taken its place.
    Replaced,
}

/// How far a job is, told between its caller and its evaluator.
#[derive(Debug)]
struct Progress(AtomicU8);

const WAITING: u8 = 0;
const RUNNING: u8 = 1;
const DONE: u8 = 2;
/// The caller left; the evaluator is not replaced.
const LEFT: u8 = 3;
/// The caller left and the evaluator is replaced.
const REPLACED: u8 = 4;

/// The caller's hold on its job. Letting go of it before the answer leaves the job.
struct Ticket<'a> {
    shared: &'a Arc<Shared>,
    progress: Arc<Progress>,
}

impl Pool {
    pub(super) fn start(blueprint: Blueprint) -> io::Result<Self> {
        let cores = thread::available_parallelism().map_or(1, usize::from);
        let shared = Arc::new(Shared {
            blueprint,
            size: cores.clamp(2, 4),
            look: if cores > 1 { LOOK } else { Duration::ZERO },
            queue: Mutex::default(),
            ready: Condvar::new(),
            queued: AtomicUsize::new(0),
            looking: AtomicBool::new(false),
            stuck: AtomicUsize::new(0),
        });
        let pool = Self { shared };
        for _ in 0..pool.shared.size {
            spawn(&pool.shared)?;
        }
        Ok(pool)
    }

    /// Has the work done on an evaluator. Answers by the deadline.
    pub(super) async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Evaluator) -> T + Send + 'static,
        deadline: Instant,
    ) -> Result<T, PolicyFailure> {
        if self.shared.stuck.load(Ordering::Relaxed) >= self.shared.size + MAX_REPLACED {
            return Err(PolicyFailure::Stuck);
        }
        let progress = Arc::new(Progress(AtomicU8::new(WAITING)));
        let (reply, mut answer) = oneshot::channel();
        let ticket = Ticket { shared: &self.shared, progress: progress.clone() };
        let shared = self.shared.clone();
        let job = Job(Box::new(move |evaluator| serve(&shared, &progress, evaluator, work, reply)));
        self.shared.push(job)?;

        let looked_from = Instant::now();
        while looked_from.elapsed() < self.shared.look {
            match answer.try_recv() {
                Ok(outcome) => return outcome,
                Err(oneshot::error::TryRecvError::Empty) => thread::yield_now(),
                Err(oneshot::error::TryRecvError::Closed) => break,
            }
        }
        let outcome = timeout_at(deadline.into(), answer).await;
        drop(ticket);
        match outcome {
            Ok(Ok(outcome)) => outcome,
            // The job was left in a queue that closed.
            Ok(Err(_)) => Err(PolicyFailure::Busy),
            Err(_) => Err(PolicyFailure::TimedOut),
        }
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        self.shared.lock().closed = true;
        self.shared.ready.notify_all();
    }
}

impl Shared {
    fn push(&self, job: Job) -> Result<(), PolicyFailure> {
        let mut queue = self.lock();
        if queue.jobs.len() >= MAX_QUEUED {
            return Err(PolicyFailure::Busy);
        }
        queue.jobs.push_back(job);
        self.queued.store(queue.jobs.len(), Ordering::Release);
        let awake = usize::from(self.looking.load(Ordering::Relaxed));
        if queue.sleeping > 0 && queue.jobs.len() > awake {
            self.ready.notify_one();
        }
        Ok(())
    }

    /// Whether another evaluator could be started. Where it could not, the stuck one goes on when it gets free.
    fn replace(self: &Arc<Self>) -> bool {
        let started = spawn(self);
        if let Err(error) = &started {
            tracing::error!(%error, "a stuck policy evaluator cannot be replaced");
        }
        started.is_ok()
    }

    /// The next job; nothing once the pool is dropped.
    fn next(&self) -> Option<Job> {
        let looks = !self.look.is_zero() && !self.looking.swap(true, Ordering::Relaxed);
        if looks {
            let from = Instant::now();
            while self.queued.load(Ordering::Acquire) == 0 && from.elapsed() < self.look {
                thread::yield_now();
            }
        }
        let mut queue = self.lock();
        if looks {
            // Under the lock: whoever pushes next sees either this evaluator awake or itself responsible to wake one.
            self.looking.store(false, Ordering::Relaxed);
        }
        loop {
            if let Some(job) = queue.jobs.pop_front() {
                self.queued.store(queue.jobs.len(), Ordering::Release);
                return Some(job);
            }
            if queue.closed {
                return None;
            }
            queue.sleeping += 1;
            queue = self.ready.wait(queue).unwrap_or_else(PoisonError::into_inner);
            queue.sleeping -= 1;
        }
    }

    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Ticket<'_> {
    fn drop(&mut self) {
        let state = &self.progress.0;
        if state.compare_exchange(WAITING, LEFT, Ordering::AcqRel, Ordering::Acquire).is_ok()
            || state.load(Ordering::Acquire) != RUNNING
        {
            return;
        }
        // Counted before the evaluator can learn of it, so that the count never falls below zero.
        let replace = self.shared.stuck.fetch_add(1, Ordering::AcqRel) < MAX_REPLACED && self.shared.replace();
        let left = if replace { REPLACED } else { LEFT };
        if state.compare_exchange(RUNNING, left, Ordering::AcqRel, Ordering::Acquire).is_err() {
            self.shared.stuck.fetch_sub(1, Ordering::AcqRel);
            if replace {
                // It is done after all, so there is one too many. With a full queue there is no harm in one.
                drop(self.shared.push(Job(Box::new(|_| Served::Replaced))));
            }
            return;
        }
        tracing::warn!(replace, "a policy evaluation outlives its caller");
    }
}

impl std::fmt::Debug for Job {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Job")
    }
}

fn spawn(shared: &Arc<Shared>) -> io::Result<()> {
    let shared = shared.clone();
    let evaluate = move || {
        let mut evaluator = shared.blueprint.evaluator();
        while let Some(Job(job)) = shared.next() {
            match job(&mut evaluator) {
                Served::Sound => {}
                Served::Panicked => evaluator = shared.blueprint.evaluator(),
                Served::Replaced => return,
            }
        }
    };
    thread::Builder::new().name("policy".into()).stack_size(STACK_BYTES).spawn(evaluate).map(drop)
}

fn serve<T>(
    shared: &Shared,
    progress: &Progress,
    evaluator: &mut Evaluator,
    work: impl FnOnce(&mut Evaluator) -> T,
    reply: oneshot::Sender<Result<T, PolicyFailure>>,
) -> Served {
    if progress.0.compare_exchange(WAITING, RUNNING, Ordering::AcqRel, Ordering::Acquire).is_err() {
        return Served::Sound;
    }
    // The evaluator is rebuilt after a panic, so nothing half done is seen again.
    let outcome = catch_unwind(AssertUnwindSafe(|| work(evaluator))).map_err(|_| PolicyFailure::Panicked);
    let panicked = outcome.is_err();
    // Before the answer: a caller that has it must find its job done.
    let state = progress.0.swap(DONE, Ordering::AcqRel);
    // A caller that left is not there to read this.
    drop(reply.send(outcome));
    if matches!(state, LEFT | REPLACED) {
        shared.stuck.fetch_sub(1, Ordering::AcqRel);
    }
    match (state, panicked) {
        (REPLACED, _) => Served::Replaced,
        (_, true) => Served::Panicked,
        (_, false) => Served::Sound,
    }
}
