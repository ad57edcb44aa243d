//! Standard output is the client's, or the operator's: what a plugin prints goes to standard error instead.

#![expect(unsafe_code, reason = "no safe function of the standard library replaces a standard descriptor")]

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd};

/// Takes standard output away from everything else in the process, and gives it.
///
/// # Errors
/// One of the two standard descriptors is closed.
pub fn take_stdout() -> io::Result<File> {
    let taken = File::from(io::stdout().as_fd().try_clone_to_owned()?);
    let (errors, output) = (io::stderr().as_raw_fd(), io::stdout().as_raw_fd());
    // SAFETY: both descriptors are open for as long as the process lives, and nobody owns standard output as a value
    // that could be surprised: the standard library only ever borrows it.
    match unsafe { libc::dup2(errors, output) } {
        -1 => Err(io::Error::last_os_error()),
        _ => Ok(taken),
    }
}
