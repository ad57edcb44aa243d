//! Trying a library in a child process: whatever it does there, the daemon goes on.
//!
//! The child is this executable again. It gets the sealed copy and the settings over a socket on its standard input,
//! says before each step what it is about to do, hands on what the library says of itself, and says at the end whether
//! the library can serve or why it cannot. So the parent knows, however the child ends, what the library was doing.
//!
//! A library that is to serve is tried as it will run: in the daemon's environment, with its settings, and started. One
//! that is only looked at is strange: its child has no environment, confines itself before it loads anything, and does
//! not start it.

mod child;
mod confinement;

pub use child::child_entry;

use std::io::{self, BufRead, BufReader, IoSlice, Read, Write};
use std::mem::MaybeUninit;
use std::net::Shutdown;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use codemode_plugin_api::descriptor::Descriptor;
use codemode_plugin_api::document::HostDocument;
use rustix::event::{PollFd, PollFlags};
use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags};
use rustix::process::{Pid, PidfdFlags};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::fault::{Phase, Reason, Refusal};
use super::image::Image;

/// The variable that tells this executable that it is a child, and which.
pub const CHILD_MARKER: &str = "_CODEMODE_CHILD";

/// The marker's value for a probe.
const PROBE: &str = "probe";

/// How long a library may take to load, describe itself, start and stop.
const TIME: Duration = Duration::from_secs(10);

/// The most that a child may say.
const MAX_SAID_BYTES: u64 = 256 << 20;

/// How far a trial goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Extent {
    /// The library says what it offers.
    Description,
    /// An instance starts and stops, too.
    Start,
}

/// What the child is asked to do with the library.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Order {
    /// To try it for an instance.
    Try(Trial),
    /// To ask it what it offers, confined.
    Inspect,
}

/// One instance, beside its library.
#[derive(Debug, Serialize, Deserialize)]
struct Trial {
    extent: Extent,
    settings: Value,
    host: HostDocument,
}

/// What the child says, one line of JSON each.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Message {
    /// What it is about to do.
    Phase(Phase),
    /// What the library offers, in so many bytes, which follow. They are as the library gave them: to read and to write
    /// them once more would take longer than all the rest where there are many.
    Described { bytes: u64 },
    /// The last message: whether the library can serve, or why it cannot.
    End(Result<(), Vec<Refusal>>),
}

/// What a child has said.
#[derive(Debug)]
struct Said {
    /// How far it came.
    phase: Phase,
    described: Option<Result<Descriptor, Reason>>,
    end: Option<Result<(), Vec<Refusal>>>,
}

/// Tries a library with the settings of one instance, and gives what it says of itself.
pub(super) fn run(
    executable: &Path,
    image: &Image,
    extent: Extent,
    settings: &Value,
    host: &HostDocument,
) -> Result<Descriptor, Vec<Refusal>> {
    carry_out(executable, image, &Order::Try(Trial { extent, settings: settings.clone(), host: host.clone() }))
}

/// Asks a strange library what it offers, in a child that cannot do anything else.
pub(super) fn inspect(executable: &Path, image: &Image) -> Result<Descriptor, Vec<Refusal>> {
    carry_out(executable, image, &Order::Inspect)
}

fn carry_out(executable: &Path, image: &Image, order: &Order) -> Result<Descriptor, Vec<Refusal>> {
    let deadline = Instant::now() + TIME;
    let no_child = |error: io::Error| vec![Reason::NoChild(error.to_string()).into()];
    let (mut socket, theirs) = UnixStream::pair().map_err(no_child)?;
    let mut child = Reaped(spawn(executable, theirs.into(), order).map_err(no_child)?);
    let order = serde_json::to_vec(order).map_err(|error| no_child(error.into()))?;
    // A child that is already gone has its reason in its exit.
    drop(send(&mut socket, image, &order, deadline));
    let said = listen(socket, deadline);
    match (said.described, said.end) {
        (Some(Err(reason)), _) => Err(vec![reason.into()]),
        (_, Some(Err(refusals))) => Err(refusals),
        (Some(Ok(descriptor)), Some(Ok(()))) => Ok(descriptor),
        (_, _) => match child.exit(deadline).map_err(no_child)? {
            Some(status) => Err(vec![ended(status, said.phase).into()]),
            None => Err(vec![Reason::TimedOut { phase: said.phase, seconds: TIME.as_secs() }.into()]),
        },
    }
}

fn spawn(executable: &Path, socket: OwnedFd, order: &Order) -> io::Result<Child> {
    let mut command = Command::new(executable);
    match order {
        // What a library prints belongs into the log: the daemon's standard output may be a protocol.
        Order::Try(_) => command.stdout(io::stderr().as_fd().try_clone_to_owned()?),
        // What a strange one prints would reach a terminal.
        Order::Inspect => command.env_clear().current_dir("/").stdout(Stdio::null()).stderr(Stdio::null()),
    };
    command.arg0("codemoded-probe").env(CHILD_MARKER, PROBE).stdin(Stdio::from(socket)).spawn()
}

fn send(socket: &mut UnixStream, image: &Image, order: &[u8], deadline: Instant) -> io::Result<()> {
    socket.set_write_timeout(Some(time_left(deadline)))?;
    let descriptors = [image.as_fd()];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    control.push(SendAncillaryMessage::ScmRights(&descriptors));
    rustix::net::sendmsg(&*socket, &[IoSlice::new(b"\n")], &mut control, SendFlags::NOSIGNAL)?;
    socket.write_all(order)?;
    socket.shutdown(Shutdown::Write)
}

/// Reads until the end: what the child says is the last, the child's own, or the deadline.
fn listen(socket: UnixStream, deadline: Instant) -> Said {
    let mut said = Said { phase: Phase::Enter, described: None, end: None };
    let mut lines = BufReader::new(Until { socket, deadline }.take(MAX_SAID_BYTES));
    let mut line = Vec::new();
    loop {
        line.clear();
        match lines.read_until(b'\n', &mut line) {
            Ok(length) if length > 0 => {}
            Ok(_) | Err(_) => return said,
        }
        match serde_json::from_slice(&line) {
            Ok(Message::Phase(next)) => said.phase = next,
            Ok(Message::Described { bytes }) => {
                let Ok(description) = exactly(&mut lines, bytes.min(MAX_SAID_BYTES)) else { return said };
                // Read while the child goes on.
                let described = said.described.insert(read_description(&description));
                if described.is_err() {
                    return said;
                }
            }
            Ok(Message::End(end)) => {
                said.end = Some(end);
                return said;
            }
            // Half a line: the child was cut off.
            Err(_) => return said,
        }
    }
}

fn exactly(from: &mut impl Read, bytes: u64) -> io::Result<Vec<u8>> {
    let mut all = Vec::with_capacity(usize::try_from(bytes).map_err(io::Error::other)?);
    from.take(bytes).read_to_end(&mut all)?;
    if all.len() as u64 == bytes { Ok(all) } else { Err(io::ErrorKind::UnexpectedEof.into()) }
}

fn read_description<'a, T: Deserialize<'a>>(json: &'a [u8]) -> Result<T, Reason> {
    serde_json::from_slice(json).map_err(|error| Reason::NoDescription(error.to_string()))
}

fn ended(status: ExitStatus, phase: Phase) -> Reason {
    match (status.signal(), status.code()) {
        (Some(signal), _) => Reason::Crashed { phase, signal: signal_name(signal) },
        (None, code) => Reason::Exited { phase, status: code.unwrap_or_default() },
    }
}

fn signal_name(signal: i32) -> String {
    let name = match signal {
        4 => "SIGILL",
        5 => "SIGTRAP",
        6 => "SIGABRT",
        7 => "SIGBUS",
        8 => "SIGFPE",
        9 => "SIGKILL",
        11 => "SIGSEGV",
        15 => "SIGTERM",
        31 => "SIGSYS",
        other => return format!("signal {other}"),
    };
    name.to_owned()
}

fn time_left(deadline: Instant) -> Duration {
    // Zero means no time-out at all to a socket.
    deadline.saturating_duration_since(Instant::now()).max(Duration::from_millis(1))
}

/// A socket that reads until a deadline.
struct Until {
    socket: UnixStream,
    deadline: Instant,
}

impl Read for Until {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if Instant::now() >= self.deadline {
            return Err(io::ErrorKind::TimedOut.into());
        }
        self.socket.set_read_timeout(Some(time_left(self.deadline)))?;
        self.socket.read(buffer)
    }
}

/// A child that is killed and reaped when it is dropped: what it still had to do after its last message is of no use.
struct Reaped(Child);

impl Reaped {
    /// How it ended by itself; nothing where it had not by the deadline.
    fn exit(&mut self, deadline: Instant) -> io::Result<Option<ExitStatus>> {
        let process = rustix::process::pidfd_open(Pid::from_child(&self.0), PidfdFlags::empty())?;
        let time_left = time_left(deadline);
        let time_left = rustix::event::Timespec {
            tv_sec: time_left.as_secs().try_into().unwrap_or(i64::MAX),
            tv_nsec: time_left.subsec_nanos().into(),
        };
        // Interrupted or timed out, the answer is in the child's state.
        let _ended = rustix::event::poll(&mut [PollFd::new(&process, PollFlags::IN)], Some(&time_left));
        self.0.try_wait()
    }
}

impl Drop for Reaped {
    fn drop(&mut self) {
        // Both fail only for a child that is already reaped.
        drop(self.0.kill());
        drop(self.0.wait());
    }
}
