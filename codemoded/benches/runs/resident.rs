//! (h) what memory the daemon, its waiting workers and its busy workers take.

use std::time::Duration;

use super::client::{Client, Request};
use super::daemon::{Server, Setting, memory};
use super::table::Row;

/// Workers that wait, and runs that are held open.
const COUNT: usize = 8;
const MOST_KIB: u64 = 12 * 1024;

pub(crate) async fn rows() -> Vec<Row> {
    let mut rows = Vec::new();
    for start in ["fork", "exec"] {
        let daemon = Server::daemon(&Setting { ready: COUNT, ..Setting::new(start) });
        // All of them, and what has served the probe run is gone.
        let all = if start == "fork" { COUNT + 1 } else { COUNT };
        while daemon.children().len() != all {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        let Some(idle) = Taken::by(daemon.pid()) else {
            eprintln!("memory: only root may look into a worker");
            return rows;
        };
        let waiting = daemon.children();
        let ready: Vec<_> = waiting.iter().filter_map(|pid| Taken::by(*pid)).collect();
        rows.push(idle.row(format!("idle daemon, {COUNT} workers ready, {start}")));
        let mean = Taken::mean(&ready);
        let goal = format!("≤ {} MiB PSS", MOST_KIB / 1024);
        rows.push(mean.row(format!("one ready worker, {start}")).goal(goal, mean.proportional <= MOST_KIB));

        let source = "def main():\n    faulty.wait_async()\n    return 2\n";
        for number in 0..COUNT {
            let request = Request::execute(&daemon.address, &format!("subject{number}"), source, "");
            let address = daemon.address.clone();
            // Ends with the daemon.
            tokio::spawn(async move { Client::connect(&address).await.send_only(&request).await });
        }
        while daemon.children().len() < all + COUNT {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        tokio::time::sleep(Duration::from_millis(300)).await;
        let busy: Vec<_> = waiting.iter().filter_map(|pid| Taken::by(*pid)).collect();
        rows.push(Taken::mean(&busy).row(format!("one worker in the middle of a run, {start}")));
        let Some(serving) = Taken::by(daemon.pid()) else { continue };
        rows.push(serving.less(idle, COUNT as u64).row(format!("the daemon's own share of a run, {start}")));
    }
    rows
}

/// KiB of memory.
#[derive(Clone, Copy)]
struct Taken {
    resident: u64,
    proportional: u64,
    private: u64,
}

impl Taken {
    fn by(pid: u32) -> Option<Self> {
        Some(Self {
            resident: memory(pid, "Rss:")?,
            proportional: memory(pid, "Pss:")?,
            private: memory(pid, "Private_Dirty:")?,
        })
    }

    fn mean(all: &[Self]) -> Self {
        let mean = |of: fn(&Self) -> u64| all.iter().map(of).sum::<u64>() / (all.len() as u64).max(1);
        Self {
            resident: mean(|taken| taken.resident),
            proportional: mean(|taken| taken.proportional),
            private: mean(|taken| taken.private),
        }
    }

    /// The growth since `before`, for each of `count`.
    fn less(self, before: Self, count: u64) -> Self {
        let grown = |now: u64, then: u64| now.saturating_sub(then) / count;
        Self {
            resident: grown(self.resident, before.resident),
            proportional: grown(self.proportional, before.proportional),
            private: grown(self.private, before.private),
        }
    }

    fn row(self, what: String) -> Row {
        let mib = |kib: u64| format!("{:.1} MiB", kib as f64 / 1024.0);
        let Self { resident, proportional, private } = self;
        let median = format!("{} PSS", mib(proportional));
        let floor = format!("{} resident, {} its own", mib(resident), mib(private));
        Row { key: "h", what, median, floor, ..Row::default() }
    }
}
