//! (d) programs per second, with the clients on the same cores, and what bare re-execution would allow.

use std::time::{Duration, Instant};

use codemoded::worker::{Spawner, Start};

use super::client::{Client, Request};
use super::daemon::{Server, Setting};
use super::table::{Micros, Row, Samples};
use super::worker::{outfit, start_and_serve};
use super::{TRIVIAL, TRIVIAL_ANSWER};

const WARM_UP: Duration = Duration::from_millis(500);
const TIME: Duration = Duration::from_secs(4);
const CLIENTS: [usize; 3] = [1, 8, 64];
const SUBJECTS: usize = 8;
/// Workers that are served at once, and so the bare loops beside each other.
pub(crate) const SLOTS: usize = 8;

/// What one load did.
pub(crate) struct Load {
    pub(crate) per_second: f64,
    pub(crate) latencies: Samples,
    /// Of the daemon and its workers, for each run.
    pub(crate) cpu: Duration,
}

pub(crate) async fn rows() -> Vec<Row> {
    let mut rows = Vec::new();
    for start in ["fork", "exec"] {
        let daemon = Server::daemon(&Setting { ready: SLOTS, ..Setting::new(start) });
        for clients in CLIENTS {
            let before = if start == "exec" { bare(Start::Exec).await } else { 0.0 };
            let load = load(&daemon, clients, (TRIVIAL, TRIVIAL_ANSWER)).await;
            let after = if start == "exec" { bare(Start::Exec).await } else { 0.0 };
            rows.push(row(start, clients, &load, (before + after) / 2.0));
        }
    }
    rows
}

fn row(start: &str, clients: usize, load: &Load, bare: f64) -> Row {
    let Load { per_second, latencies, cpu } = load;
    let what = format!("{clients} clients, {start}: **{per_second:.0}/s**, {} CPU a run", Micros(*cpu));
    let mut row = Row::of("d", what, latencies);
    if start == "exec" {
        row.floor = format!("bare re-execution {bare:.0}/s");
        row.ratio = format!("{:.2}", per_second / bare);
    }
    match (start, clients) {
        ("fork", 64) => row.goal("≥ 900/s", *per_second >= 900.0),
        ("exec", 64) => row.goal("≥ 0.8", per_second / bare >= 0.8),
        _ => row,
    }
}

/// Runs a program, whose answer has this in it, as often as it goes.
pub(crate) async fn load(daemon: &Server, clients: usize, (program, answer): (&'static str, &'static str)) -> Load {
    let begun = Instant::now();
    let (from, until) = (begun + WARM_UP, begun + WARM_UP + TIME);
    let mut tasks = Vec::new();
    for number in 0..clients {
        let subject = format!("subject{}", number % SUBJECTS);
        let request = Request::execute(&daemon.address, &subject, program, answer);
        let mut client = Client::connect(&daemon.address).await;
        tasks.push(tokio::spawn(async move {
            let mut times = Vec::new();
            while Instant::now() < until {
                let took = client.send(&request).await;
                if Instant::now() > from {
                    times.push(took);
                }
            }
            times
        }));
    }
    tokio::time::sleep_until(from.into()).await;
    let cpu = daemon.cpu();
    let mut times = Vec::new();
    for task in tasks {
        times.extend(task.await.unwrap());
    }
    let (cpu, took) = (daemon.cpu() - cpu, from.elapsed());
    let runs = times.len().max(1);
    Load {
        per_second: runs as f64 / took.as_secs_f64(),
        cpu: cpu / u32::try_from(runs).unwrap(),
        latencies: Samples::new(times),
    }
}

/// Worker after worker from start to result, as many beside each other as the daemon has slots, and nothing else.
async fn bare(start: Start) -> f64 {
    let (spawner, outfit) = (Spawner::start(codemoded::metrics::Metrics::default()).unwrap(), outfit(start));
    let begun = Instant::now();
    let loops = (0..SLOTS).map(|_| {
        let (spawner, outfit) = (spawner.clone(), outfit.clone());
        tokio::spawn(async move {
            let mut count = 0_u32;
            while begun.elapsed() < TIME / 2 {
                start_and_serve(&spawner, &outfit).await;
                count += 1;
            }
            count
        })
    });
    let mut all = 0;
    for each in loops.collect::<Vec<_>>() {
        all += each.await.unwrap();
    }
    f64::from(all) / begun.elapsed().as_secs_f64()
}
