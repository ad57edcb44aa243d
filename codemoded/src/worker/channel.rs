//! The worker's end of its channel: a Unix socket on standard input, blocking, one frame at a time.
//!
//! A worker whose channel fails has nobody to talk to, so it simply ends.

use std::io::{IoSliceMut, Read, Write};
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;

use rustix::net::{RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, recvmsg};

use super::protocol::{FromWorker, HEADER_BYTES, Orders, ToWorker};

/// The channel to the daemon.
#[derive(Debug)]
pub struct Channel {
    stream: UnixStream,
}

impl Channel {
    pub fn new(stream: UnixStream) -> Self {
        Self { stream }
    }

    pub fn send(&mut self, frame: &FromWorker) {
        if self.stream.write_all(&frame.encode()).is_err() {
            Self::hang_up();
        }
    }

    pub fn receive(&mut self) -> ToWorker {
        let mut header = [0; HEADER_BYTES];
        if self.stream.read_exact(&mut header).is_err() {
            Self::hang_up();
        }
        self.body(header)
    }

    /// Receives the orders and the descriptor of the catalog's map that comes with them.
    pub(super) fn receive_orders(&mut self) -> (Orders, OwnedFd) {
        let mut header = [0; HEADER_BYTES];
        let Some(map) = receive_with_descriptor(&self.stream, &mut header) else { Self::hang_up() };
        match self.body(header) {
            ToWorker::Prepare(orders) => (orders, map),
            ToWorker::Program(_) | ToWorker::Answer { .. } | ToWorker::Shown(_) => Self::hang_up(),
        }
    }

    /// Receives one byte and the descriptor that comes with it; nothing where the other end has hung up.
    pub(super) fn receive_descriptor(stream: &UnixStream) -> Option<OwnedFd> {
        receive_with_descriptor(stream, &mut [0])
    }

    pub(super) fn into_stream(self) -> UnixStream {
        self.stream
    }

    /// Ends the worker: the daemon is gone, or has said what it never says.
    pub fn hang_up() -> ! {
        std::process::exit(1)
    }

    fn body(&mut self, header: [u8; HEADER_BYTES]) -> ToWorker {
        let mut body = vec![0; u32::from_le_bytes(header) as usize];
        if self.stream.read_exact(&mut body).is_err() {
            Self::hang_up();
        }
        ToWorker::decode(&body).unwrap_or_else(|_| Self::hang_up())
    }
}

/// Fills `bytes` and takes the descriptor that comes with them. A message this short never arrives in parts.
fn receive_with_descriptor(stream: &UnixStream, bytes: &mut [u8]) -> Option<OwnedFd> {
    let wanted = bytes.len();
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut ancillary = RecvAncillaryBuffer::new(&mut space);
    let received = recvmsg(stream, &mut [IoSliceMut::new(bytes)], &mut ancillary, RecvFlags::CMSG_CLOEXEC).ok()?;
    let mut descriptors = ancillary.drain().filter_map(|message| match message {
        RecvAncillaryMessage::ScmRights(mut descriptors) => descriptors.next(),
        _ => None,
    });
    descriptors.next().filter(|_| received.bytes == wanted)
}
