//! One child process per run: the daemon's handle on it.
//!
//! The daemon starts it, hands it the catalog's map and its budgets, then one program, answers its calls, and ends
//! it. Whatever a worker sends is taken for hostile.

pub mod channel;
pub mod child;
mod fatal;
pub mod manifest;
mod pages;
mod pipe;
mod pool;
mod process;
pub mod protocol;
mod sandbox;
mod spawn;
mod template;

pub use pool::Pool;
pub use spawn::{SpawnError, Spawner};

use std::io;
use std::os::fd::OwnedFd;
use std::process::ExitStatus;
use std::sync::Arc;
use std::time::{Duration, Instant};

use fatal::Death;
use pipe::Pipe;
use process::Process;
use protocol::{Budgets, Confinement, FRAME_OVERHEAD, FromWorker, ProtocolError, ToWorker};

/// How long a worker may take to prepare; one that takes longer will never be ready.
const START_PATIENCE: Duration = Duration::from_secs(5);

/// What every worker of one generation is given.
#[derive(Clone, Debug)]
pub struct Outfit {
    /// The sealed memory file with the catalog's map.
    pub manifest: Arc<OwnedFd>,
    pub budgets: Budgets,
    pub start: Start,
    /// Whether workers confine themselves.
    pub confine: bool,
    /// Whether workers ask what is there for a run's subject.
    pub discovers: bool,
}

/// How workers are started.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Start {
    /// Each worker is its own re-execution of the daemon's program.
    #[default]
    Exec,
    /// One re-executed template forks them.
    Fork,
}

impl std::fmt::Display for Start {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Exec => "exec",
            Self::Fork => "fork",
        })
    }
}

/// A worker that is prepared, confined, and has seen no program yet.
#[derive(Debug)]
pub struct Worker {
    pipe: Pipe,
    process: Process,
    confinement: Confinement,
}

/// Why a conversation with a worker ended before its outcome.
#[derive(Debug, thiserror::Error)]
pub enum WorkerFault {
    #[error("cannot start a worker")]
    Spawn(#[source] SpawnError),
    #[error("the worker was not ready in time")]
    NeverReady,
    #[error("the worker's channel failed")]
    Channel(#[source] io::Error),
    #[error("the worker sent nonsense")]
    Protocol(#[source] ProtocolError),
    #[error("the worker spoke out of turn")]
    OutOfTurn,
    #[error("the worker hung up")]
    HungUp,
}

/// How a worker that hung up had died, where the program can be the cause.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    StackOverflow,
    Memory,
    CpuTime,
    /// Nothing that a program should be able to do; the status is for the log.
    Unknown(Option<ExitStatus>),
}

impl Worker {
    /// Starts a worker and waits until it is ready for a program.
    pub async fn start(spawner: &Spawner, outfit: &Outfit) -> Result<Self, WorkerFault> {
        let began = Instant::now();
        let started = Self::prepare(spawner, outfit).await;
        spawner.metrics.worker_started(began.elapsed(), started.is_ok());
        started
    }

    async fn prepare(spawner: &Spawner, outfit: &Outfit) -> Result<Self, WorkerFault> {
        let (process, stream) = spawner.spawn(outfit).await.map_err(WorkerFault::Spawn)?;
        let budgets = &outfit.budgets;
        let largest = budgets.max_value_bytes.max(budgets.max_result_bytes);
        let largest = usize::try_from(largest).unwrap_or(usize::MAX).saturating_add(FRAME_OVERHEAD);
        let pipe = Pipe::new(stream, largest.max(pipe::LEAST_FRAME)).map_err(WorkerFault::Channel)?;
        let nothing = Confinement { seccomp: false, landlock: false, limits: false };
        let mut worker = Self { pipe, process, confinement: nothing };
        let first = tokio::time::timeout(START_PATIENCE, worker.receive()).await;
        match first.map_err(|_| WorkerFault::NeverReady)?? {
            FromWorker::Ready(confinement) => Ok(Self { confinement, ..worker }),
            FromWorker::Ask(_) | FromWorker::Call { .. } | FromWorker::Returned(_) | FromWorker::Failed(_) => {
                Err(WorkerFault::OutOfTurn)
            }
        }
    }

    /// What the operating system confines this worker with.
    pub fn confinement(&self) -> Confinement {
        self.confinement
    }

    /// Whether a waiting worker has died.
    fn is_gone(&self) -> bool {
        self.pipe.is_closed()
    }

    /// Puts a frame in line; the rest of it goes out while [`Self::receive`] waits.
    pub fn send(&mut self, frame: &ToWorker) {
        self.pipe.send(&frame.encode());
    }

    /// The next frame. Dropping the future loses nothing.
    pub async fn receive(&mut self) -> Result<FromWorker, WorkerFault> {
        let body = self.pipe.receive().await?;
        FromWorker::decode(&body).map_err(WorkerFault::Protocol)
    }

    /// Waits for a worker that has hung up and says how it died.
    pub async fn cause(&mut self) -> Cause {
        match self.process.ended().await {
            Ok(status) => Death::of(status).map_or(Cause::Unknown(Some(status)), Cause::from),
            Err(_) => Cause::Unknown(None),
        }
    }

    /// Kills the worker now; it is reaped in the background, and only then is `slot` given back.
    pub fn end(self, slot: impl Send + 'static) {
        self.process.end(slot);
    }

    /// The process's number, for tests that look whether it is gone.
    pub fn pid(&self) -> u32 {
        self.process.pid()
    }
}

impl Outfit {
    fn same_as(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.manifest, &other.manifest)
    }
}

impl std::fmt::Display for Cause {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::StackOverflow => f.write_str("stack overflow"),
            Self::Memory => f.write_str("memory"),
            Self::CpuTime => f.write_str("cpu time"),
            Self::Unknown(Some(status)) => status.fmt(f),
            Self::Unknown(None) => f.write_str("unknown"),
        }
    }
}

impl From<Death> for Cause {
    fn from(death: Death) -> Self {
        match death {
            Death::StackOverflow => Self::StackOverflow,
            Death::Memory => Self::Memory,
            Death::CpuTime => Self::CpuTime,
        }
    }
}
