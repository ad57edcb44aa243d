//! Behind real reverse proxies, on the configurations that are shipped for them: who calls, streams, hang-ups, and a
//! daemon that is restarted in between.

mod proxy;
mod tokens;

use std::fs;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::harness::{Daemon, allow_all, faulty, free_port, until};
use crate::wire::{Wire, execute, execute_with_progress};
use proxy::{ANN, By, KINDS, Proxy, SECRET};

/// How long the long things take: in a soak as long as the issue of a silent proxy needs to show.
fn scaled(short: Duration, long: Duration) -> Duration {
    if std::env::var_os("CODEMODE_SOAK").is_some() { long } else { short }
}

fn config(port: u16) -> String {
    allow_all(&format!("[limits]\nmax_execution_time = \"10m\"\nmax_call_time = \"5m\"\n{}", faulty()))
        .replace(
            "127.0.0.1:0\"",
            &format!("127.0.0.1:{port}\"\nsessions = true\npublic_url = \"https://mcp.example.com/mcp\""),
        )
        .replace(
            "mode = \"static\"\nsubject = \"local\"",
            "mode = \"proxy\"\nheader = \"x-remote-user\"\npeers = [\"127.0.0.1/32\"]\nshared_secret_file = \"secret\"",
        )
}

fn start(port: u16) -> Daemon {
    Daemon::start_with(&config(port), |folder| fs::write(folder.join("secret"), SECRET).unwrap())
}

/// Each proxy in front of a daemon of its own.
fn each(test: &str, check: impl Fn(&Proxy, Daemon)) {
    for kind in KINDS {
        let port = free_port();
        let daemon = start(port);
        if let Some(proxy) = Proxy::start(kind, By::Proxy, port, test) {
            check(&proxy, daemon);
        }
    }
}

fn note(text: &str) -> String {
    format!("faulty.record(value = \"{text}\")")
}

#[test]
fn the_subject_is_whom_the_proxy_says_and_nobody_else() {
    each("the_subject_is_whom_the_proxy_says_and_nobody_else", |proxy, daemon| {
        let mut wire = proxy.connect();
        let forged = ["x-remote-user", "X-Remote-User", "x_remote_user"].map(|name| (name, "bob"));
        wire.post(&execute(1, &format!("return {}", note("who"))), &[&forged[..], &[ANN]].concat());
        let answer = wire.messages().pop().unwrap();
        assert_eq!(answer["result"]["structuredContent"]["result"]["subject"], "ann", "{answer}");
        let mut stranger = proxy.connect();
        stranger.post(&execute(1, "return 1"), &forged);
        assert_eq!(stranger.head().status, 401, "the proxy lets nobody in without a password");
        let mut direct = Wire::connect(&daemon);
        direct
            .post(&execute(1, "return 1"), &[("x-remote-user", "ann"), ("x-codemode-secret", "a guess of 16 letters")]);
        assert_eq!(direct.head().status, 401, "and the daemon nobody but the proxy");
    });
}

#[test]
fn a_request_that_is_too_large_is_answered_so() {
    each("a_request_that_is_too_large_is_answered_so", |proxy, _daemon| {
        for bytes in [(1 << 20) - 100, (1 << 20) + 100, 3 << 20] {
            let mut wire = proxy.connect();
            wire.request("POST", &[ANN], " ".repeat(bytes).as_bytes());
            let expected = if bytes < 1 << 20 { 400 } else { 413 };
            assert_eq!(wire.status(), Some(expected), "{bytes} bytes");
        }
    });
}

// robhunter/agentdeals#1100: what a proxy collects, a client does not see.
#[test]
fn a_long_run_tells_of_its_progress_while_it_goes_on() {
    let pause = scaled(Duration::from_millis(400), Duration::from_secs(9));
    each("a_long_run_tells_of_its_progress_while_it_goes_on", |proxy, daemon| {
        let body =
            format!("for i in range(10):\n    faulty.sleep(milliseconds = {})\n{}", pause.as_millis(), note("ended"));
        let mut wire = proxy.connect();
        wire.post(&execute_with_progress(1, &json!("p"), &body), &[ANN]);
        let head = wire.head();
        assert_eq!((head.status, head.value("content-type")), (200, Some("text/event-stream")));
        let mut told = String::new();
        while !told.contains("\"progress\":5") {
            let Some(piece) = wire.piece() else {
                panic!("no word of five calls: {told}\n{}\n{}", daemon.log(), proxy.log());
            };
            told += &piece;
        }
        assert!(told.starts_with(":\n\n"), "{told}");
        assert!(!daemon.recorded("ended"), "the word came before the end");
        while let Some(piece) = wire.piece() {
            told += &piece;
        }
        assert!(told.contains("\"progress\":11") && told.contains("\"result\""), "{told}");
    });
}

/// A proxy that still reads the request when the answer begins may cut it off, now and then.
#[test]
fn every_stream_that_begins_at_once_comes_whole() {
    each("every_stream_that_begins_at_once_comes_whole", |proxy, _daemon| {
        for number in 0..150 {
            let mut wire = proxy.connect();
            wire.post(&execute_with_progress(number, &json!("p"), "faulty.sleep(milliseconds = 5)"), &[ANN]);
            let messages = wire.messages();
            let last = messages.last().unwrap_or_else(|| panic!("stream {number} was cut off"));
            assert!(last["id"] == number && last["result"]["isError"] == false, "{messages:?}");
        }
    });
}

// modelcontextprotocol/python-sdk#2507, through a proxy: it passes on that its client has gone.
#[test]
fn hanging_up_on_the_proxy_ends_the_run() {
    each("hanging_up_on_the_proxy_ends_the_run", |proxy, daemon| {
        for token in [None, Some(json!(1))] {
            let before = daemon.log().matches("Cancelled").count();
            let mut wire = proxy.connect();
            let note = if token.is_some() { "streamed" } else { "plain" };
            let body = format!("{}\nfaulty.wait()", self::note(note));
            match &token {
                Some(token) => wire.post(&execute_with_progress(1, token, &body), &[ANN]),
                None => wire.post(&execute(1, &body), &[ANN]),
            }
            until("the run has begun", || daemon.recorded(note));
            drop(wire);
            until("the run has ended", || daemon.log().matches("Cancelled").count() > before);
        }
    });
}

#[test]
fn a_run_is_called_off_through_the_proxy() {
    each("a_run_is_called_off_through_the_proxy", |proxy, daemon| {
        let session = proxy.open_session();
        let within = [ANN, ("mcp-session-id", session.as_str())];
        let mut wire = proxy.connect();
        wire.post(&execute_with_progress(5, &json!(1), &format!("{}\nfaulty.wait()", note("begun"))), &within);
        until("the run has begun", || daemon.recorded("begun"));
        let mut other = proxy.connect();
        let params = json!({ "requestId": 5 });
        other.post(&json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": params }), &within);
        assert_eq!(other.head().status, 202);
        let (head, body) = wire.answer();
        assert!(head.status == 200 && !body.contains("\"id\":5"), "no answer to what was called off: {body}");
        until("the run has ended", || daemon.log().contains("Cancelled"));
    });
}

// modelcontextprotocol/typescript-sdk#2538: silent streams die after about five minutes.
#[test]
fn an_idle_stream_stays_open() {
    let while_idle = scaled(Duration::from_secs(14), Duration::from_secs(310));
    each("an_idle_stream_stays_open", |proxy, _daemon| {
        let session = proxy.open_session();
        let mut wire = proxy.connect();
        wire.request("GET", &[ANN, ("mcp-session-id", &session)], b"");
        assert_eq!(wire.head().status, 200);
        let begun = Instant::now();
        let mut comments = 0;
        while begun.elapsed() < while_idle || comments < 2 {
            assert_eq!(wire.piece().as_deref(), Some(":\n\n"));
            comments += 1;
        }
        let ping = json!({ "jsonrpc": "2.0", "id": 1, "method": "ping" });
        let mut other = proxy.connect();
        other.post(&ping, &[ANN, ("mcp-session-id", &session)]);
        assert_eq!(other.head().status, 200, "the session is still there");
    });
}

// yantrikos/yantrikdb-mcp#28 and others: what a client must see of a restart.
#[test]
fn a_restart_is_a_pause_without_a_session_and_a_404_within_one() {
    each("a_restart_is_a_pause_without_a_session_and_a_404_within_one", |proxy, daemon| {
        let port = daemon.address().rsplit(':').next().unwrap().parse().unwrap();
        let session = proxy.open_session();
        let status = |headers: &[(&str, &str)]| {
            let mut wire = proxy.connect();
            wire.post(&json!({ "jsonrpc": "2.0", "id": 1, "method": "ping" }), headers);
            wire.head().status
        };
        let within = [ANN, ("mcp-session-id", session.as_str())];
        assert_eq!((status(&[ANN]), status(&within)), (200, 200));

        let mut wire = proxy.connect();
        let body = format!("{}\nfaulty.sleep(milliseconds = 1500)\nreturn \"finished\"", note("last"));
        wire.post(&execute_with_progress(1, &json!(1), &body), &[ANN]);
        until("the last run has begun", || daemon.recorded("last"));
        daemon.terminate();
        let answer: Value = wire.messages().pop().unwrap();
        assert_eq!(answer["result"]["structuredContent"]["result"], "finished", "what was begun is finished: {answer}");
        drop(daemon);
        assert_eq!(status(&[ANN]), 502);

        let _daemon = start(port);
        until("the proxy finds the daemon again", || status(&[ANN]) == 200);
        assert_eq!(status(&within), 404);
        assert_ne!(proxy.open_session(), session);
    });
}
