//! The daemon's end of a worker's channel: whole frames, each bounded before it is read.

use std::io;
use std::os::unix::net::UnixStream as StdUnixStream;

use bytes::{Buf, Bytes, BytesMut};
use rustix::net::RecvFlags;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixStream;

use super::WorkerFault;
use super::protocol::{HEADER_BYTES, ProtocolError, body_length};

/// What any worker may send, however small its values are kept: one error text.
pub(super) const LEAST_FRAME: usize = 4_096;

#[derive(Debug)]
pub(super) struct Pipe {
    stream: UnixStream,
    received: BytesMut,
    /// What the worker has not taken yet.
    outgoing: BytesMut,
    largest_frame: usize,
}

impl Pipe {
    pub(super) fn new(stream: StdUnixStream, largest_frame: usize) -> io::Result<Self> {
        stream.set_nonblocking(true)?;
        Ok(Self {
            stream: UnixStream::from_std(stream)?,
            received: BytesMut::new(),
            outgoing: BytesMut::new(),
            largest_frame,
        })
    }

    /// Never waits: what does not fit goes out while [`Self::receive`] waits, for the worker may be writing as well and
    /// not read before that is taken. How much there can be is bounded by what calls may answer.
    pub(super) fn send(&mut self, frame: &[u8]) {
        let taken = if self.outgoing.is_empty() { self.stream.try_write(frame).unwrap_or_default() } else { 0 };
        self.outgoing.extend_from_slice(frame.get(taken..).unwrap_or_default());
    }

    /// Whether the other end has hung up, as far as can be told without waiting.
    pub(super) fn is_closed(&self) -> bool {
        let mut byte = [0];
        let peeked = rustix::net::recv(&self.stream, &mut byte, RecvFlags::PEEK | RecvFlags::DONTWAIT);
        !matches!(peeked, Ok((1.., _)) | Err(rustix::io::Errno::AGAIN))
    }

    /// The body of the next frame. What has been read stays here when the future is dropped.
    pub(super) async fn receive(&mut self) -> Result<Bytes, WorkerFault> {
        loop {
            if let Some(header) = self.received.first_chunk::<HEADER_BYTES>() {
                let length = body_length(*header, self.largest_frame).map_err(WorkerFault::Protocol)?;
                if self.received.len() >= HEADER_BYTES + length {
                    self.received.advance(HEADER_BYTES);
                    return Ok(self.received.split_to(length).freeze());
                }
                self.received.reserve(HEADER_BYTES + length - self.received.len());
            }
            match self.exchange().await {
                Ok(0) if self.received.is_empty() => return Err(WorkerFault::HungUp),
                Ok(0) => return Err(WorkerFault::Protocol(ProtocolError::Malformed)),
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::ConnectionReset => return Err(WorkerFault::HungUp),
                Err(error) => return Err(WorkerFault::Channel(error)),
            }
        }
    }

    /// Reads what there is, and writes until then. Dropping the future loses nothing.
    async fn exchange(&mut self) -> io::Result<usize> {
        let (mut read, mut write) = self.stream.split();
        while !self.outgoing.is_empty() {
            tokio::select! {
                count = read.read_buf(&mut self.received) => return count,
                written = write.write_buf(&mut self.outgoing) => if written.is_err() {
                    // It no longer reads; what it has said before may still be there.
                    self.outgoing.clear();
                },
            }
        }
        read.read_buf(&mut self.received).await
    }
}
