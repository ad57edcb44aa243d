//! The HTTP transport: one listener, one path, stateless, JSON answers, and streams where they are needed.
//!
//! [`Http`] owns the listener and every connection; dropping it closes them. What a request passes on its way to the
//! protocol library is in `http/endpoint.rs`.

mod accept;
mod advertised;
mod carried;
mod door;
mod endpoint;
mod refusal;
mod sessions;
mod stream;
mod unread;

use std::net::SocketAddr;
use std::sync::Arc;

use rmcp::ServerHandler;
use tokio::task::JoinHandle;
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::listener::{ConnectionBounds, Listener, Times, serve};
use crate::metrics::Metrics;
pub use advertised::Protection;
pub use door::{Door, DoorSettings, Reached};
use endpoint::Endpoint;
pub use sessions::SessionBounds;

/// What holds from the start to the end of the process, whatever is reloaded.
#[derive(Clone, Debug)]
pub struct Settings {
    pub reached: Reached,
    pub times: Times,
    pub max_connections: usize,
    pub metrics: Metrics,
    /// Nothing where every request stands alone.
    pub sessions: Option<SessionBounds>,
}

/// What stands behind the transport.
pub trait Served: ServerHandler + Clone {
    type Snapshot: Snapshot;

    /// What is in force now. One request is served with one of these, from its head to its answer; it lies beside the
    /// request for whoever answers it.
    fn snapshot(&self) -> Self::Snapshot;
}

/// What one request is served with.
pub trait Snapshot: Clone + Send + Sync + 'static {
    fn door(&self) -> &Door;

    /// Bytes that one message may have.
    fn max_request_bytes(&self) -> usize;
}

/// The running transport.
#[derive(Debug)]
pub struct Http {
    url: String,
    address: Option<SocketAddr>,
    /// Ends the listener and lets each connection finish what it is answering.
    draining: CancellationToken,
    /// Ends everything at once.
    _closing: DropGuard,
    serving: JoinHandle<()>,
}

impl Http {
    /// Serves on a bound listener.
    pub fn start(listener: Listener, settings: Settings, server: impl Served) -> Self {
        let address = listener.address();
        let reached = &settings.reached;
        // A socket's file has no path of the endpoint's behind it.
        let path = if address.is_some() { reached.path() } else { "" };
        let url = format!("{}{path}", reached.url());
        let (draining, closing) = (CancellationToken::new(), CancellationToken::new());
        let bounds = ConnectionBounds { times: settings.times, max_connections: settings.max_connections };
        let endpoint = Endpoint::new(settings, server, draining.clone(), closing.child_token());
        let serving = serve(listener, bounds, Arc::new(endpoint), draining.clone(), closing.clone());
        let serving = tokio::spawn(serving);
        Self { url, address, draining, _closing: closing.drop_guard(), serving }
    }

    /// Where it listens, where that is an address; the port is the real one also where any was asked for.
    pub fn address(&self) -> Option<SocketAddr> {
        self.address
    }

    /// Where clients connect.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Stops listening; each connection finishes what it is answering.
    pub fn stop_accepting(&self) {
        self.draining.cancel();
    }

    /// Returns when no connection is left, which does not happen before it has stopped accepting.
    pub async fn finished(&mut self) {
        if let Err(error) = (&mut self.serving).await {
            tracing::error!(%error, "the listener broke down");
        }
    }
}

#[cfg(test)]
mod tests;
