//! (a) a trivial program over loopback HTTP, and (g) what the size of the catalog adds.

use std::time::Duration;

use super::client::{Client, Request};
use super::daemon::{Server, Setting};
use super::floor::BARE_TOOL;
use super::table::{Row, Samples, ratio};
use super::{TRIVIAL, TRIVIAL_ANSWER, TWO};

/// Between two requests, so that a used worker's successor is ready: an agent does not call back to back.
pub(crate) const PAUSES: [(&str, Duration); 2] =
    [("fork", Duration::from_millis(6)), ("exec", Duration::from_millis(30))];

pub(crate) async fn trivial() -> Vec<Row> {
    let mut rows = Vec::new();
    for (start, pause) in PAUSES {
        let (floor, daemon) = (Server::this(BARE_TOOL), Server::daemon(&Setting::new(start)));
        let count = if start == "fork" { 1_000 } else { 400 };
        let [floor, run] = in_turn([&floor, &daemon], TRIVIAL, TRIVIAL_ANSWER, count, pause).await;
        let (times, spread) = (ratio(run.median(), floor.median()), ratio(run.p99(), run.median()));
        rows.push(
            Row::of("a", format!("trivial program over HTTP, {start}"), &run)
                .beside("bare tool", floor.median(), times)
                .goal("≤ 2.5; p99 ≤ 5 × median", times <= 2.5 && spread <= 5.0),
        );
    }
    rows
}

pub(crate) async fn catalogs() -> Vec<Row> {
    const SIZES: [usize; 3] = [10, 1_000, 20_000];
    let mut rows = Vec::new();
    let program = "def main():\n    return faulty.numbered.n7(value = 2)\n";
    for (what, source, answer) in
        [("trivial program", TRIVIAL, TRIVIAL_ANSWER), ("program with one call", program, TWO)]
    {
        let daemons =
            SIZES.map(|numbered| Server::daemon(&Setting { numbered: Some(numbered), ..Setting::new("fork") }));
        let daemons = [&daemons[0], &daemons[1], &daemons[2]];
        let samples = in_turn(daemons, source, answer, 600, Duration::from_millis(6)).await;
        let least = samples[0].median();
        for (size, samples) in SIZES.into_iter().zip(samples) {
            let times = ratio(samples.median(), least);
            let row = Row::of("g", format!("{what}, {size} capabilities"), &samples).beside("10", least, times);
            rows.push(if size == 20_000 { row.goal("≤ 1.2", times <= 1.2) } else { row });
        }
    }
    rows
}

/// The same call to several servers in turn, so that whatever else happens on the machine happens to all of them.
async fn in_turn<const N: usize>(
    servers: [&Server; N],
    source: &str,
    expected: &str,
    count: usize,
    pause: Duration,
) -> [Samples; N] {
    let mut clients = Vec::new();
    for server in servers {
        let request = Request::execute(&server.address, "ann", source, expected);
        clients.push((Client::connect(&server.address).await, request, Vec::with_capacity(count)));
    }
    const WARM_UP: usize = 20;
    for round in 0..count + WARM_UP {
        for (client, request, times) in &mut clients {
            tokio::time::sleep(pause).await;
            let took = client.send(request).await;
            if round >= WARM_UP {
                times.push(took);
            }
        }
    }
    let samples: Vec<_> = clients.into_iter().map(|(_, _, times)| Samples::new(times)).collect();
    samples.try_into().unwrap_or_else(|_| unreachable!("one for each server"))
}
