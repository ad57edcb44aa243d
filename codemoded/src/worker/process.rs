#![expect(unsafe_code, reason = "a process is watched through a descriptor that is owned elsewhere")]
//! A worker's process: watched, killed, and reaped exactly once.

use std::collections::HashSet;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rustix::process::{
    Pid, PidfdFlags, Signal, WaitId, WaitIdOptions, kill_process, pidfd_open, pidfd_send_signal, waitid,
};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
use tokio::runtime::Handle;

/// A child that is ours to kill and to reap. Dropping it does both, and where there is a runtime nobody waits for that.
#[derive(Debug)]
pub(super) struct Process {
    pid: Pid,
    /// Taken when the process has been reaped.
    child: Option<Child>,
}

/// A child that is not reaped yet. Dropping it waits for its end.
#[derive(Debug)]
struct Child {
    pid: Pid,
    watch: OwnedFd,
    watched: Watched,
    is_reaped: bool,
}

/// The children of one thread that somebody will reap.
#[derive(Clone, Debug, Default)]
pub(super) struct Watched(Arc<Mutex<HashSet<Pid>>>);

impl Watched {
    /// Takes charge of a child; where it cannot be watched it is ended.
    pub(super) fn watch(&self, pid: Pid) -> io::Result<Process> {
        match pidfd_open(pid, PidfdFlags::empty()) {
            Ok(watch) => {
                self.lock().insert(pid);
                let child = Child { pid, watch, watched: self.clone(), is_reaped: false };
                Ok(Process { pid, child: Some(child) })
            }
            Err(error) => {
                end_unwatched(pid);
                Err(error.into())
            }
        }
    }

    /// Ends the calling thread's children that nobody watches. It is the thread that takes charge of all the others.
    pub(super) fn end_others(&self) {
        let others: Vec<_> = {
            // Nobody reaps meanwhile, so a child that is watched is known as such.
            let watched = self.lock();
            // A kernel that does not list them leaves such a child for as long as the daemon lives.
            let children = std::fs::read_to_string("/proc/thread-self/children").unwrap_or_default();
            let children = children.split_whitespace().filter_map(|pid| Pid::from_raw(pid.parse().ok()?));
            children.filter(|pid| !watched.contains(pid)).collect()
        };
        others.into_iter().for_each(end_unwatched);
    }

    fn lock(&self) -> MutexGuard<'_, HashSet<Pid>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Process {
    pub(super) fn pid(&self) -> u32 {
        self.pid.as_raw_pid().cast_unsigned()
    }

    /// Waits until the process has ended, and reaps it.
    pub(super) async fn ended(&mut self) -> io::Result<ExitStatus> {
        let child = self.child.as_mut().ok_or(io::ErrorKind::NotFound)?;
        let status = child.ended().await;
        drop(self.child.take_if(|child| child.is_reaped));
        status
    }

    /// Kills the process; it is reaped in the background, and only then is `slot` dropped.
    pub(super) fn end(mut self, slot: impl Send + 'static) {
        self.kill_and_reap(slot);
    }

    fn kill_and_reap(&mut self, slot: impl Send + 'static) {
        let Some(mut child) = self.child.take() else { return };
        child.kill();
        // The thread that starts workers has no runtime, and time to wait.
        let Ok(runtime) = Handle::try_current() else { return };
        runtime.spawn(async move {
            if let Err(error) = child.ended().await {
                tracing::warn!(%error, "cannot reap a worker");
            }
            drop((child, slot));
        });
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill_and_reap(());
    }
}

impl Child {
    fn kill(&self) {
        // The process is not reaped yet, so the only failure is that it has ended by itself.
        let _ = pidfd_send_signal(&self.watch, Signal::KILL);
    }

    async fn ended(&mut self) -> io::Result<ExitStatus> {
        // SAFETY: the descriptor is owned by `self`, which outlives the registration and does not close it meanwhile.
        let registered = unsafe { AsyncFd::register_with_interest(self.watch.as_fd(), Interest::READABLE) }?;
        drop(registered.readable().await?);
        drop(registered);
        self.reap()
    }

    /// Of a child that has ended. Its number may be another's at once, so it counts as watched until nobody can take it
    /// for the other.
    fn reap(&mut self) -> io::Result<ExitStatus> {
        let mut watched = self.watched.lock();
        self.is_reaped = true;
        watched.remove(&self.pid);
        let waited = waitid(WaitId::PidFd(self.watch.as_fd()), WaitIdOptions::EXITED)?;
        let status = waited.ok_or(io::ErrorKind::WouldBlock)?;
        // The raw form of wait(2): the code in the second byte, or the signal in the first.
        let raw = match (status.exit_status(), status.terminating_signal()) {
            (Some(code), _) => (code & 0xff) << 8,
            (None, Some(signal)) => signal & 0x7f,
            (None, None) => 0,
        };
        Ok(ExitStatus::from_raw(raw))
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        if self.is_reaped {
            return;
        }
        self.kill();
        let ended = waitid(WaitId::PidFd(self.watch.as_fd()), WaitIdOptions::EXITED | WaitIdOptions::NOWAIT);
        if let Err(error) = ended.map_err(io::Error::from).and_then(|_| self.reap()) {
            tracing::warn!(%error, "cannot reap a worker");
        }
    }
}

/// Its number cannot mean another process, for nobody else reaps it.
fn end_unwatched(pid: Pid) {
    let ended =
        kill_process(pid, Signal::KILL).and_then(|()| waitid(WaitId::Pid(pid), WaitIdOptions::EXITED).map(drop));
    if let Err(error) = ended {
        tracing::warn!(%error, "cannot reap a worker that could not be watched");
    }
}

#[cfg(test)]
#[expect(clippy::zombie_processes, reason = "the standard library's handle is not the one that reaps here")]
mod tests {
    use super::*;

    #[tokio::test]
    async fn who_drops_a_process_does_not_wait_for_its_end() {
        let child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let watched = Watched::default();
        let process = watched.watch(Pid::from_child(&child)).unwrap();
        let gone = || !std::path::Path::new(&format!("/proc/{}", child.id())).exists();
        drop(process);
        // This is the runtime's only thread, so what reaps in the background has not begun yet.
        assert!(!gone());
        while !gone() {
            tokio::task::yield_now().await;
        }
        assert!(watched.lock().is_empty());
    }

    #[test]
    fn who_drops_a_process_where_there_is_no_runtime_finds_it_gone() {
        let child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        drop(Watched::default().watch(Pid::from_child(&child)).unwrap());
        assert!(!std::path::Path::new(&format!("/proc/{}", child.id())).exists());
    }
}
