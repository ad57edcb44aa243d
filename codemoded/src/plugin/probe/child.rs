//! The child's side of a probe.

#![expect(unsafe_code, reason = "an instance is ended by a function whose promises the compiler cannot see")]

use std::env;
use std::io::{self, IoSliceMut, Read, Write};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::process::ExitCode;

use abi_stable::std_types::{RSlice, RVec};
use codemode_plugin_api::abi::{InstanceHandle, PluginRootRef};
use rustix::net::{RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags};
use rustix::process::{Resource, Rlimit, Signal};
use serde::Deserialize;
use serde_json::Value;

use super::{CHILD_MARKER, Extent, Message, Order, PROBE, Trial, confinement, read_description};
use crate::plugin::fault::{Phase, Reason, Refusal};
use crate::plugin::image::Image;
use crate::plugin::{library, settings};

/// Does a probe's work where this process is one. `main` asks before it does anything else.
pub fn child_entry() -> Option<ExitCode> {
    if env::var_os(CHILD_MARKER)? != PROBE {
        return None;
    }
    Some(match serve() {
        Ok(()) => ExitCode::SUCCESS,
        Err(_nobody_listens) => ExitCode::FAILURE,
    })
}

fn serve() -> io::Result<()> {
    // The daemon kills a probe, but a daemon that is itself killed cannot.
    rustix::process::set_parent_process_death_signal(Some(Signal::KILL))?;
    rustix::process::setrlimit(Resource::Core, Rlimit { current: Some(0), maximum: Some(0) })?;
    let mut socket = UnixStream::from(io::stdin().as_fd().try_clone_to_owned()?);
    let image = receive(&socket)?;
    let mut order = Vec::new();
    socket.read_to_end(&mut order)?;
    let end = match serde_json::from_slice(&order)? {
        Order::Try(trial) => attempt(&mut socket, &image, &trial),
        Order::Inspect => look(&mut socket, &image),
    };
    tell(&mut socket, &Message::End(end))
}

fn look(socket: &mut UnixStream, image: &Image) -> Result<(), Vec<Refusal>> {
    confinement::put_on().map_err(|error| only(Reason::NotConfined(error.to_string())))?;
    describe(socket, image).map(drop)
}

/// Loads a library, asks it what it offers, and says so.
fn describe(socket: &mut UnixStream, image: &Image) -> Result<(PluginRootRef, RVec<u8>), Vec<Refusal>> {
    enter(socket, Phase::Load);
    let root = library::load(image).map_err(only)?;
    enter(socket, Phase::Describe);
    let description = library::describe(root).map_err(only)?;
    // A parent that does not listen has killed this process.
    drop(tell(socket, &Message::Described { bytes: description.len() as u64 }));
    drop(socket.write_all(&description));
    Ok((root, description))
}

fn attempt(socket: &mut UnixStream, image: &Image, trial: &Trial) -> Result<(), Vec<Refusal>> {
    /// All of a description that counts here.
    #[derive(Deserialize)]
    struct Described {
        settings: Value,
    }
    let (root, description) = describe(socket, image)?;
    if trial.extent == Extent::Description {
        return Ok(());
    }
    enter(socket, Phase::Settings);
    let described: Described = read_description(&description).map_err(only)?;
    drop(description);
    settings::check(&described.settings, &trial.settings)?;
    enter(socket, Phase::Start);
    let instance = create(root, trial).map_err(only)?;
    enter(socket, Phase::Stop);
    let destroy = root.destroy();
    // SAFETY: the instance was just created by this library, nothing was asked of it, and it is not used again.
    unsafe { destroy(instance) };
    Ok(())
}

fn only(reason: Reason) -> Vec<Refusal> {
    vec![reason.into()]
}

fn create(root: PluginRootRef, trial: &Trial) -> Result<InstanceHandle, Reason> {
    let json = |value: serde_json::Result<Vec<u8>>| value.map_err(|error| Reason::NotStarted(error.to_string()));
    let settings = json(serde_json::to_vec(&trial.settings))?;
    let host = json(serde_json::to_vec(&trial.host))?;
    let created = root.create()(RSlice::from_slice(&settings), RSlice::from_slice(&host));
    created.into_result().map_err(|error| Reason::not_started(library::read_error(&error)))
}

fn receive(socket: &UnixStream) -> io::Result<Image> {
    let mut byte = [0];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    rustix::net::recvmsg(socket, &mut [IoSliceMut::new(&mut byte)], &mut control, RecvFlags::CMSG_CLOEXEC)?;
    let received: Option<OwnedFd> = control.drain().find_map(|message| match message {
        RecvAncillaryMessage::ScmRights(mut descriptors) => descriptors.next(),
        _ => None,
    });
    received.map(Image::received).ok_or_else(|| io::ErrorKind::InvalidData.into())
}

fn enter(socket: &mut UnixStream, phase: Phase) {
    // A parent that does not listen has killed this process.
    drop(tell(socket, &Message::Phase(phase)));
}

fn tell(socket: &mut UnixStream, message: &Message) -> io::Result<()> {
    let mut line = serde_json::to_vec(message)?;
    line.push(b'\n');
    socket.write_all(&line)
}
