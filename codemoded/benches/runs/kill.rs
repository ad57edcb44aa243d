//! (f) how long after its deadline a run that would not end is answered.

use std::time::Duration;

use super::client::{Client, Request};
use super::daemon::{Server, Setting};
use super::floor::{self, SLEEP};
use super::table::{Row, Samples, ratio};

pub(crate) const DEADLINE: Duration = Duration::from_millis(100);
const TIMES: usize = 60;

pub(crate) async fn overrun() -> Vec<Row> {
    let limits = format!("max_execution_time = \"{}ms\"\nmax_execution_steps = 1000000000000", DEADLINE.as_millis());
    let bare = Server::this(floor::BARE_TOOL);
    let mut rows = Vec::new();
    for (start, pause) in super::request::PAUSES {
        let daemon = Server::daemon(&Setting { limits: limits.clone(), ..Setting::new(start) });
        for (what, body) in [
            ("an endless loop", "for i in range(1000000000):\n        pass"),
            ("one endless built-in", "all(range(1, 2000000000))"),
        ] {
            let source = format!("def main():\n    {body}\n    return 1\n");
            let expected = "resource limit exceeded: max_execution_time";
            let request = Request::execute(&daemon.address, "ann", &source, expected);
            let sleep = Request::call(&bare.address, "ann", SLEEP, &serde_json::json!({}), "120");
            let mut client = Client::connect(&daemon.address).await;
            let mut bare_client = Client::connect(&bare.address).await;
            let (mut overruns, mut oversleeps) = (Vec::new(), Vec::new());
            for _ in 0..TIMES {
                tokio::time::sleep(pause).await;
                overruns.push(client.send(&request).await.saturating_sub(DEADLINE));
                tokio::time::sleep(pause).await;
                oversleeps.push(bare_client.send(&sleep).await.saturating_sub(DEADLINE));
            }
            let (overruns, oversleeps) = (Samples::new(overruns), Samples::new(oversleeps));
            let holds = overruns.median() < Duration::from_millis(1) && overruns.worst() < Duration::from_millis(10);
            let row = Row::of("f", format!("answer after a deadline, {what}, {start}"), &overruns);
            let times = ratio(overruns.median(), oversleeps.median());
            let row = row.beside("bare sleep", oversleeps.median(), times);
            rows.push(row.goal("< 1 ms; worst < 10 ms", holds));
        }
    }
    rows
}
