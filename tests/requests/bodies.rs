//! What stands in a body: JSON and what is none, messages and what are none.

use std::fs;
use std::path::Path;

use super::{Row, check, start};
use crate::harness::{Daemon, allow_all};
use crate::wire::{Wire, request};

fn row(daemon: &Daemon, what: &'static str, body: impl AsRef<[u8]>, status: u16, code: Option<i64>) -> Row {
    Row { what, bytes: request("POST", daemon.address(), &[], body.as_ref()), status, code }
}

#[test]
fn texts() {
    let daemon = start();
    let not_json = |what, body: &[u8]| row(&daemon, what, body, 400, Some(-32700));
    let deep = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"ping","params":{}1{}}}"#, "[".repeat(70), "]".repeat(70));
    let rows = vec![
        not_json("nothing", b""),
        not_json("white space", b" \n"),
        not_json("half an object", br#"{"jsonrpc":"2.0","id":1"#),
        not_json("something after the object", br#"{"jsonrpc":"2.0","id":1,"method":"ping"} x"#),
        not_json("two objects", br#"{"jsonrpc":"2.0","id":1,"method":"ping"}{"jsonrpc":"2.0","id":2,"method":"ping"}"#),
        not_json("a comma too many", br#"{"jsonrpc":"2.0","id":1,"method":"ping",}"#),
        not_json("a comment", br#"{"jsonrpc":"2.0",/**/"id":1,"method":"ping"}"#),
        not_json("single quotes", b"{'jsonrpc':'2.0','id':1,'method':'ping'}"),
        not_json("a number that is none", br#"{"jsonrpc":"2.0","id":NaN,"method":"ping"}"#),
        not_json("a byte order mark", b"\xef\xbb\xbf{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}"),
        not_json("no UTF-8", b"{\"jsonrpc\":\"2.0\",\"id\":\"\xff\",\"method\":\"ping\"}"),
        not_json("UTF-16", &"{\"id\":1}".encode_utf16().flat_map(u16::to_le_bytes).collect::<Vec<_>>()),
        not_json("half a character", br#"{"jsonrpc":"2.0","id":"\ud800","method":"ping"}"#),
        not_json("a deep text", deep.as_bytes()),
        not_json("a form", b"jsonrpc=2.0&method=ping"),
    ];
    check(&daemon, rows);
}

#[test]
fn messages() {
    let daemon = start();
    let refused = |what, body: &str| row(&daemon, what, body, 400, Some(-32600));
    let digits = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"ping","params":{{"n":{}}}}}"#, "9".repeat(1001));
    let rows = vec![
        refused("null", "null"),
        refused("a text", "\"ping\""),
        refused("a number", "7"),
        refused("no message", "{}"),
        refused("an empty batch", "[]"),
        refused("a batch", r#"[{"jsonrpc":"2.0","id":1,"method":"ping"}]"#),
        refused("no version", r#"{"id":1,"method":"ping"}"#),
        refused("another version", r#"{"jsonrpc":"1.0","id":1,"method":"ping"}"#),
        refused("a version that is a number", r#"{"jsonrpc":2.0,"id":1,"method":"ping"}"#),
        refused("no method", r#"{"jsonrpc":"2.0","id":1}"#),
        refused("a method that is a number", r#"{"jsonrpc":"2.0","id":1,"method":1}"#),
        refused("null for an ID", r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#),
        refused("a fraction for an ID", r#"{"jsonrpc":"2.0","id":1.5,"method":"ping"}"#),
        refused("an object for an ID", r#"{"jsonrpc":"2.0","id":{},"method":"ping"}"#),
        refused("an ID beyond 64 bits", r#"{"jsonrpc":"2.0","id":9223372036854775808,"method":"ping"}"#),
        refused("a response", r#"{"jsonrpc":"2.0","id":1,"result":{}}"#),
        refused("an error", r#"{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"x"}}"#),
        refused("the same key twice", r#"{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}"#),
        refused(
            "the same key twice, deep inside",
            r#"{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":[{"b":1,"b":2}]}}"#,
        ),
        refused(
            "the same key in two spellings",
            r#"{"jsonrpc":"2.0","id":1,"method":"ping","\u006dethod":"tools/list"}"#,
        ),
        refused(
            "a private number",
            r#"{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":{"$serde_json::private::Number":"1"}}}"#,
        ),
        refused("an integer of 1,001 digits", &digits),
        refused("a number beyond a float", r#"{"jsonrpc":"2.0","id":1,"method":"ping","params":{"n":1e400}}"#),
    ];
    check(&daemon, rows);
}

#[test]
fn methods_and_their_parameters() {
    let daemon = start();
    let params = |what, method: &str, params: &str, status, code: Option<i64>| {
        row(
            &daemon,
            what,
            format!(r#"{{"jsonrpc":"2.0","id":"a","method":"{method}","params":{params}}}"#),
            status,
            code,
        )
    };
    let rows = vec![
        params("an array of parameters", "ping", "[]", 400, Some(-32602)),
        params("a call of nothing", "tools/call", "{}", 400, Some(-32602)),
        params("a call of a number", "tools/call", r#"{"name":1}"#, 400, Some(-32602)),
        params("a call with an array", "tools/call", r#"{"name":"execute","arguments":[1]}"#, 400, Some(-32602)),
        params("an unknown tool", "tools/call", r#"{"name":"nope","arguments":{}}"#, 200, Some(-32602)),
        params("a call without arguments", "tools/call", r#"{"name":"execute"}"#, 200, None),
        params("an unknown method", "nope", "{}", 200, Some(-32601)),
        params("an unknown prompt", "prompts/get", r#"{"name":"x"}"#, 200, Some(-32602)),
        params("a handshake without parameters", "initialize", "{}", 200, Some(-32602)),
        row(&daemon, "a notification", r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#, 202, None),
        row(
            &daemon,
            "an unknown notification",
            r#"{"jsonrpc":"2.0","method":"notifications/x","params":{"a":1}}"#,
            202,
            None,
        ),
        row(
            &daemon,
            "calling off without saying what",
            r#"{"jsonrpc":"2.0","method":"notifications/cancelled"}"#,
            202,
            None,
        ),
        row(
            &daemon,
            "calling off by an object",
            r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":{}}}"#,
            202,
            None,
        ),
        row(&daemon, "as much as may be", pad(65_536), 200, None),
        row(&daemon, "a byte more", pad(65_537), 413, Some(-32600)),
    ];
    check(&daemon, rows);
}

fn pad(bytes: usize) -> String {
    let ping = super::PING;
    format!("{ping}{}", " ".repeat(bytes - ping.len()))
}

#[test]
fn every_text_of_the_json_suite_is_answered_and_breaks_nothing() {
    let Ok(suites) = std::env::var("CODEMODE_SUITES") else {
        crate::harness::not_run(
            "every_text_of_the_json_suite_is_answered_and_breaks_nothing",
            "CODEMODE_SUITES is not set",
        );
        return;
    };
    let daemon = Daemon::start(&allow_all(""));
    let mut seen = [0; 3];
    for file in fs::read_dir(Path::new(&suites).join("json-parsing")).unwrap() {
        let path = file.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap();
        let mut wire = Wire::connect(&daemon);
        wire.request("POST", &[], &fs::read(&path).unwrap());
        let (head, body) = wire.answer();
        // None of them is a message, so none is more than refused.
        let expected: fn(&str) -> bool = match name.get(..2) {
            Some("n_") => |body| body.contains("\"code\":-32700"),
            Some("y_" | "i_") => |body| body.contains("\"code\":-32600") || body.contains("\"code\":-32700"),
            _ => continue,
        };
        let kind = ["n_", "y_", "i_"].iter().position(|kind| name.starts_with(kind)).unwrap();
        assert!(head.status == 400 && expected(&body), "{name}: {head:?} {body}");
        seen[kind] += 1;
    }
    assert_eq!(seen, [188, 95, 35], "broken, sound and undecided texts of the suite");
    let mut wire = Wire::connect(&daemon);
    wire.request("POST", &[], super::PING.as_bytes());
    assert_eq!(wire.head().status, 200);
}
