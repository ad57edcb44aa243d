//! Serving until a signal ends it: SIGHUP makes the next generation and opens the audit's file again, SIGTERM and SIGINT
//! let finish what runs, and a second one of these ends at once.

use std::fs::File;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio_util::sync::CancellationToken;

use super::{CommandError, say};
use crate::admin::{self, Admin};
use crate::config::{Config, Identity, Sources, Transport};
use crate::daemon::{self, Daemon, Given, Instruments, LAST_WORDS, Reloader, StartError};
use crate::listener::Listener;
use crate::mcp::http::Reached;
use crate::mcp::stdio::serve_stdio;
use crate::run::Runs;
use crate::supervisor::Supervisor;

/// What is served, and for whom it is told.
pub(super) struct Service {
    pub(super) sources: Sources,
    pub(super) config: Arc<Config>,
    pub(super) supervisor: Supervisor,
    pub(super) instruments: Instruments,
}

/// The signals of a process that serves. Caught before anything starts, so that none of them ends it by chance.
struct Signals {
    reload: Signal,
    terminate: Signal,
    interrupt: Signal,
}

/// Serves HTTP.
pub(super) async fn over_http(service: Service, out: File) -> Result<(), CommandError> {
    let mut signals = Signals::caught().map_err(CommandError::Runtime)?;
    let Service { sources, config, supervisor, instruments } = service;
    // Before anything is started, for no child may get a socket of systemd's.
    let listener = Listener::open(&config.server, supervisor.sockets()).map_err(StartError::from)?;
    let administration = admin::open(&config.admin).map_err(StartError::Admin)?;
    let admin = Admin::start(administration, &config.admin, instruments.clone());
    let reached = Reached::through(&listener, config.server.path.as_str());
    let daemon = Daemon::start(&config, Some(&reached), &instruments).await?;
    let http = daemon.serve_http(listener, reached.clone(), &config);
    let given = Given { sources, transport: Transport::Http, reached: Some(reached), config, instruments };
    let reloader = daemon.reloader(given, supervisor.clone());
    admin.serves(daemon.current.clone(), daemon.runs.clone(), reloader.clone());
    say(out, &format!("listening {}\n", http.url()))?;
    let watchdog = daemon.watchdog(supervisor.clone());
    announce(&daemon, &reloader, &supervisor);
    signals.until_stop(&reloader).await;
    // First, for whoever hears that it stops must not hear afterwards that it is ready.
    reloader.stop().await;
    supervisor.stopping();
    admin.drains();
    let patience = patience(&reloader);
    let ending = async {
        daemon::stop(http, &daemon.runs, patience).await;
        admin.end().await;
        // Whoever still holds the generation keeps its plugins.
        drop((reloader, watchdog));
        daemon.end().await;
    };
    signals.unless_again(ending).await;
    Ok(())
}

/// Serves one client on standard input and output.
pub(super) async fn over_stdio(service: Service, out: File) -> Result<(), CommandError> {
    let mut signals = Signals::caught().map_err(CommandError::Runtime)?;
    let Service { sources, config, supervisor, instruments } = service;
    let Identity::Static(one) = &config.identity else { return Err(CommandError::NoSubject) };
    let subject = one.subject.clone();
    let daemon = Daemon::start(&config, None, &instruments).await?;
    let given = Given { sources, transport: Transport::Stdio, reached: None, config, instruments };
    let reloader = daemon.reloader(given, supervisor.clone());
    let stopping = CancellationToken::new();
    let mut serving = Box::pin(serve_stdio(daemon.server().for_subject(subject), out, stopping.clone()));
    let watchdog = daemon.watchdog(supervisor.clone());
    announce(&daemon, &reloader, &supervisor);
    let hung_up = tokio::select! {
        ended = serving.as_mut() => Some(ended),
        () = signals.until_stop(&reloader) => None,
    };
    // First, for whoever hears that it stops must not hear afterwards that it is ready.
    reloader.stop().await;
    supervisor.stopping();
    stopping.cancel();
    let patience = patience(&reloader);
    let is_asked_to = hung_up.is_none();
    let ending = async {
        let ended = match hung_up {
            Some(ended) => Some(ended),
            None => finish(serving.as_mut(), &daemon.runs, patience).await,
        };
        // Whoever still holds the generation keeps its plugins.
        drop((serving, reloader, watchdog));
        daemon.end().await;
        ended
    };
    let ended = if is_asked_to { signals.unless_again(ending).await.flatten() } else { ending.await };
    ended.map_or(Ok(()), |ended| ended.map_err(CommandError::Stdio))
}

fn announce(daemon: &Daemon, reloader: &Reloader, supervisor: &Supervisor) {
    supervisor.ready(&reloader.state().status(daemon.current.get().number));
}

fn patience(reloader: &Reloader) -> Duration {
    tracing::info!("stopping: what runs may finish");
    reloader.state().config.server.drain_timeout
}

/// Waits for so long, then cancels what runs and waits for the answers to that. Nothing where that is in vain.
async fn finish<T>(mut serving: impl Future<Output = T> + Unpin, runs: &Runs, patience: Duration) -> Option<T> {
    if let Ok(ended) = tokio::time::timeout(patience, &mut serving).await {
        return Some(ended);
    }
    runs.cancel_all();
    tokio::time::timeout(LAST_WORDS, serving).await.ok()
}

impl Signals {
    fn caught() -> io::Result<Self> {
        Ok(Self {
            reload: signal(SignalKind::hangup())?,
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
        })
    }

    /// Reloads as often as it is asked for, until the process shall stop. What asks during a reload causes one more.
    async fn until_stop(&mut self, reloader: &Reloader) {
        let reloading = async {
            while self.reload.recv().await.is_some() {
                // What came of it is logged and kept.
                drop(reloader.reload().await);
            }
        };
        tokio::select! {
            () = reloading => {}
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
        }
    }

    /// Waits for an end, but for no longer than until it is asked for once more.
    async fn unless_again<T>(&mut self, ending: impl Future<Output = T>) -> Option<T> {
        tokio::select! {
            ended = ending => return Some(ended),
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
        }
        tracing::warn!("a second signal: ending at once");
        None
    }
}
