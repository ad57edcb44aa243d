//! (i) what it costs to keep records of every run and call, beside a daemon that keeps none.

use super::TWO;
use super::daemon::{Server, Setting};
use super::table::{Micros, Row, Samples};
use super::throughput::{Load, SLOTS, load};

const CLIENTS: usize = 8;
const ONE_CALL: &str = "def main():\n    return faulty.echo(value = 1) + 1\n";
/// Each daemon is loaded so often, in turn with the others: the machine is not the same from one second to the next.
const TURNS: usize = 4;

const KEPT: [(&str, &str); 3] = [
    ("nothing", ""),
    ("audit", "[audit]\nto = \"file:audit.jsonl\"\n"),
    ("audit, arguments hashed", "[audit]\nto = \"file:audit.jsonl\"\narguments = \"hashed\"\n"),
];

pub(crate) async fn rows() -> Vec<Row> {
    let setting = |more| Setting { ready: SLOTS, more, ..Setting::new("fork") };
    let daemons = KEPT.map(|(_, more)| Server::daemon(&setting(more)));
    let mut loads: [Vec<Load>; KEPT.len()] = std::array::from_fn(|_| Vec::new());
    for _ in 0..TURNS {
        for (daemon, loads) in daemons.iter().zip(&mut loads) {
            loads.push(load(daemon, CLIENTS, (ONE_CALL, TWO)).await);
        }
    }
    let plain = per_second(&loads[0]);
    KEPT.iter().zip(&loads).map(|((kept, _), loads)| row(kept, loads, plain)).collect()
}

fn row(kept: &str, loads: &[Load], plain: f64) -> Row {
    let own = per_second(loads);
    let cpu = loads.iter().map(|load| load.cpu).sum::<std::time::Duration>() / u32::try_from(loads.len()).unwrap();
    let what = format!("{CLIENTS} clients, fork, keeping {kept}: **{own:.0}/s**, {} CPU a run", Micros(cpu));
    let medians = Samples::new(loads.iter().map(|load| load.latencies.median()).collect());
    let mut row = Row::of("i", what, &medians);
    row.p99.clear();
    row.floor = format!("keeping nothing {plain:.0}/s");
    row.ratio = format!("{:.2}", own / plain);
    match kept {
        "audit" => row.goal("≥ 0.95", own / plain >= 0.95),
        _ => row,
    }
}

fn per_second(loads: &[Load]) -> f64 {
    loads.iter().map(|load| load.per_second).sum::<f64>() / loads.len() as f64
}
