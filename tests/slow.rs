//! Clients that take their time, and very many of them: each is let go of at its time-out, and nobody else waits.

use std::fs;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use serde_json::json;

use crate::harness::{Daemon, SECRET, allow_all, until};
use crate::wire::{Wire, execute, request};

const PING: &str = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;

fn start(settings: &str) -> Daemon {
    Daemon::start(&allow_all("").replacen("[server]\n", &format!("[server]\n{settings}\n"), 1))
}

/// Subjects are whom a proxy vouches for.
fn vouched(settings: &str) -> Daemon {
    let config = allow_all("[rates]\nrequests_per_minute = 1000000\n")
        .replacen("[server]\n", &format!("[server]\n{settings}\n"), 1)
        .replace(
            "mode = \"static\"\nsubject = \"local\"",
            "mode = \"proxy\"\nheader = \"x-user\"\npeers = [\"127.0.0.1/32\"]\nshared_secret_file = \"secret\"",
        );
    Daemon::start_with(&config, |folder| fs::write(folder.join("secret"), SECRET).unwrap())
}

fn subject(name: &str) -> [(&str, &str); 2] {
    [("x-user", name), ("x-codemode-secret", SECRET)]
}

/// Well past any of the time-outs here, and far from the defaults.
const PATIENCE: Duration = Duration::from_secs(8);

#[test]
fn a_connection_that_sends_no_head_is_closed() {
    let daemon = start("header_timeout = \"300ms\"");
    for sent in [&b""[..], b"POST /mcp HTTP/1.1\r\nhost: x\r\n", b"PRI * HTTP/2.0\r\n\r\nSM\r\n", b"\r\n"] {
        let mut wire = Wire::connect(&daemon);
        wire.send(sent);
        assert!(wire.is_closed_within(PATIENCE), "{sent:?}");
    }
}

#[test]
fn a_head_that_trickles_in_gains_no_time() {
    let daemon = start("header_timeout = \"1s\"");
    let mut wire = Wire::connect(&daemon);
    let begun = Instant::now();
    let bytes = request("POST", daemon.address(), &[("x-padding", &"x".repeat(4000))], PING.as_bytes());
    for byte in bytes.chunks(1) {
        wire.send(byte);
        if wire.is_closed_within(Duration::from_millis(50)) {
            break;
        }
    }
    assert!(begun.elapsed() < PATIENCE, "{:?}", begun.elapsed());
}

#[test]
fn a_body_that_trickles_in_is_refused() {
    let daemon = start("body_timeout = \"400ms\"");
    let mut wire = Wire::connect(&daemon);
    wire.send(request("POST", daemon.address(), &[("content-length", "5000")], b"{"));
    let (head, body) = wire.answer();
    assert_eq!(head.status, 408, "{body}");
    assert!(body.contains("too long"), "{body}");
    assert!(wire.is_closed_within(PATIENCE), "what is left of the body must not be taken for a request");
}

#[test]
fn a_connection_is_kept_between_requests_and_then_closed() {
    let daemon = start("idle_timeout = \"1s\"");
    let mut wire = Wire::connect(&daemon);
    for _ in 0..3 {
        wire.request("POST", &[], PING.as_bytes());
        assert_eq!(wire.answer().0.status, 200);
        std::thread::sleep(Duration::from_millis(500));
    }
    assert!(wire.is_closed_within(PATIENCE));
}

#[test]
fn a_client_that_takes_no_answer_is_let_go_of() {
    let daemon = start("idle_timeout = \"1s\"");
    let mut wire = Wire::connect(&daemon);
    // Answers that nobody reads fill the buffers of both ends.
    let list = r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#;
    let many = request("POST", daemon.address(), &[], list.as_bytes()).repeat(4000);
    wire.send_without_waiting(&many);
    until("the daemon has taken the connection", || daemon.connections() == 1);
    until("the daemon has hung up", || daemon.connections() == 0);
}

#[test]
fn beyond_the_bound_connections_wait_until_one_is_closed() {
    let daemon = start("max_connections = 2\nheader_timeout = \"1s\"");
    let (_one, _other) = (Wire::connect(&daemon), Wire::connect(&daemon));
    let mut third = Wire::connect(&daemon);
    third.request("POST", &[], PING.as_bytes());
    assert_eq!(third.answer().0.status, 200, "when the others have had their time");
}

/// Enough for a busy machine to make ten thousand connections.
const HEADER_TIME: Duration = Duration::from_secs(20);

/// Half of them never ask, and half have asked once, so that either time-out has its share. All the while another
/// subject's runs succeed.
#[test]
fn ten_thousand_idle_connections_hold_up_nobody() {
    let most = getrlimit(Resource::Nofile).maximum;
    setrlimit(Resource::Nofile, Rlimit { current: most, maximum: most }).unwrap();
    // A machine may allow fewer; the test's own process needs some, too.
    let count = most.map_or(10_000, |most| usize::try_from(most).unwrap().saturating_sub(500)).min(10_000);
    assert!(count >= 3_000, "the limit of open files is too low to say anything: {most:?}");
    let daemon = vouched("max_connections = 12000\nheader_timeout = \"20s\"\nidle_timeout = \"20s\"");
    let begun = Instant::now();
    let mut idle: Vec<Wire> = (0..count).map(|_| Wire::connect(&daemon)).collect();
    for wire in idle.iter_mut().step_by(2) {
        wire.request("POST", &subject("ann"), PING.as_bytes());
        assert_eq!(wire.answer().0.status, 200);
    }
    until("all are connected", || daemon.connections() == count);
    assert!(begun.elapsed() < HEADER_TIME, "none has had its time yet");
    let (closed, runs) = (AtomicBool::new(false), AtomicUsize::new(0));
    let closing = std::thread::scope(|scope| {
        scope.spawn(|| {
            while !closed.load(Ordering::Relaxed) {
                let mut busy = Wire::connect(&daemon);
                busy.post(&execute(1, "return 6 * 7"), &subject("bob"));
                assert_eq!(busy.messages()[0]["result"]["structuredContent"], json!({ "result": 42 }));
                runs.fetch_add(1, Ordering::Relaxed);
                std::thread::sleep(Duration::from_millis(50));
            }
        });
        for wire in &mut idle {
            assert!(wire.is_closed_within(Duration::from_secs(60)));
        }
        closed.store(true, Ordering::Relaxed);
        begun.elapsed()
    });
    assert!(closing > HEADER_TIME, "each has had its time");
    let runs = runs.into_inner();
    println!("{count} idle connections, all closed after {closing:?}; {runs} runs meanwhile");
    assert!(runs > 50, "{runs} runs while they were closed");
}
