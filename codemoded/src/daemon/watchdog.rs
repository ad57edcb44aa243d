//! Signs of life for a service manager that waits for them: a program that runs, not a clock that ticks.

use std::time::Duration;

use tokio::task::AbortHandle;
use tokio::time::{MissedTickBehavior, interval};

use super::{Daemon, probe};
use crate::causes::with_causes;
use crate::generation::Current;
use crate::supervisor::Supervisor;

/// Gives signs of life until it is dropped.
#[derive(Debug)]
pub struct Watchdog(Option<AbortHandle>);

impl Daemon {
    /// Starts giving signs of life, where somebody waits for them.
    pub fn watchdog(&self, supervisor: Supervisor) -> Watchdog {
        let watched = supervisor.watchdog().map(|patience| watch(self.current.clone(), supervisor, patience));
        Watchdog(watched.map(|watching| tokio::spawn(watching).abort_handle()))
    }
}

/// Twice within the manager's patience, so that one late sign does no harm.
async fn watch(current: Current, supervisor: Supervisor, patience: Duration) {
    let every = (patience / 2).max(Duration::from_millis(1));
    let mut turns = interval(every);
    turns.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        turns.tick().await;
        let generation = current.get();
        match tokio::time::timeout(every, probe::worker(&generation.pool)).await {
            Ok(Ok(_)) => supervisor.alive(),
            Ok(Err(fault)) => {
                tracing::error!(
                    cause = with_causes(&fault),
                    "no program runs: the service manager gets no sign of life"
                );
            }
            Err(_) => tracing::error!("no program ends in time: the service manager gets no sign of life"),
        }
    }
}

impl Drop for Watchdog {
    fn drop(&mut self) {
        if let Some(watching) = &self.0 {
            watching.abort();
        }
    }
}
