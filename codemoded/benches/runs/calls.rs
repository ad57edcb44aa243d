//! (e) what one native call adds to a run: bind, send, bind again, decide, dispatch, check, answer.

use std::time::Duration;

use super::client::{Client, Request};
use super::daemon::{Server, Setting};
use super::floor;
use super::table::{Row, Samples, ratio};

const CALLS: u32 = 500;

/// A few rules, one of which looks at the arguments.
const POLICY: &str = r#"package authz
default allow := false
readers := {"ann", "bob"}
allow if { input.subject.id in readers; input.capability.hints.read_only; not banned }
allow if { input.capability.name == "other.thing"; input.arguments.value == 1 }
banned if input.subject.id == "mallory"
"#;

pub(crate) async fn added() -> Vec<Row> {
    let floor = Samples::new(floor::round_trips(5_000).await);
    let mut rows = Vec::new();
    for (with, policy, goal) in [("without", None, 25.0), ("with", Some(POLICY), 35.0)] {
        let limits = "max_native_calls = 1000".to_owned();
        let daemon = Server::daemon(&Setting { policy, limits, ..Setting::new("fork") });
        for (kind, capability) in [("blocking", "faulty.echo"), ("async", "faulty.echo_async")] {
            let samples = call(&daemon, capability).await;
            let micros = samples.median().as_secs_f64() * 1e6;
            let times = ratio(samples.median(), floor.median());
            rows.push(
                Row::of("e", format!("one native call, {with} policy, {kind} handler"), &samples)
                    .beside("round trip", floor.median(), times)
                    .goal(format!("≤ {goal} µs"), micros <= goal),
            );
        }
    }
    rows
}

/// The difference between runs that make many calls and runs that make one, for each call.
async fn call(daemon: &Server, capability: &str) -> Samples {
    let program = |calls: u32| {
        let source =
            format!("def main():\n    for i in range({calls}):\n        {capability}(value = i)\n    return 2\n");
        Request::execute(&daemon.address, "ann", &source, super::TWO)
    };
    let (one, many) = (program(1), program(CALLS));
    let mut client = Client::connect(&daemon.address).await;
    let mut added = Vec::new();
    for _ in 0..100 {
        tokio::time::sleep(Duration::from_millis(6)).await;
        let least = client.send(&one).await;
        tokio::time::sleep(Duration::from_millis(6)).await;
        let most = client.send(&many).await;
        added.push(most.saturating_sub(least) / (CALLS - 1));
    }
    Samples::new(added)
}
