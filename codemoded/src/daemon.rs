//! From a checked configuration to a running daemon, and from one generation to the next; the only module that knows
//! all others.

mod build;
mod door;
mod facts;
mod fault;
mod probe;
mod reload;
mod stop;
mod watchdog;

use std::sync::Arc;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

pub use build::policy_source;
pub(crate) use build::specs;
pub use facts::Facts;
pub use fault::StartError;
pub use reload::{Attempt, Given, NEXT_LINE, ReloadError, ReloadState, Reloaded, Reloader};
pub use stop::{LAST_WORDS, stop};
pub use watchdog::Watchdog;

use crate::audit::Audit;
use crate::config::Config;
use crate::generation::Current;
use crate::listener::Listener;
use crate::mcp::http::{Http, Reached, Settings};
use crate::mcp::server::Server;
use crate::metrics::Metrics;
use crate::run::Runs;
use crate::run::record::{Recorder, Sink};
use crate::telemetry::Levels;
use crate::telemetry::spans::Spans;
use crate::worker::Spawner;
use build::{Ground, build};

/// Everything that serves requests, whatever the transport.
#[derive(Debug)]
pub struct Daemon {
    pub current: Current,
    pub runs: Runs,
    spawner: Spawner,
    metrics: Metrics,
}

/// What is kept of what the daemon does; cheap to clone.
#[derive(Clone, Debug)]
pub struct Instruments {
    pub metrics: Metrics,
    pub audit: Audit,
    /// Nothing where there are no traces.
    pub spans: Option<Spans>,
    /// What the log says; changed over the administration's Unix socket, and by a reload.
    pub levels: Levels,
}

impl Daemon {
    /// Builds the generation that the configuration describes and shows with a probe run that workers work. Callers
    /// come in over HTTP where there is something through which they reach it.
    pub async fn start(
        config: &Arc<Config>,
        reached: Option<&Reached>,
        instruments: &Instruments,
    ) -> Result<Self, StartError> {
        let Instruments { metrics, audit, spans, .. } = instruments;
        let metrics = metrics.clone();
        let counted: Arc<dyn Sink> = Arc::new(metrics.clone());
        let sinks = audit.sink().into_iter().chain(spans.as_ref().map(Spans::sink)).chain([counted]);
        let recorder = Recorder::new(sinks.collect(), spans.as_ref().map(Spans::sampling));
        let spawner = Spawner::start(metrics.clone()).map_err(StartError::Spawner)?;
        let generation = build(config, Ground { spawner: &spawner, reached, before: None }).await?;
        Ok(Self { current: Current::new(generation), runs: Runs::new(recorder), spawner, metrics })
    }

    /// What this one would be with another configuration; it goes on as it is.
    pub async fn beside(&self, config: &Arc<Config>) -> Result<Self, StartError> {
        let before = self.current.get();
        let ground = Ground { spawner: &self.spawner, reached: None, before: Some(&before) };
        let generation = build(config, ground).await?;
        let (runs, spawner, metrics) = (self.runs.clone(), self.spawner.clone(), self.metrics.clone());
        Ok(Self { current: Current::new(generation), runs, spawner, metrics })
    }

    pub fn server(&self) -> Server {
        Server::new(self.current.clone(), self.runs.clone())
    }

    /// Serves HTTP on what was opened, and for whose door the daemon was started.
    pub fn serve_http(&self, listener: Listener, reached: Reached, config: &Config) -> Http {
        make_room(config.server.max_connections);
        let settings = Settings {
            reached,
            times: config.server.times,
            max_connections: config.server.max_connections,
            metrics: self.metrics.clone(),
            sessions: config.server.sessions,
        };
        Http::start(listener, settings, self.server())
    }

    /// Ends the workers that wait, and the plugins, which have a moment to put away what they hold.
    pub async fn end(self) {
        Self::end_together([self]).await;
    }

    /// The same of daemons that may share plugins.
    pub async fn end_together<const N: usize>(daemons: [Self; N]) {
        let mut ended = Vec::new();
        for daemon in &daemons {
            let generation = daemon.current.get();
            generation.pool.retire();
            ended.extend(generation.plugins.instances().iter().map(|each| each.ended()));
        }
        drop(daemons);
        let all = futures_util::future::join_all(ended.iter().map(|each| each.cancelled()));
        if tokio::time::timeout(LAST_WORDS, all).await.is_err() {
            tracing::warn!("a plugin has not ended in time");
        }
    }

    /// Whether callers could be told apart, where none come.
    pub async fn check_identity(&self, config: &Config) -> Result<(), StartError> {
        door::check(config, &self.current.get().plugins).await
    }
}

/// Descriptors that the daemon wants beside those of its connections: workers, plugins, logs.
pub(crate) const OWN_DESCRIPTORS: u64 = 1_000;

/// Each connection takes a descriptor; the usual limit dates from programs that cannot handle more than 1,024.
fn make_room(max_connections: usize) {
    let limit = getrlimit(Resource::Nofile);
    let raised = Rlimit { current: limit.maximum, maximum: limit.maximum };
    if let Err(error) = setrlimit(Resource::Nofile, raised) {
        tracing::warn!(%error, "the limit of open files could not be raised");
    }
    let wanted = OWN_DESCRIPTORS.saturating_add(max_connections as u64);
    if let Some(most) = limit.maximum.filter(|most| *most < wanted) {
        tracing::warn!(most, wanted, "the limit of open files is too low for server.max_connections");
    }
}
