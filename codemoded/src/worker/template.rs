#![expect(unsafe_code, reason = "forking is a raw system call")]
//! The template: a prepared, single-threaded process that forks workers and never runs a program.
//!
//! A forked worker is the daemon's own child (`CLONE_PARENT`), so the daemon reaps it and its death with the daemon
//! is armed as for any other. The template's channel carries one byte and one descriptor per request, the new worker's
//! channel, and answers with the worker's process number.

use std::io::Write;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;

use super::channel::Channel;
use super::child::Prepared;
use super::pages;
use super::sandbox;

/// Forks a worker for each channel that comes in, until the daemon hangs up.
pub(super) fn serve(prepared: &Prepared, channel: Channel) -> ! {
    let mut channel = channel.into_stream();
    pages::hand_down();
    loop {
        let Some(theirs) = Channel::receive_descriptor(&channel) else { Channel::hang_up() };
        match fork() {
            Forked::Worker => {
                drop(channel);
                become_worker(prepared, theirs)
            }
            Forked::Template(worker) => {
                drop(theirs);
                if channel.write_all(&worker.to_le_bytes()).is_err() {
                    Channel::hang_up();
                }
            }
        }
    }
}

fn become_worker(prepared: &Prepared, channel: OwnedFd) -> ! {
    if !sandbox::die_with_parent(prepared.parent()) {
        Channel::hang_up();
    }
    // Memory that the template wrote to is copied when a worker first writes to it: better now than during its program.
    prepared.warm_up();
    match sandbox::replace_channel(channel) {
        Ok(channel) => prepared.serve(Channel::new(UnixStream::from(channel))),
        Err(_) => Channel::hang_up(),
    }
}

enum Forked {
    Worker,
    /// The new worker's process number; negative where there is none.
    Template(i32),
}

fn fork() -> Forked {
    // Each argument is a whole register to the kernel.
    const NONE: libc::c_long = 0;
    let flags = libc::c_long::from(libc::CLONE_PARENT | libc::SIGCHLD);
    // SAFETY: this process has one thread, so the copy finds every lock free and every invariant whole.
    let forked = unsafe { libc::syscall(libc::SYS_clone, flags, NONE, NONE, NONE, NONE) };
    match i32::try_from(forked) {
        Ok(0) => Forked::Worker,
        Ok(number) => Forked::Template(number),
        Err(_) => Forked::Template(-1),
    }
}
