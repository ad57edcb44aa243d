//! What the daemon tells of itself, at addresses of its own: whether it lives, whether it can serve, and what it serves.
//! Over a Unix socket, its own user and root can change it while it runs.
//!
//! Nothing here comes from a client of the MCP endpoint, and nothing here reaches one. It is heard from before the first
//! generation is built until the last request is answered, so that whoever watches the daemon sees it come and go.

pub mod client;
mod control;
mod endpoint;
mod loaded;
mod readiness;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use tokio::task::JoinSet;
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::config;
use crate::daemon::{Instruments, Reloader};
use crate::generation::{Current, Generation};
use crate::listener::{ConnectionBounds, ListenError, Listener, Times, serve};
use crate::mcp::guard::{Guard, Names};
use crate::metrics::Levels;
use crate::run::Runs;
use endpoint::Endpoint;

/// Whoever watches a daemon asks seldom and briefly.
const BOUNDS: ConnectionBounds = ConnectionBounds {
    times: Times { head: Duration::from_secs(5), body: Duration::from_secs(5), idle: Duration::from_secs(75) },
    max_connections: 64,
};

/// The running listeners; dropping this closes them soon.
#[derive(Debug)]
pub struct Admin {
    state: Arc<State>,
    closing: DropGuard,
    serving: JoinSet<()>,
}

/// How far the daemon has come.
#[derive(Debug)]
struct State {
    /// There once the first generation is.
    serving: OnceLock<Serving>,
    draining: AtomicBool,
    instruments: Instruments,
}

/// What serves requests.
#[derive(Debug)]
struct Serving {
    current: Current,
    runs: Runs,
    reloader: Reloader,
}

/// Binds wherever the configuration says; heard by nobody yet.
pub fn open(config: &config::Admin) -> Result<Vec<Listener>, ListenError> {
    config.listen.iter().map(|listen| Listener::bind(listen, config.socket)).collect()
}

impl Admin {
    /// Answers from now on.
    pub fn start(listeners: Vec<Listener>, config: &config::Admin, instruments: Instruments) -> Self {
        let names = || Names {
            public: None,
            allowed_hosts: config.allowed_hosts.clone(),
            trusted_origins: config.trusted_origins.clone(),
        };
        let state = State { serving: OnceLock::new(), draining: AtomicBool::new(false), instruments };
        let state = Arc::new(state);
        let (draining, closing) = (CancellationToken::new(), CancellationToken::new());
        let mut serving = JoinSet::new();
        for listener in listeners {
            // A log is where the port can be read that was taken where any was asked for.
            tracing::info!(url = listener.url(), "administration can be reached");
            let endpoint = Endpoint::new(Guard::new(listener.address(), names()), Arc::clone(&state));
            serving.spawn(serve(listener, BOUNDS, Arc::new(endpoint), draining.clone(), closing.clone()));
        }
        Self { state, closing: closing.drop_guard(), serving }
    }

    /// Tells of what is served from now on.
    pub fn serves(&self, current: Current, runs: Runs, reloader: Reloader) {
        // There is one daemon in a process, and it comes up once.
        let _ = self.state.serving.set(Serving { current, runs, reloader });
    }

    /// Tells that nothing new is taken from now on.
    pub fn drains(&self) {
        self.state.draining.store(true, Ordering::Relaxed);
    }

    /// Closes the listeners and all that is connected, and takes their files away.
    pub async fn end(mut self) {
        drop(self.closing);
        // A panic in one is in the log, and the process is ending.
        while self.serving.join_next().await.is_some() {}
    }
}

impl State {
    fn current(&self) -> Option<Arc<Generation>> {
        self.serving.get().map(|serving| serving.current.get())
    }

    /// What the figures tell of the moment.
    fn levels(&self) -> Option<Levels> {
        let serving = self.serving.get()?;
        let generation = serving.current.get();
        let (workers_live, runs_waiting) = serving.runs.load();
        Some(Levels {
            generation: generation.number,
            loaded_at: generation.since,
            capabilities: generation.catalog.len(),
            workers_ready: generation.pool.ready(),
            workers_live,
            runs_waiting,
            audit_lost: self.instruments.audit.lost(),
        })
    }

    fn is_draining(&self) -> bool {
        self.draining.load(Ordering::Relaxed)
    }
}
