//! The other end of the administration's Unix socket: what commands ask a running daemon.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use axum::body::{Body, to_bytes};
use http::header::HOST;
use http::{Method, Request, StatusCode};
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use tokio::net::UnixStream;
use tokio::task::JoinSet;

pub use super::control::Reloaded;

/// Longer than everything in a build that can be given up.
const PATIENCE: Duration = Duration::from_secs(60);

/// Twenty thousand capabilities with long descriptions are less.
const MAX_ANSWER_BYTES: usize = 1 << 28;

/// What the daemon answered.
#[derive(Debug)]
pub struct Answer {
    pub status: StatusCode,
    pub text: String,
}

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub enum AskError {
    #[error("no daemon answers at `{}`", .0.display())]
    NoDaemon(PathBuf, #[source] io::Error),
    #[error("the conversation with the daemon broke")]
    Broken(#[source] hyper::Error),
    #[error("the daemon's answer cannot be read")]
    Unreadable(#[source] axum::Error),
    #[error("the daemon has not answered within {} seconds", PATIENCE.as_secs())]
    Silent,
    #[error("the request cannot be written")]
    Request(#[source] http::Error),
}

/// Asks the daemon that listens at this socket.
pub async fn ask(socket: &Path, method: Method, path: &str, body: String) -> Result<Answer, AskError> {
    let asking = exchange(socket, method, path, body);
    tokio::time::timeout(PATIENCE, asking).await.map_err(|_| AskError::Silent)?
}

async fn exchange(socket: &Path, method: Method, path: &str, body: String) -> Result<Answer, AskError> {
    let stream = UnixStream::connect(socket).await.map_err(|cause| AskError::NoDaemon(socket.to_owned(), cause))?;
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await.map_err(AskError::Broken)?;
    // Dropped with this, it ends.
    let mut driven = JoinSet::new();
    driven.spawn(connection);
    let request = Request::builder().method(method).uri(path).header(HOST, "localhost");
    let request = request.body(Body::from(body)).map_err(AskError::Request)?;
    let response = sender.send_request(request).await.map_err(AskError::Broken)?;
    let status = response.status();
    let bytes = to_bytes(Body::new(response.into_body()), MAX_ANSWER_BYTES).await.map_err(AskError::Unreadable)?;
    Ok(Answer { status, text: String::from_utf8_lossy(&bytes).into_owned() })
}
