//! Serving every connection of a listener, within bounds.

use std::future::Future;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use futures_util::FutureExt as _;
use http::{Request, Response};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::{Accepted, Listener, connection};
use crate::identity::peer::Peer;

/// How long to wait before accepting again where no descriptor is free.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// What stands behind a listener.
pub trait Answers: Send + Sync + 'static {
    fn answer(&self, peer: Peer, request: Request<Body>) -> impl Future<Output = Response<Body>> + Send;

    /// So many connections are open now.
    fn connections(&self, _open: usize) {}

    /// What a client gets whose answer panicked.
    fn panicked(&self) -> fn() -> Response<Body>;
}

/// How long a client may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Times {
    /// Until a new connection's first request's head is there.
    pub head: Duration,
    /// For a whole body, however it trickles in.
    pub body: Duration,
    /// Between requests, and for taking a piece of an answer.
    pub idle: Duration,
}

/// What holds for connections, whatever is asked on them.
#[derive(Clone, Copy, Debug)]
pub struct ConnectionBounds {
    pub times: Times,
    pub max_connections: usize,
}

/// Serves until `draining` ends it and every connection has been answered, or `closing` ends everything at once.
pub async fn serve(
    listener: Listener,
    bounds: ConnectionBounds,
    endpoint: Arc<impl Answers>,
    draining: CancellationToken,
    closing: CancellationToken,
) {
    // Dropping the set ends every connection in it.
    let mut connections = JoinSet::new();
    let connect = |connections: &mut JoinSet<()>, accepted| {
        let (endpoint, draining, times) = (Arc::clone(&endpoint), draining.clone(), bounds.times);
        match accepted {
            Accepted::Tcp(stream, peer) => {
                connections.spawn(connection::serve(stream, peer, times, endpoint, draining))
            }
            Accepted::Unix(stream, peer) => {
                connections.spawn(connection::serve(stream, peer, times, endpoint, draining))
            }
        };
    };
    let accepting = async {
        loop {
            endpoint.connections(connections.len());
            let has_room = connections.len() < bounds.max_connections;
            tokio::select! {
                // Beyond the bound, the system lets further connections wait.
                accepted = accept(&listener, bounds.times.idle), if has_room => {
                    connect(&mut connections, accepted);
                }
                Some(_) = connections.join_next() => {}
                () = draining.cancelled() => break,
            }
        }
        // Whoever the system has connected before now is served as well.
        while let (true, Some(Ok(accepted))) =
            (connections.len() < bounds.max_connections, listener.accept(bounds.times.idle).now_or_never())
        {
            connect(&mut connections, accepted);
        }
        drop(listener);
        while connections.join_next().await.is_some() {
            endpoint.connections(connections.len());
        }
    };
    tokio::select! {
        () = accepting => {}
        () = closing.cancelled() => {}
    }
}

/// The next connection. An error concerns one connection or the whole process's descriptors; neither ends the server.
async fn accept(listener: &Listener, stalled: Duration) -> Accepted {
    loop {
        let error: io::Error = match listener.accept(stalled).await {
            Ok(accepted) => return accepted,
            Err(error) => error,
        };
        tracing::warn!(%error, "a connection could not be accepted");
        tokio::time::sleep(ACCEPT_PAUSE).await;
    }
}
