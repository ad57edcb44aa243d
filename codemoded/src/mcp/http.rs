//! The HTTP transport: one listener, one path, stateless, plain JSON answers.
//!
//! [`Http`] owns the listener and every connection; dropping it closes them. What a request passes on its way to the
//! protocol library is in `http/endpoint.rs`, how one connection lives in `http/connection.rs`.

mod accept;
mod connection;
mod endpoint;
mod refusal;

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::{TcpListener, TcpStream};
use tokio::task::{JoinHandle, JoinSet};
use tokio_util::sync::{CancellationToken, DropGuard};

use super::guard::{Guard, Names};
use super::server::Server;
use crate::identity::Identity;
use endpoint::Endpoint;

/// How the endpoint may be reached, and who may use it.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The one path that is served, with its leading slash.
    pub path: String,
    pub names: Names,
    pub identity: Identity,
}

/// The running transport.
#[derive(Debug)]
pub struct Http {
    address: SocketAddr,
    /// Ends the listener and lets each connection finish what it is answering.
    draining: CancellationToken,
    /// Ends everything at once.
    _closing: DropGuard,
    serving: JoinHandle<()>,
}

/// How long to wait before accepting again where no descriptor is free.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

impl Http {
    /// Serves on a bound listener.
    pub fn start(listener: TcpListener, settings: Settings, server: Server) -> io::Result<Self> {
        let address = listener.local_addr()?;
        let guard = Guard::new(address, settings.names);
        let closing = CancellationToken::new();
        let endpoint = Endpoint::new(settings.path, guard, settings.identity, server, closing.child_token());
        let draining = CancellationToken::new();
        let serving = serve(listener, Arc::new(endpoint), draining.clone(), closing.clone());
        let serving = tokio::spawn(serving);
        Ok(Self { address, draining, _closing: closing.drop_guard(), serving })
    }

    /// Where it listens; the port is the real one also where any was asked for.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Stops listening and waits until what is being answered is answered, at most for `patience`.
    pub async fn drain(mut self, patience: Duration) {
        self.draining.cancel();
        if tokio::time::timeout(patience, &mut self.serving).await.is_err() {
            tracing::warn!("closing connections that were still busy");
        }
    }
}

async fn serve(
    listener: TcpListener,
    endpoint: Arc<Endpoint>,
    draining: CancellationToken,
    closing: CancellationToken,
) {
    // Dropping the set ends every connection in it.
    let mut connections = JoinSet::new();
    let accepting = async {
        loop {
            tokio::select! {
                (stream, peer) = accept(&listener) => {
                    connections.spawn(connection::serve(stream, peer, Arc::clone(&endpoint), draining.clone()));
                }
                Some(_) = connections.join_next() => {}
                () = draining.cancelled() => break,
            }
        }
        drop(listener);
        while connections.join_next().await.is_some() {}
    };
    tokio::select! {
        () = accepting => {}
        () = closing.cancelled() => {}
    }
}

/// The next connection. An error concerns one connection or the whole process's descriptors; neither ends the server.
async fn accept(listener: &TcpListener) -> (TcpStream, SocketAddr) {
    loop {
        match listener.accept().await {
            Ok((stream, peer)) => {
                // A small answer must not wait for the acknowledgement of the one before it.
                if let Err(error) = stream.set_nodelay(true) {
                    tracing::debug!(%error, "TCP_NODELAY could not be set");
                }
                return (stream, peer);
            }
            Err(error) => {
                tracing::warn!(%error, "a connection could not be accepted");
                tokio::time::sleep(ACCEPT_PAUSE).await;
            }
        }
    }
}

#[cfg(test)]
mod tests;
