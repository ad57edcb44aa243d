//! (i) what it costs to keep records of every run and call, and to tell of them, beside a daemon that does neither.

use std::path::PathBuf;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixStream;

use super::TWO;
use super::daemon::{ADMIN, Server, Setting};
use super::table::{Micros, Row, Samples};
use super::throughput::{Load, SLOTS, load};

const CLIENTS: usize = 8;
const ONE_CALL: &str = "def main():\n    return faulty.echo(value = 1) + 1\n";
/// Each daemon is loaded so often, in turn with the others: the machine is not the same from one second to the next.
const TURNS: usize = 4;
/// Between two readings of the figures; Prometheus takes seconds.
const BETWEEN_READINGS: Duration = Duration::from_millis(100);

const NOTHING: &str = "nothing";
const AUDIT: &str = "audit";
const FIGURES: &str = "figures, read ten times a second";

const KEPT: [(&str, &str); 4] = [
    (NOTHING, ""),
    (AUDIT, "[audit]\nto = \"file:audit.jsonl\"\n"),
    ("audit, arguments hashed", "[audit]\nto = \"file:audit.jsonl\"\narguments = \"hashed\"\n"),
    (FIGURES, ""),
];

pub(crate) async fn rows() -> Vec<Row> {
    let setting = |(kept, more)| Setting { ready: SLOTS, administered: kept == FIGURES, more, ..Setting::new("fork") };
    let daemons = KEPT.map(|kept| Server::daemon(&setting(kept)));
    let mut loads: [Vec<Load>; KEPT.len()] = std::array::from_fn(|_| Vec::new());
    for _ in 0..TURNS {
        for (((kept, _), daemon), loads) in KEPT.iter().zip(&daemons).zip(&mut loads) {
            let load = load(daemon, CLIENTS, (ONE_CALL, TWO));
            loads.push(if *kept == FIGURES { while_read(daemon, load).await } else { load.await });
        }
    }
    let plain = per_second(&loads[0]);
    KEPT.iter().zip(&loads).map(|((kept, _), loads)| row(kept, loads, plain)).collect()
}

/// A load beside somebody who reads the figures again and again.
async fn while_read(daemon: &Server, load: impl Future<Output = Load>) -> Load {
    let reader = tokio::spawn(read_figures(daemon.folder().join(ADMIN)));
    let load = load.await;
    assert!(!reader.is_finished(), "the figures cannot be read");
    reader.abort();
    load
}

async fn read_figures(socket: PathBuf) {
    loop {
        let mut stream = UnixStream::connect(&socket).await.unwrap();
        stream.write_all(b"GET /metrics HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n").await.unwrap();
        let mut text = String::new();
        stream.read_to_string(&mut text).await.unwrap();
        assert!(text.contains("codemoded_generation 1"), "{text}");
        tokio::time::sleep(BETWEEN_READINGS).await;
    }
}

fn row(kept: &str, loads: &[Load], plain: f64) -> Row {
    let own = per_second(loads);
    let cpu = loads.iter().map(|load| load.cpu).sum::<Duration>() / u32::try_from(loads.len()).unwrap();
    let what = format!("{CLIENTS} clients, fork, keeping {kept}: **{own:.0}/s**, {} CPU a run", Micros(cpu));
    let medians = Samples::new(loads.iter().map(|load| load.latencies.median()).collect());
    let mut row = Row::of("i", what, &medians);
    row.p99.clear();
    row.floor = format!("keeping nothing {plain:.0}/s");
    row.ratio = format!("{:.2}", own / plain);
    match kept {
        AUDIT | FIGURES => row.goal("≥ 0.95", own / plain >= 0.95),
        _ => row,
    }
}

fn per_second(loads: &[Load]) -> f64 {
    loads.iter().map(|load| load.per_second).sum::<f64>() / loads.len() as f64
}
