//! Thousands of mixed runs of many clients: every good one is right, and nothing is left behind.
//!
//! Five hundred runs, or twenty thousand where CODEMODE_SOAK is set. Half are good, of eight subjects; the other half
//! do what they can to hurt, all of one subject: programs without an end, results and heaps too large, workers that
//! crash or speak nonsense, clients that hang up at any moment. The workers are those of `codemoded/examples/intruder`,
//! for no program can make a worker of `codemoded` crash at will.

mod endings;
mod reloads;

use std::collections::BTreeMap;
use std::fs;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

pub(crate) use reloads::Ending;

use crate::harness::{Daemon, by_hand, by_header_as, faulty_example, intruder, main_of, plugin, program, send, until};

const CLIENTS: usize = 64;
const SLOTS: usize = 8;
const READY: usize = 4;
const TIME: &str = "resource limit exceeded: max_execution_time";

/// What one run is for. The first text is what it must answer; a hostile one may also have waited in vain.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    Good,
    Endless,
    LongResult,
    Heap,
    Deep,
    Crash,
    Forbidden,
    Nonsense,
    HangUp,
}

impl Kind {
    /// Every second run is good, and every hundredth has no end.
    fn of(run: usize) -> Self {
        const HOSTILE: [Kind; 7] =
            [Kind::LongResult, Kind::HangUp, Kind::Heap, Kind::Crash, Kind::Deep, Kind::Forbidden, Kind::Nonsense];
        match run {
            _ if run.is_multiple_of(2) => Self::Good,
            _ if run % 100 == 1 => Self::Endless,
            _ => HOSTILE[run / 2 % HOSTILE.len()],
        }
    }

    fn source(self, run: usize) -> String {
        match self {
            Self::Good => program(&format!(
                "counted = words.count(text = \"a b \" * {})\nreturn [counted[\"words\"], sum(range({run}))]",
                run % 50
            )),
            Self::Endless | Self::HangUp => program("for i in range(1000000000):\n    pass"),
            Self::LongResult => program("return \"x\" * 70000"),
            Self::Heap => program("return len(\"x\" * 2000000000)"),
            Self::Deep => program(&format!("return {}", "[".repeat(60_000))),
            Self::Crash => "attack wild-write".to_owned(),
            Self::Forbidden => "attack open".to_owned(),
            Self::Nonsense => "say bytes=ffffffff wait".to_owned(),
        }
    }

    fn subject(self, run: usize) -> String {
        if self == Self::Good { format!("good-{}", run / 2 % 8) } else { "mallory".to_owned() }
    }

    /// Whether the answer's text is right.
    fn is_right(self, run: usize, text: &str) -> bool {
        let limit = |name: &str| text.starts_with(&format!("resource limit exceeded: {name}"));
        match self {
            Self::Good => {
                let (words, sum) = (run % 50 * 2, run * run.saturating_sub(1) / 2);
                text == format!("{{\"result\":[{words},{sum}]}}")
            }
            Self::Endless => text == TIME,
            Self::LongResult => limit("max_result_bytes") || text == TIME,
            Self::Heap => limit("max_worker_memory") || text == TIME,
            Self::Deep => text == "invalid program: nested too deeply" || text == TIME,
            Self::Crash | Self::Forbidden | Self::Nonsense => text == "internal failure" || text == TIME,
            Self::HangUp => true,
        }
    }
}

/// A number for each run, spread evenly and the same every time.
fn scattered(run: usize) -> u64 {
    (run as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40
}

/// Does the runs of a range with all clients at once, and gives how many of each kind were wrong and right.
fn soak(daemon: &Daemon, runs: std::ops::Range<usize>) -> BTreeMap<Kind, usize> {
    let next = AtomicUsize::new(runs.start);
    let done = Mutex::new(BTreeMap::new());
    let one = |run: usize| {
        let kind = Kind::of(run);
        let (subject, source) = (kind.subject(run), kind.source(run));
        if kind == Kind::HangUp {
            let socket = send(daemon, &by_hand(&subject), &source);
            // The moment is the point: nothing could be waited for.
            std::thread::sleep(Duration::from_micros(scattered(run) % 40_000));
            drop(socket);
        } else {
            let text = main_of(daemon, &subject, &source).text;
            assert!(kind.is_right(run, &text), "run {run}, {kind:?}: {text}");
        }
        *done.lock().unwrap().entry(kind).or_default() += 1;
    };
    std::thread::scope(|scope| {
        for _ in 0..CLIENTS {
            scope.spawn(|| {
                loop {
                    let run = next.fetch_add(1, Ordering::Relaxed);
                    if run >= runs.end {
                        return;
                    }
                    one(run);
                }
            });
        }
    });
    done.into_inner().unwrap()
}

/// What a daemon holds.
#[derive(Debug)]
pub(crate) struct Holdings {
    pub(crate) processes: usize,
    pub(crate) descriptors: usize,
    pub(crate) threads: usize,
    pub(crate) resident_kib: usize,
}

impl Holdings {
    pub(crate) fn of(daemon: &Daemon) -> Self {
        let status = fs::read_to_string(format!("/proc/{}/status", daemon.pid())).unwrap();
        let field = |name: &str| {
            let line = status.lines().find(|line| line.starts_with(name)).unwrap();
            line.split_whitespace().nth(1).unwrap().parse().unwrap()
        };
        Self {
            processes: daemon.children().len(),
            descriptors: fs::read_dir(format!("/proc/{}/fd", daemon.pid())).unwrap().count(),
            threads: field("Threads:"),
            resident_kib: field("VmRSS:"),
        }
    }

    /// What it holds comes back to what it held before: a thread of handlers waits ten seconds for the next call, and
    /// memory grows a little with use.
    #[track_caller]
    pub(crate) fn come_back(daemon: &Daemon, before: &Self, growth_kib: usize) -> Self {
        let patience = Instant::now() + Duration::from_secs(30);
        loop {
            let after = Self::of(daemon);
            let is_back = after.processes <= before.processes
                && after.descriptors <= before.descriptors + 2
                && after.threads <= before.threads + 2
                && after.resident_kib <= before.resident_kib + growth_kib;
            if is_back {
                return after;
            }
            assert!(Instant::now() < patience, "left behind: before {before:?}, after {after:?}");
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// The same, once the daemon has nothing to do.
    fn at_rest(daemon: &Daemon, how: &str) -> Self {
        let processes = READY + usize::from(how == "fork");
        until("only what waits for the next run is left", || daemon.children().len() == processes);
        Self::of(daemon)
    }
}

/// As many runs as there are slots get a worker each, at once.
fn every_slot_is_there(daemon: &Daemon) {
    let at_rest = daemon.children().len();
    let source = Kind::Endless.source(0);
    let held: Vec<_> = (0..SLOTS).map(|run| send(daemon, &by_hand(&format!("good-{}", run % 4)), &source)).collect();
    until("every slot has its worker", || daemon.children().len() == at_rest + SLOTS);
    drop(held);
    until("every slot is free again", || daemon.children().len() == at_rest);
}

fn soaked(how: &str) {
    // A good run must not be late on a machine that is busy for a while, and an endless one costs its whole time.
    let (runs, seconds) = if std::env::var_os("CODEMODE_SOAK").is_some() { (20_000, 15) } else { (500, 5) };
    let config = format!(
        "[rates]\nrequests_per_minute = 1000000\n[workers]\nready = {READY}\nstart = \"{how}\"\n[limits]\nmax_execution_steps = 1000000000000\n\
         max_execution_time = \"{seconds}s\"\nmax_queued_executions = 256\nmax_concurrent_executions = {SLOTS}\n{}",
        plugin("words", &faulty_example("words"), "")
    );
    let daemon = by_header_as(&intruder(), &config);
    // What grows with first use has grown after the first tenth.
    soak(&daemon, 0..runs / 10);
    let before = Holdings::at_rest(&daemon, how);
    let started = Instant::now();
    let done = soak(&daemon, runs / 10..runs);
    let took = started.elapsed();
    let after = Holdings::come_back(&daemon, &before, 16 * 1024);
    println!("{how}: {runs} runs of {CLIENTS} clients; after the first tenth {took:.1?}, {done:?}");
    println!("{how}: before {before:?}");
    println!("{how}: after  {after:?}");
    every_slot_is_there(&daemon);
    let log = daemon.log();
    for fault in ["panicked", "cannot reap", "cannot start a worker"] {
        assert!(!log.contains(fault), "{fault} in the log");
    }
}

#[test]
fn a_soak_of_executed_workers_leaves_nothing_behind() {
    soaked("exec");
}

#[test]
fn a_soak_of_forked_workers_leaves_nothing_behind() {
    soaked("fork");
}
