//! What bounds the handlers of one instance: their slots, and the threads of those that block.
//!
//! A handler that ignores its cancellation cannot be stopped. It keeps its slot and its thread, so that a plugin which
//! hangs costs its own slots and nothing else; a subject whose calls hang leaves three quarters of them to others.
//!
//! Waking a thread costs more than a small handler does. So one thread without work looks for some for a moment before
//! it sleeps, and whoever waits for a call's answer does the same, for the calls of a program come close together.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, VecDeque};
use std::io;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use crate::identity::SubjectId;

/// How long a thread without work waits for some before it ends.
const IDLE: Duration = Duration::from_secs(10);

/// How long a thread without work, and a call without an answer, look before they sleep.
const LOOK: Duration = Duration::from_micros(40);

/// The calls in flight of one instance.
#[derive(Debug)]
pub(super) struct Slots {
    most: usize,
    most_of_one: usize,
    taken: Mutex<Taken>,
}

#[derive(Debug, Default)]
struct Taken {
    all: usize,
    of: HashMap<SubjectId, usize>,
}

/// One call in flight, until it is dropped.
#[derive(Debug)]
pub(super) struct Slot {
    slots: Arc<Slots>,
    subject: SubjectId,
}

impl Slots {
    /// One subject gets at most a quarter of them, and at least one.
    pub(super) fn new(most: usize) -> Self {
        Self { most, most_of_one: (most / 4).max(1), taken: Mutex::default() }
    }

    /// Takes a slot, where one is left for this subject.
    pub(super) fn take(self: &Arc<Self>, subject: &SubjectId) -> Option<Slot> {
        let mut taken = self.taken();
        let of_subject = taken.of.get(subject).copied().unwrap_or_default();
        if taken.all >= self.most || of_subject >= self.most_of_one {
            return None;
        }
        taken.all += 1;
        taken.of.insert(subject.clone(), of_subject + 1);
        Some(Slot { slots: Arc::clone(self), subject: subject.clone() })
    }

    /// How many are taken.
    pub(super) fn in_flight(&self) -> usize {
        self.taken().all
    }

    fn taken(&self) -> MutexGuard<'_, Taken> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        let mut taken = self.slots.taken();
        taken.all = taken.all.saturating_sub(1);
        if let Entry::Occupied(mut of_subject) = taken.of.entry(self.subject.clone()) {
            match *of_subject.get() {
                0 | 1 => drop(of_subject.remove()),
                several => *of_subject.get_mut() = several - 1,
            }
        }
    }
}

type Job = Box<dyn FnOnce() + Send>;

/// Threads that come with work and go without. As many as there is work at once: the slots bound that.
#[derive(Debug)]
pub(super) struct Threads {
    name: String,
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
    /// Jobs that wait, for a look without the lock.
    queued: AtomicUsize,
    /// A thread that is awake will take the next job.
    looking: AtomicBool,
}

#[derive(Default)]
struct State {
    jobs: VecDeque<Job>,
    idle: usize,
    closed: bool,
}

impl Threads {
    pub(super) fn new(name: &str) -> Self {
        Self { name: name.to_owned(), shared: Arc::default() }
    }

    /// Runs a job on a thread that waits for one, or else on a new one.
    pub(super) fn run(&self, job: impl FnOnce() + Send + 'static) -> io::Result<()> {
        let mut state = self.shared.state();
        // An idle thread that was already woken for a job is still counted as idle.
        if state.idle > state.jobs.len() {
            state.jobs.push_back(Box::new(job));
            self.shared.queued.store(state.jobs.len(), Ordering::Release);
            let awake = usize::from(self.shared.looking.load(Ordering::Relaxed));
            let wakes = state.jobs.len() > awake;
            drop(state);
            if wakes {
                self.shared.changed.notify_one();
            }
            return Ok(());
        }
        drop(state);
        let shared = Arc::clone(&self.shared);
        let work = move || {
            job();
            shared.work();
        };
        thread::Builder::new().name(self.name.clone()).spawn(work).map(drop)
    }
}

impl Drop for Threads {
    fn drop(&mut self) {
        self.shared.state().closed = true;
        self.shared.changed.notify_all();
    }
}

impl Shared {
    fn work(&self) {
        let mut state = self.state();
        loop {
            if let Some(job) = state.jobs.pop_front() {
                self.queued.store(state.jobs.len(), Ordering::Release);
                drop(state);
                job();
                state = self.state();
                continue;
            }
            if state.closed {
                return;
            }
            state.idle += 1;
            if !self.looking.swap(true, Ordering::Relaxed) {
                drop(state);
                look(|| (self.queued.load(Ordering::Acquire) > 0).then_some(()));
                state = self.state();
                // Under the lock: whoever hands over a job next sees either this thread awake or has one to wake.
                self.looking.store(false, Ordering::Relaxed);
                if !state.jobs.is_empty() || state.closed {
                    state.idle -= 1;
                    continue;
                }
            }
            let (woken, waited) = self.changed.wait_timeout(state, IDLE).unwrap_or_else(PoisonError::into_inner);
            state = woken;
            state.idle -= 1;
            if waited.timed_out() && state.jobs.is_empty() {
                return;
            }
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Looks for something awake, for a moment, and gives way to other threads meanwhile: both sides may be on one core.
pub(super) fn look<T>(mut find: impl FnMut() -> Option<T>) -> Option<T> {
    let from = Instant::now();
    loop {
        let found = find();
        if found.is_some() || from.elapsed() >= LOOK {
            return found;
        }
        thread::yield_now();
    }
}

impl std::fmt::Debug for Shared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let state = self.state();
        f.debug_struct("Shared").field("jobs", &state.jobs.len()).field("idle", &state.idle).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    #[track_caller]
    fn check(most: usize, callers: &[&str], expected: &[bool]) {
        let slots = Arc::new(Slots::new(most));
        let taken: Vec<_> = callers.iter().map(|id| slots.take(&SubjectId::new(id).unwrap())).collect();
        let outcome: Vec<_> = taken.iter().map(Option::is_some).collect();
        assert_eq!(outcome, expected);
        drop(taken);
        assert_eq!(slots.in_flight(), 0);
        assert!(slots.taken().of.is_empty(), "a subject without calls is forgotten");
    }

    #[test]
    fn one_subject_gets_a_quarter() {
        check(8, &["a", "a", "a", "b"], &[true, true, false, true]);
    }

    #[test]
    fn one_subject_gets_at_least_one() {
        check(2, &["a", "a", "b", "c"], &[true, false, true, false]);
    }

    #[test]
    fn a_busy_thread_holds_nobody_up() {
        let threads = Threads::new("test");
        let (finish, wait) = mpsc::channel::<()>();
        threads.run(move || wait.recv().unwrap()).unwrap();
        let (done, ended) = mpsc::channel();
        for number in 0..100 {
            let done = done.clone();
            threads.run(move || done.send(number).unwrap()).unwrap();
        }
        let mut numbers: Vec<_> = (0..100).map(|_| ended.recv_timeout(Duration::from_secs(10)).unwrap()).collect();
        numbers.sort_unstable();
        assert_eq!(numbers, (0..100).collect::<Vec<i32>>());
        finish.send(()).unwrap();
    }
}
