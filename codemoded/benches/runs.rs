//! What a run costs, each part beside the least that it could cost, measured in the same run. `BENCHMARKS.md` holds
//! the last table.
//!
//! `cargo bench -p codemoded --bench runs`, all of it; `… -- a d`, some of it.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a measurement stops at the first surprise"
)]

#[path = "runs/calls.rs"]
mod calls;
#[path = "runs/client.rs"]
mod client;
#[path = "runs/daemon.rs"]
mod daemon;
#[path = "runs/floor.rs"]
mod floor;
#[path = "runs/kept.rs"]
mod kept;
#[path = "runs/kill.rs"]
mod kill;
#[path = "runs/request.rs"]
mod request;
#[path = "runs/resident.rs"]
mod resident;
#[path = "runs/table.rs"]
mod table;
#[path = "runs/throughput.rs"]
mod throughput;
#[path = "runs/worker.rs"]
mod worker;

use codemoded::worker::child::Role;

/// The program of every measurement that is not about what a program does: a few values made, chosen from and put
/// together.
const TRIVIAL: &str = "\
def main():
    squares = [{\"n\": n, \"square\": n * n} for n in range(10)]
    even = [each[\"square\"] for each in squares if each[\"n\"] % 2 == 0]
    return {\"sum\": sum(even), \"count\": len(even)}
";
const TRIVIAL_RESULT: &str = r#"{"sum":120,"count":5}"#;
/// In what HTTP answers to it.
const TRIVIAL_ANSWER: &str = r#""structuredContent":{"result":{"sum":120,"count":5}}"#;
/// In what HTTP answers to a program that returns 2.
const TWO: &str = r#""structuredContent":{"result":2}"#;
/// What a proxy on the same machine proves itself with.
const SECRET: &str = "a-secret-of-no-consequence";

fn main() {
    // The workers of the measurements without a daemon are this executable again.
    if let Some(role) = Role::of_this_process() {
        role.serve();
    }
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.first().map(String::as_str) {
        Some(floor::BARE_TOOL) => floor::serve_bare_tool(),
        Some(floor::ECHO) => floor::serve_echo(),
        Some(_) | None => {
            let parts = arguments.into_iter().filter(|argument| !argument.starts_with("--")).collect();
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(measure(parts));
        }
    }
}

async fn measure(parts: Vec<String>) {
    let wanted = |key: &str| parts.is_empty() || parts.iter().any(|part| part == key);
    let mut rows = Vec::new();
    let load = || std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let before = load();
    for key in ["a", "b", "c", "d", "e", "f", "g", "h", "i"] {
        if !wanted(key) {
            continue;
        }
        let measured = match key {
            "a" => request::trivial().await,
            "b" => worker::ready().await,
            "c" => worker::unprepared().await,
            "d" => throughput::rows().await,
            "e" => calls::added().await,
            "f" => kill::overrun().await,
            "g" => request::catalogs().await,
            "h" => resident::rows().await,
            _ => kept::rows().await,
        };
        for row in &measured {
            eprintln!("{row}");
        }
        rows.extend(measured);
    }
    println!("load average before {}, after {}\n", before.trim(), load().trim());
    table::print(&rows);
}
