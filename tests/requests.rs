//! Requests through a raw socket, each with the status and the JSON-RPC code that it gets. Whatever is sent, the answer
//! is no crash, no 500 and no parser's text, and the daemon goes on.

mod bodies;
mod framing;
mod heads;

use serde_json::Value;

use crate::harness::{Daemon, allow_all};
use crate::wire::{Head, Wire, request};

const PING: &str = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;

/// A request and what it gets: a status, and a JSON-RPC code where the answer is an error.
struct Row {
    what: &'static str,
    bytes: Vec<u8>,
    status: u16,
    code: Option<i64>,
}

fn start() -> Daemon {
    Daemon::start(&allow_all("[limits]\nmax_request_bytes = \"64KiB\"\n"))
}

/// A daemon that stands behind a proxy, so that it has further names.
fn start_with_names() -> Daemon {
    Daemon::start(
        "[server]\nlisten = \"127.0.0.1:0\"\npublic_url = \"https://mcp.example.com/mcp\"\n\
         trusted_origins = [\"https://console.example.com\"]\nallowed_hosts = [\"mcp.internal\", \"gate.internal:8443\"]\n\
         [identity]\nmode = \"static\"\nsubject = \"local\"\n[policy]\nmode = \"allow-all\"\n",
    )
}

#[track_caller]
fn check(daemon: &Daemon, rows: Vec<Row>) {
    let mut wrong = Vec::new();
    for Row { what, bytes, status, code } in rows {
        let mut wire = Wire::connect(daemon);
        wire.send(&bytes);
        let (head, body) = wire.answer();
        let answer = serde_json::from_str::<Value>(&body).unwrap_or_default();
        let found = (head.status, answer["error"]["code"].as_i64());
        if found != (status, code) || !is_sound(&head, &answer, code) {
            wrong.push(format!("{what}: {found:?} instead of {:?}: {body}", (status, code)));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    let mut wire = Wire::connect(daemon);
    wire.request("POST", &[], PING.as_bytes());
    assert_eq!(wire.head().status, 200, "afterwards");
}

/// An error is a JSON-RPC message of our own words.
fn is_sound(head: &Head, answer: &Value, code: Option<i64>) -> bool {
    let message = answer["error"]["message"].as_str().unwrap_or_default();
    let parsers_words = ["line 1", "column", "expected", "trailing", "deserialize"];
    code.is_none()
        || (head.value("content-type") == Some("application/json")
            && answer["jsonrpc"] == "2.0"
            && !message.is_empty()
            && !parsers_words.iter().any(|word| message.contains(word)))
}

/// A row whose request is an ordinary ping but for these headers.
fn with(what: &'static str, daemon: &Daemon, headers: &[(&str, &str)], status: u16, code: Option<i64>) -> Row {
    Row { what, bytes: request("POST", daemon.address(), headers, PING.as_bytes()), status, code }
}
