//! The journal's native protocol: one datagram a line, so that no library of systemd's is linked.

use std::fmt;
use std::io::{self, IoSlice, Write};
use std::os::fd::AsFd;
use std::os::unix::net::UnixDatagram;
use std::path::Path;

use rustix::io::Errno;
use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags};

use crate::sealed;

const SOCKET: &str = "/run/systemd/journal/socket";

/// Fields of every entry. `journalctl -t codemoded-audit -o cat` gives the lines back.
const FIELDS: &[u8] = b"SYSLOG_IDENTIFIER=codemoded-audit\nPRIORITY=6\nMESSAGE=";

/// A socket to the journal. Each write takes one line.
pub(super) struct Journal(UnixDatagram);

impl Journal {
    pub(super) fn open() -> io::Result<Self> {
        Self::at(Path::new(SOCKET))
    }

    pub(super) fn at(path: &Path) -> io::Result<Self> {
        let socket = UnixDatagram::unbound()?;
        socket.connect(path)?;
        Ok(Self(socket))
    }

    /// What is too large for a datagram goes in a sealed memory file.
    fn send_large(&self, entry: &[u8]) -> io::Result<()> {
        let file = sealed::file("audit", entry)?;
        let descriptors = [file.as_fd()];
        let mut space = [std::mem::MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut ancillary = SendAncillaryBuffer::new(&mut space);
        ancillary.push(SendAncillaryMessage::ScmRights(&descriptors));
        rustix::net::sendmsg(&self.0, &[IoSlice::new(b"")], &mut ancillary, SendFlags::NOSIGNAL)?;
        Ok(())
    }
}

impl Write for Journal {
    fn write(&mut self, lines: &[u8]) -> io::Result<usize> {
        let line = lines.split_inclusive(|byte| *byte == b'\n').next().unwrap_or_default();
        let entry = [FIELDS, line].concat();
        match self.0.send(&entry) {
            Ok(_) => Ok(line.len()),
            Err(error) if Errno::from_io_error(&error) == Some(Errno::MSGSIZE) => {
                self.send_large(&entry).map(|()| line.len())
            }
            Err(error) => Err(error),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl fmt::Debug for Journal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Journal").finish_non_exhaustive()
    }
}
