//! Where connections come from: a TCP address, a Unix socket of our own making, or a socket that systemd hands over.

mod connection;
mod serving;
mod unix;

pub use serving::{Answers, ConnectionBounds, Times, serve};

use std::io;
use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;

use listenfd::ListenFd;
use tokio::net::{TcpListener, TcpStream, UnixListener, UnixStream};

use crate::config::{Listen, Server, SocketAccess};
use crate::identity::peer::Peer;
use unix::Bound;

/// Connections that the system keeps for the daemon while it is busy. Whoever finds no place tries again a second later.
const MAX_WAITING: i32 = 4096;

/// Bound, and heard by nobody yet.
#[derive(Debug)]
pub struct Listener {
    socket: Socket,
    /// Takes the file of our own socket away in the end.
    _bound: Option<Bound>,
}

#[derive(Debug)]
enum Socket {
    Tcp(TcpListener),
    Unix(UnixListener),
}

/// A connection, and who is at its other end.
#[derive(Debug)]
pub enum Accepted {
    Tcp(TcpStream, Peer),
    Unix(UnixStream, Peer),
}

/// Why nothing can be heard.
#[derive(Debug, thiserror::Error)]
pub enum ListenError {
    #[error("cannot listen on `{address}`")]
    Bind { address: String, source: io::Error },
    #[error(
        "systemd hands over no socket; `systemctl stop codemoded; systemctl enable --now codemoded.socket; systemctl start \
         codemoded`, in this order, makes it"
    )]
    NoneHanded,
    #[error("systemd hands over {0} sockets; leave one `ListenStream=` in the `.socket` unit")]
    TooMany(usize),
    #[error("cannot listen on the socket that systemd hands over: it must be a TCP or Unix stream socket")]
    Unfit(#[source] io::Error),
}

impl Listener {
    /// Binds, or takes over, before anything else is started: a socket of systemd's must not reach a child.
    pub fn open(server: &Server, handed_over: ListenFd) -> Result<Self, ListenError> {
        match &server.listen {
            Listen::Systemd => Self::inherited(handed_over),
            listen => {
                if handed_over.len() > 0 {
                    tracing::warn!("systemd hands over a socket that nobody listens on");
                }
                Self::bind(listen, server.socket)
            }
        }
    }

    /// The same at any place.
    pub fn bind(listen: &Listen, access: SocketAccess) -> Result<Self, ListenError> {
        let address = listen.to_string();
        let failed = |source| ListenError::Bind { address: address.clone(), source };
        match listen {
            Listen::Tcp(address) => std::net::TcpListener::bind(address).and_then(Self::tcp).map_err(failed),
            Listen::Unix(path) => {
                let (listener, bound) = unix::bind(path, access).map_err(failed)?;
                let socket = Socket::Unix(UnixListener::from_std(listener).map_err(failed)?);
                Ok(Self { socket, _bound: Some(bound) })
            }
            // Only the server listens where systemd does.
            Listen::Systemd => Err(ListenError::NoneHanded),
        }
    }

    fn inherited(mut handed: ListenFd) -> Result<Self, ListenError> {
        match handed.len() {
            0 => return Err(ListenError::NoneHanded),
            1 => {}
            more => return Err(ListenError::TooMany(more)),
        }
        if let Ok(Some(listener)) = handed.take_tcp_listener(0) {
            return Self::tcp(listener).map_err(ListenError::Unfit);
        }
        let listener = handed.take_unix_listener(0).map_err(ListenError::Unfit)?;
        let listener = listener.ok_or(ListenError::NoneHanded)?;
        let listener = listener.set_nonblocking(true).and_then(|()| UnixListener::from_std(listener));
        Ok(Self { socket: Socket::Unix(listener.map_err(ListenError::Unfit)?), _bound: None })
    }

    fn tcp(listener: std::net::TcpListener) -> io::Result<Self> {
        listener.set_nonblocking(true)?;
        // A second call sets the length anew; the first was made with the usual one.
        rustix::net::listen(&listener, MAX_WAITING)?;
        Ok(TcpListener::from_std(listener)?.into())
    }

    /// The TCP address, with the real port where any was asked for.
    pub fn address(&self) -> Option<SocketAddr> {
        match &self.socket {
            Socket::Tcp(listener) => listener.local_addr().ok(),
            Socket::Unix(_) => None,
        }
    }

    /// Whether only this machine can connect.
    pub fn is_local(&self) -> bool {
        self.address().is_none_or(|address| address.ip().to_canonical().is_loopback())
    }

    /// Where clients connect, for people.
    pub fn url(&self) -> String {
        match &self.socket {
            Socket::Tcp(_) => self.address().map(|address| format!("http://{address}")).unwrap_or_default(),
            Socket::Unix(listener) => {
                let address = listener.local_addr().ok();
                let path = address.as_ref().and_then(|address| address.as_pathname()).unwrap_or(Path::new(""));
                format!("unix:{}", path.display())
            }
        }
    }

    /// The next connection; over TCP it breaks off when the client does not take an answer for so long.
    pub async fn accept(&self, stalled: Duration) -> io::Result<Accepted> {
        match &self.socket {
            Socket::Tcp(listener) => {
                let (stream, address) = listener.accept().await?;
                if let Err(error) = tune(&stream, stalled) {
                    tracing::debug!(%error, "a connection could not be tuned");
                }
                Ok(Accepted::Tcp(stream, Peer::Tcp(address)))
            }
            Socket::Unix(listener) => {
                let (stream, _) = listener.accept().await?;
                let uid = stream.peer_cred()?.uid();
                Ok(Accepted::Unix(stream, Peer::Unix { uid }))
            }
        }
    }
}

fn tune(stream: &TcpStream, stalled: Duration) -> io::Result<()> {
    // A small answer must not wait for the acknowledgement of the one before it.
    stream.set_nodelay(true)?;
    // A client that is gone, or does not take its answer, must not hold it for ever.
    let millis = u32::try_from(stalled.as_millis()).unwrap_or(u32::MAX);
    Ok(rustix::net::sockopt::set_tcp_user_timeout(stream, millis)?)
}

impl From<TcpListener> for Listener {
    fn from(listener: TcpListener) -> Self {
        Self { socket: Socket::Tcp(listener), _bound: None }
    }
}
