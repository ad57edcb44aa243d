#![expect(unsafe_code, reason = "mapping the catalog and watching a process cannot be written without it")]
//! Starting, killing and reaping worker processes.
//!
//! One thread, as old as the daemon, starts every worker: the parent-death signal fires when the thread that started
//! a child ends, and the runtime's own threads come and go. There is no hook between fork and exec: with one, the
//! cheap clone becomes a copy of the whole daemon's page tables. The child confines itself.

use std::io::{self, IoSlice, Read};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use rustix::mm::{MapFlags, ProtFlags, mmap};
use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, sendmsg};
use rustix::process::{Pid, PidfdFlags, Signal, WaitId, WaitIdOptions, pidfd_open, pidfd_send_signal, waitid};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
use tokio::sync::oneshot;

use super::child::{MARKER, TEMPLATE, WORKER};
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

/// A child process that is ours to kill and to reap, exactly once.
#[derive(Debug)]
pub(super) struct Process {
    pid: Pid,
    /// Taken when the process has been reaped.
    watch: Option<OwnedFd>,
}

#[derive(Debug)]
struct Request {
    outfit: Outfit,
    reply: oneshot::Sender<Result<(Process, UnixStream), SpawnError>>,
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
        let (requests, incoming) = mpsc::channel::<Request>();
        thread::Builder::new().name("spawner".into()).spawn(move || {
            let mut template = None;
            for Request { outfit, reply } in incoming {
                let spawned = match outfit.start {
                    Start::Exec => execute(WORKER, &outfit),
                    Start::Fork => fork(&mut template, &outfit),
                };
                // Where nobody waits any more, dropping what was started ends it.
                drop(reply.send(spawned));
            }
        })?;
        Ok(Self { requests, metrics })
    }

    pub(super) async fn spawn(&self, outfit: &Outfit) -> Result<(Process, UnixStream), SpawnError> {
        let (reply, answer) = oneshot::channel();
        let request = Request { outfit: outfit.clone(), reply };
        self.requests.send(request).map_err(|_| SpawnError::Gone)?;
        answer.await.map_err(|_| SpawnError::Gone)?
    }
}

/// Re-executes this program in a role and hands it its orders.
fn execute(role: &str, outfit: &Outfit) -> Result<(Process, UnixStream), SpawnError> {
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
    let process = Process::watch(Pid::from_child(&child)).map_err(SpawnError::Watch)?;
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
fn fork(template: &mut Option<Template>, outfit: &Outfit) -> Result<(Process, UnixStream), SpawnError> {
    if let Some(running) = template.as_mut().filter(|template| template.outfit.same_as(outfit))
        && let Ok(forked) = running.fork()
    {
        return Ok(forked);
    }
    let (process, channel) = execute(TEMPLATE, outfit)?;
    channel.set_read_timeout(Some(FORK_PATIENCE)).map_err(SpawnError::Channel)?;
    template.insert(Template { outfit: outfit.clone(), _process: process, channel }).fork().map_err(SpawnError::Fork)
}

impl Template {
    fn fork(&mut self) -> io::Result<(Process, UnixStream)> {
        let (ours, theirs) = UnixStream::pair()?;
        send_with_descriptor(&self.channel, &[0], theirs.as_fd())?;
        let mut number = [0; 4];
        self.channel.read_exact(&mut number)?;
        // A worker that has died already is still a child of ours, for nobody else reaps it.
        let pid = Pid::from_raw(i32::from_le_bytes(number)).filter(|_| i32::from_le_bytes(number) > 0);
        let process = Process::watch(pid.ok_or(io::ErrorKind::OutOfMemory)?)?;
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

impl Process {
    /// Takes charge of a child; where it cannot be watched it is ended.
    fn watch(pid: Pid) -> io::Result<Self> {
        match pidfd_open(pid, PidfdFlags::empty()) {
            Ok(watch) => Ok(Self { pid, watch: Some(watch) }),
            Err(error) => {
                // The child is not reaped yet, so its number cannot mean another process.
                let ended = rustix::process::kill_process(pid, Signal::KILL)
                    .and_then(|()| waitid(WaitId::Pid(pid), WaitIdOptions::EXITED).map(drop));
                if let Err(error) = ended {
                    tracing::warn!(%error, "cannot reap a worker that could not be watched");
                }
                Err(error.into())
            }
        }
    }

    pub(super) fn pid(&self) -> u32 {
        self.pid.as_raw_pid().cast_unsigned()
    }

    /// Waits until the process has ended, and reaps it.
    pub(super) async fn ended(&mut self) -> io::Result<ExitStatus> {
        let watch = self.watch.as_ref().ok_or(io::ErrorKind::NotFound)?;
        // SAFETY: the descriptor is owned by `self`, which outlives the registration and does not close it meanwhile.
        let registered = unsafe { AsyncFd::register_with_interest(watch.as_fd(), Interest::READABLE) }?;
        drop(registered.readable().await?);
        drop(registered);
        let status = reap(watch);
        self.watch = None;
        status
    }

    /// Kills the process; it is reaped in the background, and only then is `slot` dropped.
    pub(super) fn end(mut self, slot: impl Send + 'static) {
        let Some(watch) = &self.watch else { return };
        kill(watch);
        tokio::spawn(async move {
            if let Err(error) = self.ended().await {
                tracing::warn!(%error, "cannot reap a worker");
            }
            drop(slot);
        });
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        if let Some(watch) = self.watch.take() {
            kill(&watch);
            if let Err(error) = reap(&watch) {
                tracing::warn!(%error, "cannot reap a worker");
            }
        }
    }
}

fn kill(watch: &OwnedFd) {
    // The process is not reaped yet, so the only failure is that it has ended by itself.
    let _ = pidfd_send_signal(watch, Signal::KILL);
}

fn reap(watch: &OwnedFd) -> io::Result<ExitStatus> {
    let waited = waitid(WaitId::PidFd(watch.as_fd()), WaitIdOptions::EXITED)?;
    let status = waited.ok_or(io::ErrorKind::WouldBlock)?;
    // The raw form of wait(2): the code in the second byte, or the signal in the first.
    let raw = match (status.exit_status(), status.terminating_signal()) {
        (Some(code), _) => (code & 0xff) << 8,
        (None, Some(signal)) => signal & 0x7f,
        (None, None) => 0,
    };
    Ok(ExitStatus::from_raw(raw))
}

/// Maps a file for reading, for the rest of the process's life.
pub(super) fn map_for_ever(file: &OwnedFd) -> Option<&'static [u8]> {
    let length = usize::try_from(rustix::fs::fstat(file).ok()?.st_size).ok()?;
    // SAFETY: a new private mapping at an address of the kernel's choice; no existing memory is touched.
    let start = unsafe { mmap(std::ptr::null_mut(), length, ProtFlags::READ, MapFlags::PRIVATE, file, 0) }.ok()?;
    // SAFETY: the mapping has that length, is never unmapped, and its file is sealed against writing and shrinking.
    Some(unsafe { std::slice::from_raw_parts(start.cast::<u8>().cast_const(), length) })
}
