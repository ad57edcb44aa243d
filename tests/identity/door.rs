//! Requests written by hand, so that they can say what no client would.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use serde_json::{Value, json};

use crate::harness::{Daemon, program};

/// What came back.
#[derive(Debug, PartialEq)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    head: String,
    pub(crate) body: String,
}

impl Reply {
    /// The value of a header.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().find_map(|line| {
            let (found, value) = line.split_once(':')?;
            found.eq_ignore_ascii_case(name).then(|| value.trim())
        })
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|_| panic!("no JSON: {self:?}"))
    }

    /// The text of a tool's answer.
    pub(crate) fn text(&self) -> String {
        self.json()["result"]["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{self:?}")).to_owned()
    }
}

/// Has `faulty.note` called, with these header lines, and so finds out whether the request reaches a capability.
pub(crate) fn note(daemon: &Daemon, headers: &[&str]) -> Reply {
    note_at(daemon, "/mcp", headers)
}

/// The same, at another target.
pub(crate) fn note_at(daemon: &Daemon, target: &str, headers: &[&str]) -> Reply {
    send(daemon, "POST", target, headers, &note_body())
}

/// The request that has `faulty.note` called.
pub(crate) fn note_body() -> String {
    let source = program("return faulty.note(text = \"x\")[\"subject\"]");
    let params = json!({ "name": "execute", "arguments": { "source": source } });
    json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params }).to_string()
}

/// A search, which costs little.
pub(crate) fn search(daemon: &Daemon, headers: &[&str]) -> Reply {
    let params = json!({ "name": "search_api", "arguments": { "query": "note" } });
    let body = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params });
    send(daemon, "POST", "/mcp", headers, &body.to_string())
}

/// Sends one request to the daemon's TCP address.
pub(crate) fn send(daemon: &Daemon, method: &str, target: &str, headers: &[&str], body: &str) -> Reply {
    let host = daemon.url.trim_start_matches("http://").split('/').next().unwrap();
    let socket = TcpStream::connect(host).unwrap();
    socket.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    exchange(socket, &request(host, method, target, headers, body))
}

pub(crate) fn request(host: &str, method: &str, target: &str, headers: &[&str], body: &str) -> String {
    let mut lines = format!(
        "{method} {target} HTTP/1.1\r\nhost: {host}\r\ncontent-type: application/json\r\naccept: application/json, \
         text/event-stream\r\nmcp-protocol-version: 2025-11-25\r\nconnection: close\r\ncontent-length: {}\r\n",
        body.len()
    );
    for header in headers {
        lines += header;
        lines += "\r\n";
    }
    format!("{lines}\r\n{body}")
}

/// Sends a request and reads until the other end closes.
pub(crate) fn exchange(mut socket: impl Read + Write, request: &str) -> Reply {
    socket.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    socket.read_to_string(&mut answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap_or_else(|| panic!("no answer: {answer:?}"));
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    Reply { status, head: head.to_owned(), body: body.to_owned() }
}

/// Whether any call has reached the plugin.
pub(crate) fn was_reached(daemon: &Daemon) -> bool {
    daemon.folder.path().join("calls.jsonl").exists()
}
