//! The worker's end of its channel: a Unix socket on standard input, blocking, one frame at a time.
//!
//! A worker whose channel fails has nobody to talk to, so it simply ends.

use std::io::{IoSliceMut, Read, Write};
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;

use rustix::net::{RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, recvmsg};

use super::protocol::{FromWorker, HEADER_BYTES, ToWorker};

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

    /// Receives the first frame and the descriptor that comes with it.
    pub fn receive_with_descriptor(&mut self) -> (ToWorker, OwnedFd) {
        let mut header = [0; HEADER_BYTES];
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut ancillary = RecvAncillaryBuffer::new(&mut space);
        let received =
            recvmsg(&self.stream, &mut [IoSliceMut::new(&mut header)], &mut ancillary, RecvFlags::CMSG_CLOEXEC);
        // The header is the daemon's first write, far below what could arrive in parts.
        if !received.is_ok_and(|received| received.bytes == HEADER_BYTES) {
            Self::hang_up();
        }
        let mut descriptors = ancillary.drain().filter_map(|message| match message {
            RecvAncillaryMessage::ScmRights(descriptors) => Some(descriptors),
            _ => None,
        });
        let Some(descriptor) = descriptors.next().and_then(|mut descriptors| descriptors.next()) else {
            Self::hang_up();
        };
        (self.body(header), descriptor)
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
