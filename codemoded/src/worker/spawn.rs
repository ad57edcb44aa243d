#![expect(unsafe_code, reason = "mapping the catalog cannot be written without it")]
//! Starting worker processes.
//!
//! One thread, as old as the daemon, starts every worker: the parent-death signal fires when the thread that started
//! a child ends, and the runtime's own threads come and go. There is no hook between fork and exec: with one, the
//! cheap clone becomes a copy of the whole daemon's page tables. The child confines itself.

use std::io::{self, IoSlice, Read};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use rustix::mm::{MapFlags, ProtFlags, mmap};
use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, sendmsg};
use rustix::process::Pid;
use tokio::sync::oneshot;

use super::child::{MARKER, TEMPLATE, WORKER};
use super::process::{Process, Watched};
use super::protocol::{Orders, ToWorker};
use super::{Outfit, Start};
use crate::metrics::Metrics;

/// How long a template may take to fork; it does nothing else.
const FORK_PATIENCE: Duration = Duration::from_secs(5);

/// Starts workers, one after another, on a thread of its own.
#[derive(Clone, Debug)]
pub struct Spawner {
    requests: mpsc::Sender<Request>,
    pub(super) metrics: Metrics,
}

/// A worker could not be started.
#[derive(Debug, thiserror::Error)]
pub enum SpawnError {
    #[error("the spawning thread is gone")]
    Gone,
    #[error("cannot make the worker's channel")]
    Channel(#[source] io::Error),
    #[error("cannot execute the worker")]
    Execute(#[source] io::Error),
    #[error("cannot watch the worker")]
    Watch(#[source] io::Error),
    #[error("cannot hand the worker its orders")]
    Hand(#[source] io::Error),
    #[error("the template cannot fork a worker")]
    Fork(#[source] io::Error),
}

#[derive(Debug)]
enum Request {
    Spawn {
        outfit: Outfit,
        reply: oneshot::Sender<Result<(Process, UnixStream), SpawnError>>,
    },
    /// Workers with this catalog are not kept ready any longer.
    Retire(Arc<OwnedFd>),
}

/// What the thread keeps.
#[derive(Default)]
struct Starter {
    watched: Watched,
    template: Option<Template>,
}

/// A prepared process that forks workers of one outfit.
struct Template {
    outfit: Outfit,
    /// Dropping it ends the template.
    _process: Process,
    channel: UnixStream,
}

impl Spawner {
    /// Starts the thread.
    pub fn start(metrics: Metrics) -> io::Result<Self> {
        let (requests, incoming) = mpsc::channel();
        thread::Builder::new().name("spawner".into()).spawn(move || {
            let mut starter = Starter::default();
            for request in incoming {
                match request {
                    // Where nobody waits any more, dropping what was started ends it.
                    Request::Spawn { outfit, reply } => drop(reply.send(starter.spawn(&outfit))),
                    Request::Retire(manifest) => starter.retire(&manifest),
                }
            }
        })?;
        Ok(Self { requests, metrics })
    }

    pub(super) async fn spawn(&self, outfit: &Outfit) -> Result<(Process, UnixStream), SpawnError> {
        let (reply, answer) = oneshot::channel();
        let request = Request::Spawn { outfit: outfit.clone(), reply };
        self.requests.send(request).map_err(|_| SpawnError::Gone)?;
        answer.await.map_err(|_| SpawnError::Gone)?
    }

    /// Ends the template of this outfit, once what was asked for before has been started.
    pub(super) fn retire(&self, outfit: &Outfit) {
        // A thread that is gone has taken its template with it.
        let _ = self.requests.send(Request::Retire(Arc::clone(&outfit.manifest)));
    }
}

impl Starter {
    fn spawn(&mut self, outfit: &Outfit) -> Result<(Process, UnixStream), SpawnError> {
        match outfit.start {
            Start::Exec => self.execute(WORKER, outfit),
            Start::Fork => self.fork(outfit),
        }
    }

    /// Re-executes this program in a role and hands it its orders.
    fn execute(&self, role: &str, outfit: &Outfit) -> Result<(Process, UnixStream), SpawnError> {
        let (ours, theirs) = UnixStream::pair().map_err(SpawnError::Channel)?;
        let child = Command::new("/proc/self/exe")
            .arg0(format!("codemoded-{role}"))
            .env_clear()
            .env(MARKER, role)
            .current_dir("/")
            .stdin(OwnedFd::from(theirs))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .map_err(SpawnError::Execute)?;
        let process = self.watched.watch(Pid::from_child(&child)).map_err(SpawnError::Watch)?;
        let orders = Orders {
            budgets: outfit.budgets,
            confine: outfit.confine,
            discovers: outfit.discovers,
            parent: std::process::id(),
        };
        let frame = ToWorker::Prepare(orders).encode();
        send_with_descriptor(&ours, &frame, outfit.manifest.as_fd()).map_err(SpawnError::Hand)?;
        Ok((process, ours))
    }

    /// Has the template fork a worker; starts a template where there is none for this outfit, or where it has died.
    fn fork(&mut self, outfit: &Outfit) -> Result<(Process, UnixStream), SpawnError> {
        if let Some(template) = self.template.as_mut().filter(|template| template.outfit.same_as(outfit))
            && let Ok(forked) = template.fork(&self.watched)
        {
            return Ok(forked);
        }
        // What it may answer yet would be taken for the answer to the next question.
        self.end_template();
        let (process, channel) = self.execute(TEMPLATE, outfit)?;
        channel.set_read_timeout(Some(FORK_PATIENCE)).map_err(SpawnError::Channel)?;
        let template = Template { outfit: outfit.clone(), _process: process, channel };
        let forked = self.template.insert(template).fork(&self.watched);
        if forked.is_err() {
            self.end_template();
        }
        forked.map_err(SpawnError::Fork)
    }

    fn retire(&mut self, manifest: &Arc<OwnedFd>) {
        if self.template.as_ref().is_some_and(|template| Arc::ptr_eq(&template.outfit.manifest, manifest)) {
            self.end_template();
        }
    }

    /// A worker that it has forked and not told of is this thread's child, and goes with it.
    fn end_template(&mut self) {
        if let Some(template) = self.template.take() {
            drop(template);
            self.watched.end_others();
        }
    }
}

impl Template {
    fn fork(&mut self, watched: &Watched) -> io::Result<(Process, UnixStream)> {
        let (ours, theirs) = UnixStream::pair()?;
        send_with_descriptor(&self.channel, &[0], theirs.as_fd())?;
        let mut number = [0; 4];
        self.channel.read_exact(&mut number)?;
        // A worker that has died already is still a child of ours, for nobody else reaps it.
        let pid = Pid::from_raw(i32::from_le_bytes(number)).filter(|_| i32::from_le_bytes(number) > 0);
        let process = watched.watch(pid.ok_or(io::ErrorKind::OutOfMemory)?)?;
        Ok((process, ours))
    }
}

fn send_with_descriptor(channel: &UnixStream, bytes: &[u8], descriptor: BorrowedFd<'_>) -> io::Result<()> {
    let descriptors = [descriptor];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut ancillary = SendAncillaryBuffer::new(&mut space);
    ancillary.push(SendAncillaryMessage::ScmRights(&descriptors));
    let sent = sendmsg(channel, &[IoSlice::new(bytes)], &mut ancillary, SendFlags::NOSIGNAL)?;
    if sent == bytes.len() { Ok(()) } else { Err(io::ErrorKind::WriteZero.into()) }
}

/// Maps a file for reading, for the rest of the process's life.
pub(super) fn map_for_ever(file: &OwnedFd) -> Option<&'static [u8]> {
    let length = usize::try_from(rustix::fs::fstat(file).ok()?.st_size).ok()?;
    // SAFETY: a new private mapping at an address of the kernel's choice; no existing memory is touched.
    let start = unsafe { mmap(std::ptr::null_mut(), length, ProtFlags::READ, MapFlags::PRIVATE, file, 0) }.ok()?;
    // SAFETY: the mapping has that length, is never unmapped, and its file is sealed against writing and shrinking.
    Some(unsafe { std::slice::from_raw_parts(start.cast::<u8>().cast_const(), length) })
}
