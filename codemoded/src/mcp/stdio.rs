//! The stdio transport: one client, one subject, one message a line.
//!
//! Lines pass the same check as HTTP bodies before the protocol library reads them: it would answer what it cannot
//! parse in its own way, and read some texts differently from us. So it sits between two pipes in memory, and only
//! what is answered comes out on standard output.

mod owed;

use std::io;

use rmcp::service::ServerInitializeError;
use tokio::io::{AsyncBufRead, AsyncBufReadExt, AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, BufReader, duplex};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::body::{Code, Rejection, check};
use super::http::{Served as _, Snapshot as _};
use super::server::Server;
use super::text;
use crate::failure::Failure;
use crate::limits::Limit;
use owed::Owed;

/// Bytes between the check and the library, each way.
const PIPE_BYTES: usize = 64 * 1024;

/// Refusals that may wait for standard output.
const MAX_WAITING: usize = 16;

/// Why the transport ended other than by the client closing it.
#[derive(Debug, thiserror::Error)]
pub enum StdioError {
    #[error("reading or writing standard input or output")]
    Io(#[from] io::Error),
    #[error("opening the conversation")]
    Handshake(#[source] Box<ServerInitializeError>),
    #[error("the server broke off")]
    Broken(#[source] tokio::task::JoinError),
}

/// Serves on this process's standard input, answering on its standard output, until the client closes the first. Told to
/// stop, it reads no further and ends once everything has its answer.
pub async fn serve_stdio(server: Server, output: std::fs::File, stopping: CancellationToken) -> Result<(), StdioError> {
    serve(server, tokio::io::stdin(), tokio::fs::File::from_std(output), stopping).await
}

/// Serves on any two streams.
pub async fn serve(
    server: Server,
    input: impl AsyncRead + Unpin,
    output: impl AsyncWrite + Unpin,
    stopping: CancellationToken,
) -> Result<(), StdioError> {
    let owed = Owed::default();
    let (passing, passed) = duplex(PIPE_BYTES);
    let (answering, answers) = duplex(PIPE_BYTES);
    let (refusing, refusals) = mpsc::channel(MAX_WAITING);
    let feeding = Feeding { server: server.clone(), owed: &owed, stopping, passing, refusing };
    let reading = feeding.feed(BufReader::new(input));
    let writing = emit(BufReader::new(answers), refusals, output, &owed);
    let ((), (), ()) = tokio::try_join!(converse(server, passed, answering), reading, writing)?;
    Ok(())
}

async fn converse(
    server: Server,
    input: impl AsyncRead + Send + Unpin + 'static,
    output: impl AsyncWrite + Send + Unpin + 'static,
) -> Result<(), StdioError> {
    match rmcp::serve_server(server, (input, output)).await {
        Ok(running) => running.waiting().await.map(drop).map_err(StdioError::Broken),
        // A client that leaves before it says anything wants nothing.
        Err(ServerInitializeError::ConnectionClosed(_)) => Ok(()),
        Err(error) => Err(StdioError::Handshake(Box::new(error))),
    }
}

/// What hands on the lines that pass the check.
struct Feeding<'a, W> {
    server: Server,
    owed: &'a Owed,
    stopping: CancellationToken,
    passing: W,
    refusing: mpsc::Sender<String>,
}

impl<W: AsyncWrite + Unpin> Feeding<'_, W> {
    /// Ends, and with it the conversation, where the input does; told to stop, when everything has its answer.
    async fn feed(mut self, mut input: impl AsyncBufRead + Unpin) -> Result<(), StdioError> {
        loop {
            let line = tokio::select! {
                biased;
                () = self.stopping.cancelled() => {
                    self.owed.settled().await;
                    return Ok(());
                }
                line = next_line(&mut input, self.server.snapshot().max_request_bytes()) => line?,
            };
            let Some(line) = line else { return Ok(()) };
            if !self.hand_on(line).await {
                return Ok(());
            }
        }
    }

    /// Whether there is anybody left to take it.
    async fn hand_on(&mut self, line: Result<Vec<u8>, TooLong>) -> bool {
        let checked = match line.as_deref() {
            Ok(line) if line.trim_ascii().is_empty() => return true,
            Ok(line) => check(line).and_then(|checked| self.owed.once(checked)),
            Err(TooLong) => Err(too_large()),
        };
        match (checked, line) {
            (Ok(checked), Ok(mut line)) => {
                self.owed.asked(&checked);
                line.push(b'\n');
                self.passing.write_all(&line).await.is_ok()
            }
            (Err(rejection), _) => self.refusing.send(rejection.to_json()).await.is_ok(),
            (Ok(_), Err(TooLong)) => false,
        }
    }
}

/// Writes what the library answers and what the check refused, one line each.
async fn emit(
    answers: impl AsyncBufRead + Unpin,
    mut refusals: mpsc::Receiver<String>,
    mut output: impl AsyncWrite + Unpin,
    owed: &Owed,
) -> Result<(), StdioError> {
    let mut answers = answers.lines();
    let mut refusing = true;
    loop {
        let line = tokio::select! {
            answer = answers.next_line() => answer?,
            refusal = refusals.recv(), if refusing => match refusal {
                Some(refusal) => Some(refusal),
                None => {
                    refusing = false;
                    continue;
                }
            },
        };
        let Some(mut line) = line else {
            break;
        };
        line.push('\n');
        output.write_all(line.as_bytes()).await?;
        output.flush().await?;
        owed.said(&line);
    }
    // The library has ended; what was refused before is still owed.
    while let Some(mut refusal) = refusals.recv().await {
        refusal.push('\n');
        output.write_all(refusal.as_bytes()).await?;
    }
    Ok(output.flush().await?)
}

struct TooLong;

/// The next line without its end, or that it is too long, in which case it has been skipped.
async fn next_line(
    input: &mut (impl AsyncBufRead + Unpin),
    max_bytes: usize,
) -> io::Result<Option<Result<Vec<u8>, TooLong>>> {
    let mut line = Vec::new();
    let most = u64::try_from(max_bytes).unwrap_or(u64::MAX).saturating_add(1);
    if (&mut *input).take(most).read_until(b'\n', &mut line).await? == 0 {
        return Ok(None);
    }
    if line.last() == Some(&b'\n') {
        line.pop();
    } else if line.len() > max_bytes {
        skip_line(input).await?;
    }
    Ok(Some(if line.len() > max_bytes { Err(TooLong) } else { Ok(line) }))
}

async fn skip_line(input: &mut (impl AsyncBufRead + Unpin)) -> io::Result<()> {
    loop {
        let rest = input.fill_buf().await?;
        let (used, ended) = match rest.iter().position(|byte| *byte == b'\n') {
            Some(at) => (at + 1, true),
            None => (rest.len(), rest.is_empty()),
        };
        input.consume(used);
        if ended {
            return Ok(());
        }
    }
}

fn too_large() -> Rejection {
    Rejection::new(None, Code::InvalidRequest, text(&Failure::Limit(Limit::MaxRequestBytes)))
}

#[cfg(test)]
mod tests;
