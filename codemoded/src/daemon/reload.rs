//! From the generation in force to the next: built beside it, probed, and swapped in whole, or not at all.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Instant, SystemTime};

use tokio::task::JoinError;
use tokio_util::sync::CancellationToken;

use super::build::{Ground, build};
use super::{Daemon, Facts, Instruments, StartError};
use crate::causes::{all_with_causes, reasons, with_causes};
use crate::config::{Config, ConfigFault, Fixed, Sources, Transport, changed};
use crate::generation::{Current, Generation};
use crate::mcp::http::Reached;
use crate::policy::Stranger;
use crate::supervisor::Supervisor;
use crate::worker::Spawner;

/// Between lines in the status, which is one. No line has it: there it becomes a space.
pub const NEXT_LINE: &str = " ⏎ ";
const RETURN: char = '⏎';

/// Makes the next generation when it is asked to, one at a time. A handle.
#[derive(Clone, Debug)]
pub struct Reloader(Arc<Shared>);

/// Where the configuration comes from, and what of it the process was started with.
#[derive(Debug)]
pub struct Given {
    pub sources: Sources,
    pub transport: Transport,
    pub reached: Option<Reached>,
    pub config: Arc<Config>,
    pub instruments: Instruments,
}

#[derive(Debug)]
struct Shared {
    sources: Sources,
    transport: Transport,
    reached: Option<Reached>,
    fixed: Vec<Fixed>,
    spawner: Spawner,
    current: Current,
    supervisor: Supervisor,
    instruments: Instruments,
    one_at_a_time: tokio::sync::Mutex<()>,
    /// Fires when the daemon stops.
    stopping: CancellationToken,
    state: Mutex<ReloadState>,
}

/// What has come of reloads so far.
#[derive(Clone, Debug)]
pub struct ReloadState {
    pub succeeded: u64,
    pub failed: u64,
    /// What the generation in force was built from.
    pub config: Arc<Config>,
    /// The reload that ended last, where there has been one.
    pub last: Option<Attempt>,
}

/// How one reload ended.
#[derive(Clone, Debug)]
pub struct Attempt {
    pub at: SystemTime,
    /// What it made, or one line for each reason.
    pub outcome: Result<Reloaded, Vec<String>>,
}

/// A generation that serves since now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reloaded {
    pub generation: u64,
    /// The keys that have changed and that only a restart can set.
    pub kept: Vec<&'static str>,
    /// What the rules of its policy name and no capability is.
    pub strangers: Vec<Stranger>,
}

/// Why everything is as it was.
#[derive(Debug, thiserror::Error)]
pub enum ReloadError {
    #[error("{}", all_with_causes(.0))]
    Config(Vec<ConfigFault>),
    #[error(transparent)]
    Build(#[from] StartError),
    #[error("the reload panicked")]
    Panicked(#[source] JoinError),
    #[error("the daemon stops")]
    Stopping,
}

impl Daemon {
    /// What makes this daemon's next generations.
    pub fn reloader(&self, given: Given, supervisor: Supervisor) -> Reloader {
        let Given { sources, transport, reached, config, instruments } = given;
        let fixed = config.fixed(transport);
        let state = Mutex::new(ReloadState { succeeded: 0, failed: 0, config, last: None });
        Reloader(Arc::new(Shared {
            sources,
            transport,
            reached,
            fixed,
            spawner: self.spawner.clone(),
            current: self.current.clone(),
            supervisor,
            instruments,
            one_at_a_time: tokio::sync::Mutex::default(),
            stopping: CancellationToken::new(),
            state,
        }))
    }
}

impl Reloader {
    /// Opens the audit's file again; then reads the configuration again, and whatever it names, and the log gets its levels
    /// from it. Goes on to its end also where nobody waits for it.
    pub async fn reload(&self) -> Result<Reloaded, ReloadError> {
        self.0.instruments.audit.reopen();
        let shared = Arc::clone(&self.0);
        tokio::spawn(async move { shared.reload().await }).await.map_err(ReloadError::Panicked)?
    }

    /// From now on nothing is exchanged any more, and the service manager hears nothing of a reload.
    pub async fn stop(&self) {
        self.0.stopping.cancel();
        // One that has exchanged already comes to its end, which is near.
        drop(self.0.one_at_a_time.lock().await);
    }

    pub fn state(&self) -> ReloadState {
        self.0.state().clone()
    }

    /// What serves now, as far as it tells one configuration from another.
    pub async fn facts(&self) -> Result<Facts, JoinError> {
        let shared = Arc::clone(&self.0);
        let (generation, config) = {
            // A swap holds the state, so the two belong together.
            let state = shared.state();
            (shared.current.get(), Arc::clone(&state.config))
        };
        // Of a large catalog they are much to hash.
        tokio::task::spawn_blocking(move || Facts::of(&generation, &config, &shared.fixed)).await
    }
}

impl Reloaded {
    /// What whoever asked for it must know; one line each.
    pub fn notes(&self) -> Vec<String> {
        let kept = self.kept.iter().map(|key| format!("{key} has changed and needs a restart"));
        kept.chain(self.strangers.iter().map(ToString::to_string)).collect()
    }
}

impl ReloadError {
    /// One line each.
    pub fn reasons(&self) -> Vec<String> {
        reasons(self)
    }
}

impl Shared {
    async fn reload(self: Arc<Self>) -> Result<Reloaded, ReloadError> {
        let _only_one = self.one_at_a_time.lock().await;
        if self.stopping.is_cancelled() {
            return Err(ReloadError::Stopping);
        }
        let began = Instant::now();
        self.supervisor.reloading();
        let outcome = match self.stopping.run_until_cancelled(self.next()).await {
            Some(next) => next.and_then(|(config, generation)| self.exchange(config, generation)),
            None => Err(ReloadError::Stopping),
        };
        if matches!(outcome, Err(ReloadError::Stopping)) {
            tracing::info!("a reload is given up, for the daemon stops");
            return outcome;
        }
        let attempt = match &outcome {
            Ok(reloaded) => Ok(reloaded.clone()),
            Err(error) => Err(error.reasons()),
        };
        let attempt = Attempt { at: SystemTime::now(), outcome: attempt };
        attempt.log(self.current.get().number, began);
        self.instruments.metrics.reloaded(attempt.outcome.is_ok());
        let status = {
            let mut state = self.state();
            match attempt.outcome {
                Ok(_) => state.succeeded += 1,
                Err(_) => state.failed += 1,
            }
            state.last = Some(attempt);
            state.status(self.current.get().number)
        };
        if !self.stopping.is_cancelled() {
            self.supervisor.ready(&status);
        }
        outcome
    }

    /// What would serve next. Dropping the future leaves everything as it is.
    async fn next(&self) -> Result<(Arc<Config>, Generation), ReloadError> {
        let (sources, transport) = (self.sources.clone(), self.transport);
        let load = tokio::task::spawn_blocking(move || Config::load(&sources, transport));
        let config = load.await.map_err(ReloadError::Panicked)?.map_err(ReloadError::Config)?;
        let config = Arc::new(config);
        let before = self.current.get();
        let ground = Ground { spawner: &self.spawner, reached: self.reached.as_ref(), before: Some(&before) };
        let generation = build(&config, ground).await?;
        Ok((config, generation))
    }

    fn exchange(&self, config: Arc<Config>, generation: Generation) -> Result<Reloaded, ReloadError> {
        let reloaded = Reloaded {
            generation: generation.number,
            kept: changed(&self.fixed, &config.fixed(self.transport)),
            strangers: generation.policy.strangers(&generation.catalog),
        };
        let level = config.log.level.clone();
        {
            let mut state = self.state();
            if self.stopping.is_cancelled() {
                return Err(ReloadError::Stopping);
            }
            drop(self.current.swap(generation));
            state.config = config;
        }
        if let Err(error) = self.instruments.levels.set(level, "the configuration") {
            tracing::warn!(cause = with_causes(&error), "the log's levels stay as they are");
        }
        Ok(reloaded)
    }

    fn state(&self) -> MutexGuard<'_, ReloadState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Attempt {
    fn log(&self, generation: u64, began: Instant) {
        let took_ms = began.elapsed().as_millis();
        match &self.outcome {
            Ok(reloaded) => {
                for key in &reloaded.kept {
                    tracing::warn!(key, "a changed setting needs a restart; until then the old value holds");
                }
                tracing::info!(generation, took_ms, "reloaded");
            }
            Err(reasons) => {
                for reason in reasons {
                    tracing::error!(%reason, "cannot reload");
                }
                tracing::error!(generation, took_ms, "the reload changes nothing; the generation from before goes on");
            }
        }
    }
}

impl ReloadState {
    /// One line for the service manager, which `codemoded reload` reads again.
    pub fn status(&self, generation: u64) -> String {
        let count = self.succeeded + self.failed;
        match self.last.as_ref().map(|last| &last.outcome) {
            None => format!("generation {generation}"),
            Some(Ok(reloaded)) => match reloaded.notes().as_slice() {
                [] => format!("generation {generation}; reload {count} succeeded"),
                notes => format!("generation {generation}; reload {count} succeeded: {}", in_one_line(notes)),
            },
            Some(Err(reasons)) => {
                format!("generation {generation}; reload {count} failed: {}", in_one_line(reasons))
            }
        }
    }
}

fn in_one_line(lines: &[String]) -> String {
    lines.iter().map(|line| line.replace(RETURN, " ")).collect::<Vec<_>>().join(NEXT_LINE)
}
