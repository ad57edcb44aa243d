//! What the service manager is told of the daemon (`sd_notify(3)`), and that it can rely on it.
//!
//! Its socket, its wish for signs of life and the sockets that it hands over are told in the environment. They are taken out
//! of it before anything else runs: a plugin's child must not speak for the daemon, nor listen in its place.

#![expect(unsafe_code, reason = "the environment is changed, once, before there is a second thread")]

use std::env;
use std::ffi::OsString;
use std::fmt;
use std::io;
use std::os::fd::{BorrowedFd, RawFd};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use listenfd::ListenFd;
use rustix::io::{FdFlags, fcntl_setfd};
use rustix::time::{ClockId, clock_gettime};

use crate::text::printable;

/// The descriptor of the first socket that is handed over (`sd_listen_fds(3)`).
const FIRST_SOCKET: RawFd = 3;

/// The longest status that is passed on.
const MAX_STATUS_BYTES: usize = 2_000;

/// A service manager, or nobody. A handle.
#[derive(Clone, Debug, Default)]
pub struct Supervisor {
    socket: Option<Arc<UnixDatagram>>,
    watchdog: Option<Duration>,
    handed_over: HandedOver,
}

/// Sockets, until somebody listens on them.
#[derive(Clone, Default)]
struct HandedOver(Arc<Mutex<Option<ListenFd>>>);

impl Supervisor {
    /// Finds the one that started this process, and takes it out of the environment. Where there is a second thread
    /// already, it is left there and nobody is found.
    pub fn take() -> Self {
        if std::fs::read_dir("/proc/self/task").map_or(0, Iterator::count) != 1 {
            return Self::default();
        }
        let number = |text: OsString| text.to_str().and_then(|text| text.parse::<u64>().ok());
        let take = |name: &str| {
            let value = env::var_os(name);
            // SAFETY: nobody else reads or writes the environment, for this is the only thread, and the only one that
            // could start another.
            unsafe { env::remove_var(name) };
            value
        };
        let (address, interval, whose) = (take("NOTIFY_SOCKET"), take("WATCHDOG_USEC"), take("WATCHDOG_PID"));
        let ours = whose.is_none_or(|pid| number(pid) == Some(std::process::id().into()));
        let watchdog = interval.and_then(number).filter(|micros| ours && *micros > 0).map(Duration::from_micros);
        let socket = address.and_then(|address| match connect(&address) {
            Ok(socket) => Some(Arc::new(socket)),
            Err(error) => {
                // Nothing is logged yet.
                eprintln!("codemoded: the service manager cannot be told anything: {error}");
                None
            }
        });
        let first = take("LISTEN_FDS_FIRST_FD").and_then(number).and_then(|first| RawFd::try_from(first).ok());
        // It reads its own variables and takes them out, all but the names.
        let sockets = ListenFd::from_env();
        drop(take("LISTEN_FDNAMES"));
        close_on_exec(first.unwrap_or(FIRST_SOCKET), sockets.len());
        let handed_over = HandedOver(Arc::new(Mutex::new(Some(sockets))));
        Self { socket, watchdog, handed_over }
    }

    /// The sockets that it hands over, once.
    pub fn sockets(&self) -> ListenFd {
        let handed_over = self.handed_over.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        handed_over.unwrap_or_else(ListenFd::empty)
    }

    /// Serving, from now on or again.
    pub fn ready(&self, status: &str) {
        self.tell(&format!("READY=1\n{}", as_status(status)));
    }

    /// Not ready for a moment, while it goes on serving.
    pub fn reloading(&self) {
        let now = clock_gettime(ClockId::Monotonic);
        let micros = i128::from(now.tv_sec) * 1_000_000 + i128::from(now.tv_nsec) / 1_000;
        self.tell(&format!("RELOADING=1\nMONOTONIC_USEC={micros}\n{}", as_status("reloading")));
    }

    pub fn stopping(&self) {
        self.tell(&format!("STOPPING=1\n{}", as_status("finishing what runs")));
    }

    /// Alive, as has just been shown.
    pub fn alive(&self) {
        self.tell("WATCHDOG=1");
    }

    /// How long it waits for a sign of life, where it does.
    pub fn watchdog(&self) -> Option<Duration> {
        self.watchdog
    }

    fn tell(&self, message: &str) {
        if let Some(socket) = &self.socket
            && let Err(error) = socket.send(message.as_bytes())
        {
            tracing::warn!(%error, "the service manager cannot be told anything");
        }
    }
}

impl fmt::Debug for HandedOver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("HandedOver")
    }
}

/// Whether or not somebody will listen on them, no child gets them.
fn close_on_exec(first: RawFd, count: usize) {
    for socket in (first..).take(count) {
        // SAFETY: the manager hands it over open, and it is closed by nobody while this runs.
        let socket = unsafe { BorrowedFd::borrow_raw(socket) };
        // It fails for a descriptor that the manager only claims to hand over, which no child can get either.
        let _ = fcntl_setfd(socket, FdFlags::CLOEXEC);
    }
}

fn connect(address: &OsString) -> io::Result<UnixDatagram> {
    let socket = UnixDatagram::unbound()?;
    // A manager that does not listen must hold nobody up.
    socket.set_nonblocking(true)?;
    let address = match address.as_bytes() {
        [b'@', name @ ..] => SocketAddr::from_abstract_name(name)?,
        path => SocketAddr::from_pathname(std::ffi::OsStr::from_bytes(path))?,
    };
    socket.connect_addr(&address)?;
    Ok(socket)
}

/// One line, whatever it is about.
fn as_status(text: &str) -> String {
    format!("STATUS={}", printable(text, MAX_STATUS_BYTES))
}
