//! Who called what, and what came of it: one JSON line a run and one a native call, off the request path.
//!
//! Records go into a bounded queue, and one thread writes them. A run in flight never waits for it: where the queue is
//! full, either the record is dropped and counted, or no further run starts until there is room.

pub mod arguments;
mod journal;
mod line;
mod queue;
pub mod reading;
mod target;
mod writer;

#[cfg(test)]
mod tests;

use std::fmt;
use std::fs::File;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use crate::capability::Id;
use crate::run::record::{CallRecord, RunRecord, Sink};
use arguments::{Arguments, Keep};
use queue::{Entry, Queue};
use writer::Writer;

/// How long a stop waits for what is still queued.
const FLUSH_TIME: Duration = Duration::from_secs(2);

/// What the configuration says of the audit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    pub to: Destination,
    pub arguments: Arguments,
    pub overflow: Overflow,
    /// Records that may wait to be written.
    pub max_queued: usize,
}

/// Where the lines go.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Destination {
    #[default]
    Off,
    /// The path is absolute once the configuration was checked.
    File(PathBuf),
    Journald,
    Stdout,
}

/// The text names nowhere that lines could go.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is nowhere; write \"file:\" and a path, \"journald\", \"stdout\" or \"off\"")]
pub struct Nowhere(String);

/// What becomes of records that find the queue full.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Overflow {
    /// They are dropped and counted.
    #[default]
    Drop,
    /// There are none: no run starts while the queue is full, and those in flight find room.
    Refuse,
}

/// Nothing can be written where the configuration says.
#[derive(Debug, thiserror::Error)]
pub enum AuditError {
    #[error("audit.to: cannot write `{}`", .0.display())]
    File(PathBuf, #[source] io::Error),
    #[error("audit.to: cannot reach the journal")]
    Journal(#[source] io::Error),
    #[error("cannot start the thread that writes the audit")]
    Thread(#[source] io::Error),
}

/// The running audit. Clones are the same one; the process flushes it with [`Audit::stop`].
#[derive(Clone, Debug)]
pub struct Audit {
    /// Nothing where it is off.
    running: Option<Arc<Running>>,
}

#[derive(Debug)]
struct Running {
    queue: Arc<Queue>,
    arguments: Arguments,
    /// Hangs up when the writer has ended.
    ended: std::sync::Mutex<Receiver<()>>,
}

impl Audit {
    /// Opens the destination and starts the thread. `stdout` is where `to = "stdout"` goes.
    pub fn start(settings: &Settings, stdout: File) -> Result<Self, AuditError> {
        let Some(target) = target::open(&settings.to, stdout)? else { return Ok(Self::off()) };
        let (entries, incoming) = channel();
        let queue = Arc::new(Queue::new(entries, settings.overflow, settings.max_queued));
        let (alive, ended) = channel();
        let writer = Writer::new(target, incoming, Arc::clone(&queue), settings.arguments.hasher());
        let run = move || {
            writer.run();
            drop(alive);
        };
        std::thread::Builder::new().name("audit".to_owned()).spawn(run).map_err(AuditError::Thread)?;
        let running = Running { queue, arguments: settings.arguments.clone(), ended: ended.into() };
        Ok(Self { running: Some(Arc::new(running)) })
    }

    /// One that keeps nothing.
    pub fn off() -> Self {
        Self { running: None }
    }

    /// What takes the records; nothing where it is off.
    pub fn sink(&self) -> Option<Arc<dyn Sink>> {
        self.running.clone().map(|running| running as Arc<dyn Sink>)
    }

    /// Opens the file again by its name, after it was moved away; has no effect elsewhere.
    pub fn reopen(&self) {
        if let Some(running) = &self.running {
            running.queue.reopen();
        }
    }

    /// Records that were lost so far.
    pub fn lost(&self) -> u64 {
        self.running.as_ref().map_or(0, |running| running.queue.lost())
    }

    /// Writes what is queued, within a bound, and ends. Records that come later are lost.
    pub fn stop(&self) {
        let Some(running) = &self.running else { return };
        running.queue.stop();
        let ended = running.ended.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if ended.recv_timeout(FLUSH_TIME) == Err(std::sync::mpsc::RecvTimeoutError::Timeout) {
            let records = running.queue.len();
            tracing::error!(records, "the audit could not be written to its end");
        }
    }

    /// Reopens on SIGUSR1, for as long as the process lives.
    ///
    /// # Errors
    /// The signal cannot be listened for.
    pub fn reopen_on_signal(&self) -> io::Result<()> {
        use tokio::signal::unix::{SignalKind, signal};
        let mut signals = signal(SignalKind::user_defined1())?;
        let audit = self.clone();
        tokio::spawn(async move {
            while signals.recv().await.is_some() {
                audit.reopen();
            }
        });
        Ok(())
    }
}

impl Sink for Running {
    fn run(&self, record: &Arc<RunRecord>) {
        // A run that was refused for want of room has no room either; the queue has counted it.
        if !record.refused {
            self.queue.push(Entry::Run(Arc::clone(record)));
        }
    }

    fn call(&self, record: &Arc<CallRecord>) {
        self.queue.push(Entry::Call(Arc::clone(record)));
    }

    fn wants_arguments(&self, capability: &Id) -> bool {
        self.arguments.of(capability) != Keep::Off
    }

    fn admits(&self) -> Result<(), &'static str> {
        self.queue.admits()
    }
}

impl std::str::FromStr for Destination {
    type Err = Nowhere;

    fn from_str(text: &str) -> Result<Self, Nowhere> {
        match (text, text.strip_prefix("file:")) {
            ("off", _) => Ok(Self::Off),
            ("journald", _) => Ok(Self::Journald),
            ("stdout", _) => Ok(Self::Stdout),
            (_, Some(path)) if !path.is_empty() => Ok(Self::File(path.into())),
            (_, Some(_) | None) => Err(Nowhere(text.to_owned())),
        }
    }
}

impl fmt::Display for Overflow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Drop => "drop",
            Self::Refuse => "refuse",
        })
    }
}

impl fmt::Display for Destination {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Off => f.write_str("off"),
            Self::File(path) => write!(f, "file:{}", path.display()),
            Self::Journald => f.write_str("journald"),
            Self::Stdout => f.write_str("stdout"),
        }
    }
}
