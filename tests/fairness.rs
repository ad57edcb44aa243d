//! One slot, and a subject that floods it: another subject waits for a turn, not for the flood.

use std::fs;
use std::io::Write;
use std::net::TcpStream;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value, json};

use crate::harness::{Daemon, by_hand, by_header, faulty, main_of, program, until};

const FLOOD: usize = 1_000;

/// Waiting runs that one subject may have; the rest of a flood is refused.
const SHARE: usize = 16;

/// Who noted something, in order.
fn noted(daemon: &Daemon) -> Vec<String> {
    let text = fs::read_to_string(daemon.folder.path().join("calls.jsonl")).unwrap_or_default();
    let subject = |line: &str| serde_json::from_str::<Value>(line).unwrap()["subject"].as_str().unwrap().to_owned();
    text.lines().map(subject).collect()
}

/// A run that holds its slot until its client hangs up.
fn hold(daemon: &Daemon, subject: &str) -> TcpStream {
    let source = program("faulty.note(text = \"holds\")\nfaulty.wait()");
    let body = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call",
        "params": { "name": "execute", "arguments": { "source": source } } })
    .to_string();
    let mut socket = TcpStream::connect(daemon.address()).unwrap();
    write!(
        socket,
        "POST /mcp HTTP/1.1\r\nhost: {}\r\n{}content-type: application/json\r\n\
         accept: application/json, text/event-stream\r\ncontent-length: {}\r\n\r\n{body}",
        daemon.address(),
        by_hand(subject),
        body.len()
    )
    .unwrap();
    until("the slot is held", || !noted(daemon).is_empty());
    socket
}

/// Sends that many runs, as many at once as may wait and some more, and counts the refused ones.
fn flood<'scope>(
    scope: &'scope std::thread::Scope<'scope, '_>,
    daemon: &'scope Daemon,
    subject: &'scope str,
    sent: &'scope [AtomicUsize; 2],
    runs: usize,
) {
    let [begun, refused] = sent;
    for _ in 0..runs.min(SHARE + 4) {
        scope.spawn(move || {
            while begun.fetch_add(1, Ordering::SeqCst) < runs {
                let answer = main_of(daemon, subject, &program("return faulty.note(text = \"ran\")[\"subject\"]"));
                if answer.is_error {
                    assert!(
                        answer.text.starts_with("resource limit exceeded: max_queued_executions"),
                        "{}",
                        answer.text
                    );
                    refused.fetch_add(1, Ordering::SeqCst);
                } else {
                    assert_eq!(answer.result(), subject);
                }
            }
        });
    }
}

#[test]
fn a_flood_of_a_thousand_runs_delays_another_subject_by_one_turn() {
    let daemon = by_header(&format!(
        "[limits]\nmax_concurrent_executions = 1\nmax_execution_time = \"60s\"\nmax_call_time = \"60s\"\n{}",
        faulty()
    ));
    let (ann, bob) = Default::default();
    std::thread::scope(|scope| {
        let held = hold(&daemon, "ann");
        flood(scope, &daemon, "ann", &ann, FLOOD);
        until("all that may wait does, and the rest is refused", || ann[1].load(Ordering::SeqCst) == FLOOD - SHARE);
        flood(scope, &daemon, "bob", &bob, SHARE + 1);
        until("all of the other's wait too", || bob[1].load(Ordering::SeqCst) == 1);
        drop(held);
    });
    let order = noted(&daemon);
    let turns = &order[1..];
    assert_eq!(turns.len(), 2 * SHARE, "{order:?}");
    // From the first turn on, whoever came first: neither has two turns while the other waits.
    for pair in turns.chunks(2) {
        assert_ne!(pair[0], pair[1], "{order:?}");
    }
}
