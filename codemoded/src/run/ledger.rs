//! What a run has done so far, so that nobody repeats an effect blindly.

use std::sync::{Mutex, MutexGuard, PoisonError};

use indexmap::IndexMap;
use tokio::sync::watch;

use crate::capability::{Capability, Name};

/// The native calls that one run made.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Calls {
    /// Calls that reached a handler.
    pub made: u64,
    /// Of these, how often each capability that is not marked read-only, in order of its first call.
    pub changing: IndexMap<Name, u64>,
}

/// Written by calls that may be in flight at once, read when the run has ended.
#[derive(Debug)]
pub(super) struct Ledger {
    calls: Mutex<Calls>,
    /// Counts the calls that are done, for whoever watches.
    done: watch::Sender<u64>,
}

impl Ledger {
    pub(super) fn new(done: watch::Sender<u64>) -> Self {
        Self { calls: Mutex::default(), done }
    }

    /// Notes a call that has reached its handler.
    pub(super) fn dispatched(&self, capability: &Capability) {
        let mut calls = self.lock();
        calls.made += 1;
        if capability.hints.read_only != Some(true) {
            *calls.changing.entry(capability.name.clone()).or_default() += 1;
        }
    }

    /// Notes that a call has its answer, whatever that is.
    pub(super) fn answered(&self) {
        self.done.send_modify(|done| *done += 1);
    }

    /// Calls that have reached a handler so far.
    pub(super) fn made(&self) -> u64 {
        self.lock().made
    }

    pub(super) fn calls(&self) -> Calls {
        self.lock().clone()
    }

    fn lock(&self) -> MutexGuard<'_, Calls> {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
