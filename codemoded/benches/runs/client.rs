//! A client that costs next to nothing: one kept connection, a request written whole, an answer read by its length.

use std::time::{Duration, Instant};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::SECRET;

/// One kept connection.
pub(crate) struct Client {
    stream: TcpStream,
    received: Vec<u8>,
}

/// A request as it goes over the wire, and what its answer must hold.
#[derive(Clone)]
pub(crate) struct Request {
    bytes: Vec<u8>,
    expected: String,
}

impl Request {
    /// A call of `execute` for a subject.
    pub(crate) fn execute(address: &str, subject: &str, source: &str, expected: &str) -> Self {
        Self::call(address, subject, "execute", &serde_json::json!({ "source": source }), expected)
    }

    pub(crate) fn call(
        address: &str,
        subject: &str,
        tool: &str,
        arguments: &serde_json::Value,
        expected: &str,
    ) -> Self {
        let body = serde_json::json!({
            "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": { "name": tool, "arguments": arguments },
        })
        .to_string();
        let head = format!(
            "POST /mcp HTTP/1.1\r\nhost: {address}\r\ncontent-type: application/json\r\n\
             accept: application/json, text/event-stream\r\nmcp-protocol-version: 2025-06-18\r\n\
             x-remote-user: {subject}\r\nx-codemode-secret: {SECRET}\r\ncontent-length: {}\r\n\r\n",
            body.len()
        );
        Self { bytes: [head, body].concat().into_bytes(), expected: expected.to_owned() }
    }
}

impl Client {
    pub(crate) async fn connect(address: &str) -> Self {
        let stream = TcpStream::connect(address).await.unwrap();
        stream.set_nodelay(true).unwrap();
        Self { stream, received: Vec::with_capacity(1 << 16) }
    }

    /// Sends a request, and gives the time until its whole answer was there.
    pub(crate) async fn send(&mut self, request: &Request) -> Duration {
        let sent = Instant::now();
        self.stream.write_all(&request.bytes).await.unwrap();
        self.received.clear();
        while !self.is_whole() {
            assert!(self.stream.read_buf(&mut self.received).await.unwrap() > 0, "the server hung up");
        }
        let took = sent.elapsed();
        let holds = find(&self.received, request.expected.as_bytes()).is_some();
        assert!(holds, "no `{}` in {}", request.expected, String::from_utf8_lossy(&self.received));
        took
    }

    /// Sends a request whose answer nobody waits for, and holds the connection open.
    pub(crate) async fn send_only(mut self, request: &Request) {
        self.stream.write_all(&request.bytes).await.unwrap();
        let _ = self.stream.read_buf(&mut self.received).await;
    }

    fn is_whole(&self) -> bool {
        let Some(end) = find(&self.received, b"\r\n\r\n") else { return false };
        let head = &self.received[..end];
        if find(head, b"transfer-encoding: chunked").is_some() {
            return self.received.ends_with(b"\r\n0\r\n\r\n");
        }
        let length = find(head, b"content-length: ").map(|at| {
            let digits = head[at + 16..].iter().take_while(|byte| byte.is_ascii_digit());
            digits.fold(0, |length, digit| length * 10 + usize::from(digit - b'0'))
        });
        self.received.len() >= end + 4 + length.unwrap_or_default()
    }
}

fn find(all: &[u8], part: &[u8]) -> Option<usize> {
    all.windows(part.len()).position(|window| window == part)
}
