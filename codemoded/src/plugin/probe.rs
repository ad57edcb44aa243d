//! Trying a library in a child process: whatever it does there, the daemon goes on.
//!
//! The child is this executable again. It gets the sealed copy and the settings over a socket on its standard input,
//! says before each step what it is about to do, and at the end what the library offers or why it cannot serve. So the
//! parent knows, however the child ends, what the library was doing.
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
    /// The last message.
    End(End),
}

/// What the library offers, or why it cannot serve.
type End = Result<Box<Descriptor>, Vec<Refusal>>;

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
    let sent = send(&mut socket, image, &order, deadline);
    let (phase, end) = listen(socket, deadline);
    match (end, sent) {
        (Some(end), _) => end.map(|descriptor| *descriptor),
        (None, _) => match child.exit(deadline).map_err(no_child)? {
            Some(status) => Err(vec![ended(status, phase).into()]),
            None => Err(vec![Reason::TimedOut { phase, seconds: TIME.as_secs() }.into()]),
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

/// Reads until the end, the child's or the deadline's: how far it came, and its last message if it gave one.
fn listen(socket: UnixStream, deadline: Instant) -> (Phase, Option<End>) {
    let mut phase = Phase::Enter;
    let mut lines = BufReader::new(Until { socket, deadline }.take(MAX_SAID_BYTES));
    let mut line = Vec::new();
    loop {
        line.clear();
        match lines.read_until(b'\n', &mut line) {
            Ok(length) if length > 0 => {}
            Ok(_) | Err(_) => return (phase, None),
        }
        match serde_json::from_slice(&line) {
            Ok(Message::Phase(next)) => phase = next,
            Ok(Message::End(end)) => return (phase, Some(end)),
            // Half a line: the child was cut off.
            Err(_) => return (phase, None),
        }
    }
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
