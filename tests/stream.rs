//! Answers that take long: when they become streams, what goes over these, and what ends them.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::harness::{Daemon, allow_all, faulty, until};
use crate::wire::{Wire, borrowed, execute, execute_with_progress, stateless};

fn start() -> Daemon {
    Daemon::start(&allow_all(&format!("[limits]\nmax_execution_time = \"30s\"\nmax_call_time = \"25s\"\n{}", faulty())))
}

const LONG: &str = "return faulty.sleep(milliseconds = 2500)";

// modelcontextprotocol/rust-sdk#683: wrapping every small answer in a stream cost throughput.
#[test]
fn a_short_run_is_answered_in_plain_json() {
    let daemon = start();
    let mut wire = Wire::connect(&daemon);
    wire.post(&execute(1, "return 1"), &[]);
    let (head, body) = wire.answer();
    assert_eq!((head.status, head.value("content-type")), (200, Some("application/json")));
    assert_eq!(head.value("content-length"), Some(body.len().to_string().as_str()));
}

// robhunter/agentdeals#1100: a proxy holds back even the head of an answer until its first byte, and cuts off silence.
#[test]
fn a_long_run_becomes_a_stream_that_opens_with_a_comment() {
    let daemon = start();
    let mut wire = Wire::connect(&daemon);
    wire.post(&execute(7, LONG), &[]);
    let head = wire.head();
    assert_eq!((head.status, head.value("content-type")), (200, Some("text/event-stream")));
    assert_eq!((head.value("x-accel-buffering"), head.value("cache-control")), (Some("no"), Some("no-cache")));
    assert_eq!(wire.piece().as_deref(), Some(":\n\n"));
    let answer = wire.piece().unwrap();
    let answer: Value = serde_json::from_str(answer.strip_prefix("data: ").unwrap().trim_end()).unwrap();
    assert_eq!((&answer["id"], &answer["result"]["structuredContent"]["result"]), (&json!(7), &json!(2500)));
    assert_eq!(wire.piece(), None, "the answer ends the stream");
    wire.post(&execute(8, "return 1"), &[]);
    assert_eq!(wire.messages()[0]["id"], 8, "the connection goes on");
}

// modelcontextprotocol/typescript-sdk#2538: silent streams die, and those of long tools too.
#[test]
fn a_run_that_says_nothing_is_a_comment_every_quarter_minute() {
    let daemon = start();
    let silent = "return faulty.sleep(milliseconds = 18000)";
    let (modern, headers) = stateless(execute_with_progress(2, &json!("t"), silent));
    std::thread::scope(|scope| {
        for (message, headers) in [(execute(1, silent), vec![]), (modern, borrowed(&headers))] {
            let daemon = &daemon;
            scope.spawn(move || {
                let mut wire = Wire::connect(daemon);
                wire.post(&message, &headers);
                assert_eq!(wire.head().status, 200);
                let mut pieces = Vec::new();
                while let Some(piece) = wire.piece() {
                    pieces.push((piece, Instant::now()));
                }
                let comments: Vec<_> = pieces.iter().filter(|(piece, _)| piece == ":\n\n").collect();
                let [(_, first), (_, second)] = comments[..] else { panic!("{pieces:?}") };
                let silence = *second - *first;
                assert!((14..17).contains(&silence.as_secs()), "{silence:?}");
                assert!(pieces.last().unwrap().0.contains("18000"), "{pieces:?}");
            });
        }
    });
}

#[test]
fn a_client_that_takes_no_streams_gets_json_however_long_it_takes() {
    let daemon = start();
    let mut wire = Wire::connect(&daemon);
    wire.post(&execute_with_progress(1, &json!("t"), LONG), &[("accept", "application/json")]);
    let head = wire.head();
    assert_eq!(head.value("content-type"), Some("application/json"));
    assert!(wire.body(&head).contains("2500"));
}

// openai/codex#38495: without word of progress, long work becomes a polling loop.
#[test]
fn progress_counts_the_native_calls_done_in_both_eras() {
    let daemon = start();
    let calls = "for i in range(4):\n    faulty.sleep(milliseconds = 100)\nreturn \"done\"";
    for token in [json!("token"), json!(41)] {
        let call = execute_with_progress(1, &token, calls);
        let (modern, headers) = stateless(call.clone());
        for (message, headers) in [(call, vec![]), (modern, borrowed(&headers))] {
            let mut wire = Wire::connect(&daemon);
            wire.post(&message, &headers);
            let mut messages = wire.messages();
            let answer = messages.pop().unwrap();
            assert_eq!(answer["result"]["structuredContent"]["result"], "done", "{answer}");
            let of = |message: &Value| {
                assert_eq!(
                    (&message["method"], &message["params"]["progressToken"]),
                    (&json!("notifications/progress"), &token)
                );
                message["params"]["progress"].as_f64().unwrap()
            };
            let told: Vec<f64> = messages.iter().map(of).collect();
            assert_eq!(told.first(), Some(&0.0), "{told:?}");
            assert!(told.is_sorted_by(|one, next| one < next) && told.len() >= 4, "{told:?}");
        }
    }
}

// modelcontextprotocol/python-sdk#2507: clients often never cancel; they hang up.
#[test]
fn hanging_up_ends_a_run_before_and_after_its_stream_has_begun() {
    for token in [None, Some(json!(1))] {
        let daemon = start();
        let mut wire = Wire::connect(&daemon);
        let forever = "faulty.note(text = \"begun\")\nfaulty.wait()";
        match &token {
            Some(token) => wire.post(&execute_with_progress(1, token, forever), &[]),
            None => wire.post(&execute(1, forever), &[]),
        }
        if token.is_some() {
            assert_eq!(wire.head().value("content-type"), Some("text/event-stream"));
            assert_eq!(wire.piece().as_deref(), Some(":\n\n"), "before anything else");
        }
        until("the run makes its call", || daemon.recorded("begun"));
        drop(wire);
        until("the run has ended", || daemon.log().contains("Cancelled"));
    }
}

#[test]
fn a_request_that_is_refused_is_refused_before_any_stream() {
    let daemon = start();
    let (message, mut headers) = stateless(execute_with_progress(1, &json!(1), "return 1"));
    headers[1].1 = "tools/list".to_owned();
    let mut wire = Wire::connect(&daemon);
    wire.post(&message, &borrowed(&headers));
    let (head, body) = wire.answer();
    assert_eq!((head.status, head.value("content-type")), (400, Some("application/json")));
    assert!(body.contains("-32020"), "{body}");
}

#[test]
fn a_runs_time_counts_from_its_requests_head() {
    let daemon = Daemon::start(&allow_all("[limits]\nmax_execution_time = \"700ms\"\n"));
    let body = execute(1, "return 1").to_string();
    let mut wire = Wire::connect(&daemon);
    let bytes = crate::wire::request("POST", daemon.address(), &[], body.as_bytes());
    let (head, rest) = bytes.split_at(bytes.len() - 1);
    wire.send(head);
    std::thread::sleep(Duration::from_millis(900));
    wire.send(rest);
    assert_eq!(wire.messages()[0]["result"]["content"][0]["text"], "resource limit exceeded: max_execution_time");
}
