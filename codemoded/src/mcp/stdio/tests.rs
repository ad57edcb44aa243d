//! A conversation line by line, through two streams in memory.

use std::sync::Arc;

use super::*;
use crate::identity::{Subject, SubjectId};
use crate::limits::Limits;
use crate::mcp::http::Door;
use crate::mcp::tests::server_without_workers;
use crate::rate::{self, Rates};

fn shut() -> Door {
    Door::shut(Arc::new(Rates::new(rate::Settings::plenty())))
}

/// What comes out where these lines go in and the client then closes its end.
fn converse(lines: &[&str]) -> Vec<serde_json::Value> {
    let limits = Limits { max_request_bytes: 500, ..Limits::default() };
    let subject = Subject::new(SubjectId::new("local").unwrap());
    let input: String = lines.iter().map(|line| format!("{line}\n")).collect();
    let mut output = Vec::new();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let server = server_without_workers(limits, shut()).for_subject(subject);
        serve(server, input.as_bytes(), &mut output, CancellationToken::new()).await.unwrap();
    });
    String::from_utf8(output).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

const INITIALIZE: &str = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}"#;
const INITIALIZED: &str = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;

#[track_caller]
fn with_id(answers: &[serde_json::Value], id: i64) -> &serde_json::Value {
    answers.iter().find(|answer| answer["id"] == id).unwrap_or_else(|| panic!("no answer to {id} in {answers:?}"))
}

#[test]
fn the_stateless_era_needs_no_handshake() {
    let call = r#"{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}"#;
    assert_eq!(with_id(&converse(&[call]), 1)["result"]["tools"].as_array().unwrap().len(), 3);
}

#[test]
fn what_is_no_message_is_answered_and_the_conversation_goes_on() {
    let long = format!(r#"{{"jsonrpc":"2.0","id":9,"method":"{}"}}"#, "x".repeat(500));
    let ping = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
    let answers = converse(&[INITIALIZE, INITIALIZED, "{", "[]", &long, ping]);
    let codes: Vec<_> = answers.iter().filter_map(|answer| answer["error"]["code"].as_i64()).collect();
    assert_eq!(codes, [-32700, -32600, -32600]);
    assert_eq!(with_id(&answers, 1)["result"], serde_json::json!({}));
}

#[test]
fn a_client_that_says_nothing_is_no_error() {
    assert_eq!(converse(&[]), Vec::<serde_json::Value>::new());
}
