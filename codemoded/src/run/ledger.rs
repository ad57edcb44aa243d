//! What a run has done so far, so that nobody repeats an effect blindly.

use std::sync::{Mutex, PoisonError};

use indexmap::IndexMap;

use crate::capability::{Capability, Name};

/// The native calls that one run made.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Calls {
    /// Calls that reached a handler.
    pub made: u64,
    /// Of these, how often each capability that is not marked read-only, in order of its first call.
    pub changing: IndexMap<Name, u64>,
}

/// Written by calls that may be in flight at once, read when the run has ended.
#[derive(Debug, Default)]
pub(super) struct Ledger(Mutex<Calls>);

impl Ledger {
    /// Notes a call that is about to reach its handler.
    pub(super) fn dispatched(&self, capability: &Capability) {
        let mut calls = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        calls.made += 1;
        if capability.hints.read_only != Some(true) {
            *calls.changing.entry(capability.name.clone()).or_default() += 1;
        }
    }

    pub(super) fn into_calls(self) -> Calls {
        self.0.into_inner().unwrap_or_else(PoisonError::into_inner)
    }
}
