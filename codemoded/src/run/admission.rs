//! Who may run now: a bounded number of slots, given round-robin over the subjects that wait.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::oneshot;

use crate::generation::Generation;
use crate::identity::SubjectId;
use crate::limits::{Limit, Limits};

/// Of the waiting runs, one subject may have this share.
const QUEUE_SHARE: usize = 4;

/// The gate in front of the workers; cheap to clone.
#[derive(Clone, Debug, Default)]
pub(super) struct Admission {
    state: Arc<Mutex<State>>,
}

/// The right to have one live worker; dropping it lets the next run in.
#[derive(Debug)]
pub(super) struct Slot {
    admission: Admission,
    /// Nothing once the slot has been given back.
    subject: Option<SubjectId>,
}

#[derive(Debug, Default)]
struct State {
    live: usize,
    waiting: usize,
    /// Whose limits hold: the newest that has been seen.
    generation: u64,
    max_live: usize,
    max_live_per_subject: usize,
    subjects: HashMap<SubjectId, Standing>,
    /// Subjects with waiting runs, the next to be served first.
    turns: VecDeque<SubjectId>,
}

#[derive(Debug, Default)]
struct Standing {
    live: usize,
    waiting: VecDeque<oneshot::Sender<Slot>>,
}

impl Admission {
    /// Waits for a slot; refused at once where too many wait already.
    pub(super) async fn admit(&self, subject: &SubjectId, generation: &Generation) -> Result<Slot, Limit> {
        let limits = &generation.limits;
        let waiting = {
            let mut state = self.lock();
            if state.take_limits(generation.number, limits) {
                self.let_in(&mut state);
            }
            if state.may_start(subject) {
                state.start(subject);
                return Ok(self.slot(subject));
            }
            state.enqueue(subject, limits.max_queued_executions)?
        };
        // A sender is dropped only with the whole gate.
        waiting.await.map_err(|_| Limit::MaxQueuedExecutions)
    }

    /// How many have a slot, and how many wait for one.
    pub(super) fn load(&self) -> (usize, usize) {
        let mut state = self.lock();
        state.forget_quitters();
        (state.live, state.waiting)
    }

    fn slot(&self, subject: &SubjectId) -> Slot {
        Slot { admission: self.clone(), subject: Some(subject.clone()) }
    }

    fn release(&self, subject: &SubjectId) {
        let mut state = self.lock();
        state.finish(subject);
        self.let_in(&mut state);
    }

    /// Gives what slots there are to whoever waits.
    fn let_in(&self, state: &mut State) {
        while let Some((next, sender)) = state.next_turn() {
            state.start(&next);
            if let Err(mut slot) = sender.send(self.slot(&next)) {
                // Its run gave up waiting. Dropping the slot as it is would wait for the lock held here.
                slot.subject = None;
                state.finish(&next);
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        if let Some(subject) = self.subject.take() {
            self.admission.release(&subject);
        }
    }
}

impl State {
    /// Whether others hold now than before.
    fn take_limits(&mut self, generation: u64, limits: &Limits) -> bool {
        if generation <= self.generation {
            return false;
        }
        self.generation = generation;
        self.max_live = limits.max_concurrent_executions;
        self.max_live_per_subject = limits.max_concurrent_executions_per_subject;
        true
    }

    fn may_start(&self, subject: &SubjectId) -> bool {
        let standing = self.subjects.get(subject);
        let first_in_line = standing.is_none_or(|standing| standing.waiting.is_empty());
        first_in_line && self.has_room(subject)
    }

    fn has_room(&self, subject: &SubjectId) -> bool {
        let live = self.subjects.get(subject).map_or(0, |standing| standing.live);
        self.live < self.max_live && live < self.max_live_per_subject
    }

    fn start(&mut self, subject: &SubjectId) {
        self.live += 1;
        self.subjects.entry(subject.clone()).or_default().live += 1;
    }

    fn finish(&mut self, subject: &SubjectId) {
        self.live = self.live.saturating_sub(1);
        if let Some(standing) = self.subjects.get_mut(subject) {
            standing.live = standing.live.saturating_sub(1);
            if standing.live == 0 && standing.waiting.is_empty() {
                self.subjects.remove(subject);
            }
        }
    }

    fn enqueue(&mut self, subject: &SubjectId, most: usize) -> Result<oneshot::Receiver<Slot>, Limit> {
        self.forget_quitters();
        let standing = self.subjects.entry(subject.clone()).or_default();
        let share = most.div_ceil(QUEUE_SHARE);
        if self.waiting >= most || standing.waiting.len() >= share {
            return Err(Limit::MaxQueuedExecutions);
        }
        if standing.waiting.is_empty() {
            self.turns.push_back(subject.clone());
        }
        let (sender, receiver) = oneshot::channel();
        standing.waiting.push_back(sender);
        self.waiting += 1;
        Ok(receiver)
    }

    /// Runs that gave up waiting keep no place in the queue.
    fn forget_quitters(&mut self) {
        for standing in self.subjects.values_mut() {
            standing.waiting.retain(|sender| !sender.is_closed());
        }
        self.subjects.retain(|_, standing| standing.live > 0 || !standing.waiting.is_empty());
        self.waiting = self.subjects.values().map(|standing| standing.waiting.len()).sum();
        let Self { subjects, turns, .. } = self;
        turns.retain(|subject| subjects.get(subject).is_some_and(|standing| !standing.waiting.is_empty()));
    }

    /// The next waiting run whose subject has room, taking the subjects in turn.
    fn next_turn(&mut self) -> Option<(SubjectId, oneshot::Sender<Slot>)> {
        for _ in 0..self.turns.len() {
            let subject = self.turns.pop_front()?;
            let has_room = self.has_room(&subject);
            let Some(standing) = self.subjects.get_mut(&subject) else { continue };
            if !has_room {
                self.turns.push_back(subject);
                continue;
            }
            let Some(sender) = standing.waiting.pop_front() else { continue };
            self.waiting -= 1;
            if !standing.waiting.is_empty() {
                self.turns.push_back(subject.clone());
            }
            return Some((subject, sender));
        }
        None
    }
}
