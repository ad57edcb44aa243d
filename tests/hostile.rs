//! Programs that would not end, and callers that go away: the answer is out at the deadline, nobody is left, and the
//! next run works.

use std::io::Write;
use std::net::TcpStream;
use std::time::Duration;

use serde_json::json;

use crate::harness::{Daemon, allow_all, faulty, program, until};

const TIME: &str = "resource limit exceeded: max_execution_time";
const MEMORY: &str = "resource limit exceeded: max_worker_memory";
const DEEP: &str = "invalid program: nested too deeply";

/// How long after its deadline an answer may come on a machine that does other things too.
const GRACE: Duration = Duration::from_millis(500);
const DEADLINE: Duration = Duration::from_millis(700);

fn start(how: &str) -> Daemon {
    Daemon::start(&allow_all(&format!(
        "[workers]\nready = 2\nstart = \"{how}\"\n[limits]\nmax_execution_steps = 1000000000000\n\
         max_execution_time = \"{}ms\"\nmax_call_time = \"300ms\"\n{}",
        DEADLINE.as_millis(),
        faulty()
    )))
}

fn only_ready_workers_are_left(daemon: &Daemon) {
    until("only the ready workers are left", || daemon.children().len() <= 3);
}

#[test]
fn nothing_outlives_its_deadline() {
    let programs = [
        (program("for i in range(1000000000):\n    pass"), TIME),
        (program("x = 3\nfor i in range(60):\n    x = x * x\nreturn 1"), TIME),
        (program("x = []\nfor i in range(1000000000):\n    x.append(\"abc\" * 1000)"), MEMORY),
        (program("return \"x\" * 2000000000"), MEMORY),
        (program(&format!("return {}", "[".repeat(60_000))), DEEP),
        (program(&format!("return {}1", "1+".repeat(30_000))), DEEP),
    ];
    for how in ["exec", "fork"] {
        let daemon = start(how);
        for (source, text) in &programs {
            let answer = daemon.execute(source);
            // Squaring may exhaust memory first on a fast machine.
            let expected = answer.error() == *text || (*text == TIME && answer.error() == MEMORY);
            assert!(expected, "{how}: {} instead of {text}", answer.text);
            assert!(answer.took < DEADLINE + GRACE, "{how}: {:?}", answer.took);
            assert_eq!(*daemon.main("return 1 + 1").result(), json!(2));
        }
        only_ready_workers_are_left(&daemon);
    }
}

#[test]
fn a_client_that_goes_away_ends_its_run() {
    let daemon = start("exec");
    let address = daemon.url.strip_prefix("http://").unwrap().strip_suffix("/mcp").unwrap();
    let call = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call",
        "params": { "name": "execute", "arguments": { "source": program("for i in range(1000000000):\n    pass") } } });
    let body = call.to_string();
    let mut socket = TcpStream::connect(address).unwrap();
    write!(
        socket,
        "POST /mcp HTTP/1.1\r\nhost: {address}\r\ncontent-type: application/json\r\n\
         accept: application/json, text/event-stream\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    )
    .unwrap();
    until("the run has its worker", || daemon.children().len() > 2);
    drop(socket);
    until("the run has ended", || daemon.log().contains("Cancelled"));
    only_ready_workers_are_left(&daemon);
}

#[test]
fn no_misbehaviour_of_a_handler_stops_the_daemon() {
    let daemon = start("exec");
    let rows = [
        ("faulty.panic()", "capability failed"),
        ("faulty.hang()", "resource limit exceeded: max_call_time"),
        ("faulty.wait()", "resource limit exceeded: max_call_time"),
        ("faulty.wrong_type()", "capability failed"),
        ("faulty.fail(message = \"m\")", "capability failed"),
    ];
    for (call, text) in rows {
        let answer = daemon.main(&format!("return {call}"));
        assert_eq!(answer.error().lines().next().unwrap(), text, "{call}");
        assert_eq!(*daemon.main("return 1").result(), json!(1), "after {call}");
    }
}

#[test]
fn nobody_outlives_the_daemon() {
    for how in ["exec", "fork"] {
        let daemon = start(how);
        until("workers are ready", || daemon.children().len() >= 2);
        let children = daemon.children();
        drop(daemon);
        let alive = |pid: &u32| {
            let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
            // One that has ended may wait for the system's first process to take note.
            !stat.is_empty() && !stat.contains(") Z ")
        };
        until("no worker is left", || !children.iter().any(alive));
    }
}
