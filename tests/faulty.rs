//! Handlers that misbehave: the run has its one text, and the daemon goes on serving.

use serde_json::json;

use crate::harness::{Daemon, allow_all, faulty};

const FAILED: &str = "capability failed";
const CALL_TIME: &str = "resource limit exceeded: max_call_time";
const BYTES: &str = "resource limit exceeded: max_value_bytes";
const DEPTH: &str = "resource limit exceeded: max_value_depth";

/// Calls that go wrong, and how the run ends.
const CALLS: [(&str, &str); 18] = [
    ("panic()", FAILED),
    ("panic_async()", FAILED),
    ("hang()", CALL_TIME),
    ("hang_async()", CALL_TIME),
    ("wait()", CALL_TIME),
    ("wait_async()", CALL_TIME),
    ("sleep(milliseconds = 5000)", CALL_TIME),
    ("sleep_async(milliseconds = 5000)", CALL_TIME),
    ("wrong_type()", FAILED),
    ("fail(message = \"m\")", FAILED),
    ("publish(message = \"m\")", "capability failed: m"),
    ("huge(letters = 3000000)", BYTES),
    ("huge(letters = 20000000)", BYTES),
    ("deep(levels = 5000)", DEPTH),
    ("deep(levels = 400000)", DEPTH),
    ("raw(json = \"[1,\")", FAILED),
    ("raw(json = \"1e400\")", FAILED),
    ("raw(json = \"\")", FAILED),
];

#[test]
fn no_misbehaviour_of_a_handler_stops_the_daemon() {
    for how in ["exec", "fork"] {
        let rest = format!("[workers]\nstart = \"{how}\"\n[limits]\nmax_call_time = \"800ms\"\n{}", faulty());
        let daemon = Daemon::start(&allow_all(&rest));
        for (call, text) in CALLS {
            let answer = daemon.main(&format!("return faulty.{call}"));
            assert_eq!(answer.error(), format!("{text}\ncalls made: 1"), "{how}: {call}");
            let next = daemon.main("return [faulty.echo(value = 1), faulty.echo_async(value = 2)]");
            assert_eq!(*next.result(), json!([1, 2]), "{how}: after {call}");
        }
    }
}
