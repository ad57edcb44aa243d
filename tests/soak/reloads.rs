//! Many clients while the daemon reloads every second, well and in vain by turns: no run fails that should not, none
//! mixes two generations, and nothing grows. Ten seconds, or five minutes where CODEMODE_SOAK is set.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use super::{CLIENTS, Holdings};
use crate::harness::{Answer, Daemon, SECRET, library, main_of, program, until};
use crate::reload::{TELL, Version, exchange};

const EVERY: Duration = Duration::from_secs(1);
const READY: usize = 4;
const REST: &str = "[rates]\nrequests_per_minute = 1000000000\n[workers]\nready = 4\n[limits]\n\
                    max_execution_time = \"60s\"\nmax_queued_executions = 1024\n";

fn config(number: usize) -> String {
    Version(number).config(REST).replace(
        "mode = \"static\"\nsubject = \"local\"",
        "mode = \"proxy\"\nheader = \"x-user\"\npeers = [\"127.0.0.1/32\"]\nshared_secret_file = \"secret\"",
    )
}

/// The plugin's file: a trailing byte makes another library of it.
fn put_library(folder: &Path, number: usize) {
    let mut bytes = fs::read(library("codemode_faulty")).unwrap();
    bytes.extend(std::iter::repeat_n(b'\n', number % 3));
    exchange(&folder.join("faulty.so"), &bytes);
    fs::set_permissions(folder.join("faulty.so"), fs::Permissions::from_mode(0o644)).unwrap();
}

/// The turn's files: every second turn is good, the others are broken in one of four ways.
fn write(folder: &Path, turn: usize) {
    let good = config(turn / 2);
    let (config, policy) = match turn % 8 {
        1 => ("[server\n".to_owned(), Version(turn).policy()),
        3 => (good, "package p\n\nallow := ".to_owned()),
        5 => (good.replace("./faulty.so", "./p.rego"), Version(turn).policy()),
        7 => (good.replace("record = ", "unhealthy = true, record = "), Version(turn).policy()),
        _ => {
            put_library(folder, turn / 2);
            (good, Version(turn / 2).policy())
        }
    };
    exchange(&folder.join("p.rego"), policy.as_bytes());
    exchange(&folder.join("codemode.toml"), config.as_bytes());
}

/// What a client asks for, and whether the answer is the one.
#[track_caller]
fn check(kind: usize, answer: &Answer) {
    match kind {
        0 | 1 => {
            let version = answer.result()[0].as_str().unwrap().parse().unwrap();
            assert_eq!(*answer.result(), Version(version).told());
        }
        2 => assert!(answer.error().starts_with("permission denied: version "), "{}", answer.text),
        3 => assert!(answer.error().starts_with("invalid program: "), "{}", answer.text),
        4 => assert_eq!(answer.error(), "capability failed\ncalls made: 1"),
        _ => assert_eq!(*answer.result(), 4950),
    }
}

fn sources() -> [String; 6] {
    [
        program(TELL),
        program(&format!("faulty.sleep(milliseconds = 50)\n{TELL}")),
        program("return faulty.echo(value = \"which\")"),
        program("return 1 // 0"),
        program("return faulty.raw(json = \"[1,\")"),
        program("return sum(range(100))"),
    ]
}

#[test]
fn a_reload_every_second_harms_no_run() {
    let seconds = if std::env::var_os("CODEMODE_SOAK").is_some() { 300 } else { 10 };
    let daemon = Daemon::start_with(&config(0), |folder| {
        fs::write(folder.join("secret"), SECRET).unwrap();
        fs::write(folder.join("p.rego"), Version(0).policy()).unwrap();
        put_library(folder, 0);
    });
    let (done, runs) = (AtomicBool::new(false), AtomicUsize::new(0));
    let sources = sources();
    let client = |number: usize| {
        let subject = format!("subject-{}", number % 16);
        while !done.load(Ordering::Relaxed) {
            let kind = runs.fetch_add(1, Ordering::Relaxed) % sources.len();
            check(kind, &main_of(&daemon, &subject, &sources[kind]));
        }
    };
    let mut before = None;
    std::thread::scope(|scope| {
        let client = &client;
        for number in 0..CLIENTS {
            scope.spawn(move || client(number));
        }
        let end = Ending(&done);
        for turn in 1..=seconds {
            let began = Instant::now();
            write(daemon.folder.path(), turn);
            daemon.reload();
            // What grows with first use has grown after some turns.
            if turn == seconds / 2 {
                before = Some(Holdings::of(&daemon));
            }
            std::thread::sleep(EVERY.saturating_sub(began.elapsed()));
        }
        drop(end);
    });
    until("only what waits for the next run is left", || daemon.children().len() == READY);
    let (before, after) = (before.unwrap(), Holdings::of(&daemon));
    println!("{} runs, {} reloads", runs.load(Ordering::Relaxed), daemon.reloads());
    println!("half way {before:?}");
    println!("at rest  {after:?}");
    assert!(after.descriptors <= before.descriptors, "{before:?}, {after:?}");
    assert!(after.resident_kib <= before.resident_kib + 48 * 1024, "{before:?}, {after:?}");
    assert_eq!(daemon.reloads(), seconds);
    let log = daemon.log();
    assert_eq!(log.matches(": the reload changes nothing").count(), seconds.div_ceil(2));
    for fault in ["panicked", "cannot reap", "cannot start a worker", "did not decide"] {
        assert!(!log.contains(fault), "{fault} in the log");
    }
}

/// Ends the clients also where the reloads go wrong, so that the test fails and does not hang.
pub(crate) struct Ending<'a>(pub(crate) &'a AtomicBool);

impl Drop for Ending<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}
