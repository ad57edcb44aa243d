//! The call that a handler serves: for whom, for how long, and whether anyone still waits.

use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::Notify;

use crate::document::CallContext;

/// One call of a capability. Clones are the same call.
#[derive(Clone, Debug)]
pub struct Call(Arc<State>);

#[derive(Debug)]
struct State {
    subject: String,
    run: String,
    traceparent: Option<String>,
    deadline: Instant,
    cancelled: AtomicBool,
    notify: Notify,
}

impl Call {
    /// A call as the daemon would make it, for a plugin's own tests.
    ///
    /// ```
    /// use std::time::Duration;
    /// let call = codemode_plugin_api::Call::new("alice", "run-1", Duration::from_secs(2));
    /// assert_eq!(call.subject(), "alice");
    /// assert!(!call.is_cancelled());
    /// ```
    pub fn new(subject: &str, run: &str, time_left: Duration) -> Self {
        Self::within(subject, run, time_left, None)
    }

    fn within(subject: &str, run: &str, time_left: Duration, traceparent: Option<&str>) -> Self {
        Self(Arc::new(State {
            subject: subject.to_owned(),
            run: run.to_owned(),
            traceparent: traceparent.map(str::to_owned),
            deadline: Instant::now() + time_left,
            cancelled: AtomicBool::new(false),
            notify: Notify::new(),
        }))
    }

    pub(crate) fn of(context: &CallContext<'_>) -> Self {
        // A year stands for every time that no clock can hold.
        let time_left = Duration::from_millis(context.deadline_ms).min(Duration::from_hours(24 * 365));
        Self::within(&context.subject.id, &context.run, time_left, context.traceparent.as_deref())
    }

    /// The ID of the authenticated caller. The daemon has already decided that this caller may make this call.
    pub fn subject(&self) -> &str {
        &self.0.subject
    }

    /// The ID of the run that the call belongs to, as the daemon's log and audit have it.
    pub fn run(&self) -> &str {
        &self.0.run
    }

    /// The header `traceparent` for whatever the handler asks on its part, so that it is found in the same trace; nothing
    /// where the daemon makes no traces.
    pub fn traceparent(&self) -> Option<&str> {
        self.0.traceparent.as_deref()
    }

    /// When the daemon stops waiting.
    pub fn deadline(&self) -> Instant {
        self.0.deadline
    }

    /// Whether nobody waits for the answer any longer: the caller went away, or the deadline has passed. A handler that
    /// works for long asks now and then, and gives up: its thread counts against the plugin until it returns.
    pub fn is_cancelled(&self) -> bool {
        self.0.cancelled.load(Ordering::Acquire) || Instant::now() >= self.0.deadline
    }

    /// Waits until nobody waits for the answer any longer.
    pub async fn cancelled(&self) {
        let signal = async {
            loop {
                let notified = self.0.notify.notified();
                if self.0.cancelled.load(Ordering::Acquire) {
                    return;
                }
                notified.await;
            }
        };
        tokio::select! {
            () = signal => {}
            () = tokio::time::sleep_until(self.0.deadline.into()) => {}
        }
    }

    pub(crate) fn cancel(&self) {
        self.0.cancelled.store(true, Ordering::Release);
        self.0.notify.notify_waiters();
    }
}

/// The calls in flight of one instance, by their numbers.
#[derive(Debug, Default)]
pub(crate) struct Calls(Mutex<Table>);

#[derive(Debug, Default)]
struct Table {
    running: HashMap<u64, Call>,
    /// Numbers that were cancelled before they began, or after they ended: the host cannot always know.
    early: VecDeque<u64>,
}

/// How many early cancellations are remembered. One is needed for as long as a call takes from the host's thread to
/// this table, so that only so many calls can be on that way.
const MAX_EARLY: usize = 1024;

/// Keeps a call in the table while it runs.
#[derive(Debug)]
pub(crate) struct Running {
    calls: Arc<Calls>,
    number: u64,
}

impl Calls {
    /// Enters a call; one that was cancelled before is cancelled at once.
    pub(crate) fn enter(self: &Arc<Self>, number: u64, call: &Call) -> Running {
        let mut table = self.table();
        if let Some(place) = table.early.iter().position(|early| *early == number) {
            table.early.remove(place);
            call.cancel();
        }
        table.running.insert(number, call.clone());
        Running { calls: Arc::clone(self), number }
    }

    pub(crate) fn cancel(&self, number: u64) {
        let mut table = self.table();
        if let Some(call) = table.running.get(&number).cloned() {
            drop(table);
            call.cancel();
        } else {
            if table.early.len() == MAX_EARLY {
                table.early.pop_front();
            }
            table.early.push_back(number);
        }
    }

    fn table(&self) -> MutexGuard<'_, Table> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.calls.table().running.remove(&self.number);
    }
}
