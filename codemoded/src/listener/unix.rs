//! A Unix socket of our own making.

use std::fs;
use std::io;
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt, chown};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};

use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType};

use super::MAX_WAITING;
use crate::config::SocketAccess;

/// The file of a socket; removed in the end, unless another one stands there by then.
#[derive(Debug)]
pub(super) struct Bound {
    path: PathBuf,
    inode: u64,
}

/// Binds a socket that nobody can connect to before its mode and group are what they shall be.
pub(super) fn bind(path: &Path, access: SocketAccess) -> io::Result<(UnixListener, Bound)> {
    remove_stale(path)?;
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = rustix::net::socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
    rustix::net::bind(&socket, &SocketAddrUnix::new(path)?)?;
    let bound = Bound { path: path.to_owned(), inode: path.symlink_metadata()?.ino() };
    if let Some(group) = access.group {
        chown(path, None, Some(group))?;
    }
    fs::set_permissions(path, fs::Permissions::from_mode(access.mode))?;
    // Until now every attempt to connect is refused.
    rustix::net::listen(&socket, MAX_WAITING)?;
    Ok((socket.into(), bound))
}

/// Removes what a daemon that was killed has left behind: a socket that nobody listens on.
fn remove_stale(path: &Path) -> io::Result<()> {
    let is_socket = path.symlink_metadata().is_ok_and(|found| found.file_type().is_socket());
    let refused =
        is_socket && UnixStream::connect(path).is_err_and(|error| error.kind() == io::ErrorKind::ConnectionRefused);
    if refused { fs::remove_file(path) } else { Ok(()) }
}

impl Drop for Bound {
    fn drop(&mut self) {
        let is_ours = self.path.symlink_metadata().is_ok_and(|found| found.ino() == self.inode);
        if is_ours && let Err(error) = fs::remove_file(&self.path) {
            tracing::warn!(path = %self.path.display(), %error, "the socket's file stays");
        }
    }
}
