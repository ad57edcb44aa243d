//! Where lines go, and what becomes of runs and lines while they cannot.

use std::fs::{self, File, OpenOptions};
use std::io::Read as _;
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::Path;
use std::process::Command;

use super::{TO_FILE, lines_of, lines_of_run, run_of};
use crate::harness::{Daemon, allow_all, run, until};

/// A daemon that audits into a pipe with little room, and the pipe's other end, from which nobody has read yet.
fn into_a_pipe(overflow: &str) -> (Daemon, File) {
    let mut pipe = None;
    let config = format!("[audit]\nto = \"file:pipe\"\noverflow = \"{overflow}\"\nmax_queued = 3\n");
    let daemon = Daemon::start_with(&allow_all(&config), |folder| {
        let path = folder.join("pipe");
        assert!(Command::new("mkfifo").arg(&path).status().unwrap().success());
        let nonblocking = rustix::fs::OFlags::NONBLOCK.bits().cast_signed();
        let end = OpenOptions::new().read(true).write(true).custom_flags(nonblocking).open(&path).unwrap();
        rustix::pipe::fcntl_setpipe_size(&end, 4096).unwrap();
        pipe = Some(end);
    });
    (daemon, pipe.unwrap())
}

/// Reads whatever the pipe holds.
fn drain(pipe: &mut File, text: &mut Vec<u8>) {
    let mut part = [0; 4096];
    while let Ok(length @ 1..) = pipe.read(&mut part) {
        text.extend(&part[..length]);
    }
}

fn kinds(text: &[u8], kind: &str) -> Vec<serde_json::Value> {
    let lines = std::str::from_utf8(text).unwrap().lines();
    let lines = lines.filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok());
    lines.filter(|line| line["kind"] == kind).collect()
}

#[test]
fn what_finds_the_queue_full_is_dropped_and_counted_and_no_run_waits() {
    const RUNS: u64 = 60;
    let (daemon, mut pipe) = into_a_pipe("drop");
    for _ in 0..RUNS {
        daemon.main("return 1").result();
    }
    let mut text = Vec::new();
    let written = |text: &[u8]| kinds(text, "run").len() as u64;
    let lost = |text: &[u8]| kinds(text, "lost").iter().filter_map(|line| line["records"].as_u64()).sum::<u64>();
    until("all are written or counted", || {
        drain(&mut pipe, &mut text);
        written(&text) + lost(&text) == RUNS
    });
    assert!(lost(&text) > 0 && written(&text) > 3);
    until("it is in the log", || daemon.log().contains("audit records were lost"));
}

#[test]
fn where_nothing_may_be_lost_no_run_starts_while_the_queue_is_full() {
    let (daemon, mut pipe) = into_a_pipe("refuse");
    let mut audited = Vec::new();
    let refused = loop {
        let answer = daemon.main("return 1");
        match answer.is_error {
            true => break answer,
            false => audited.push(run_of(&answer)),
        }
    };
    assert!(audited.len() >= 3, "{audited:?}");
    assert_eq!(refused.error(), "internal failure");
    let line = format!("run={}", run_of(&refused));
    until("the log says why", || {
        let log = daemon.log();
        log.lines().any(|each| each.contains(&line) && each.contains("the audit's queue is full"))
    });
    let mut text = Vec::new();
    until("there is room again", || {
        drain(&mut pipe, &mut text);
        let answer = daemon.main("return 1");
        if !answer.is_error {
            audited.push(run_of(&answer));
        }
        !answer.is_error
    });
    until("every run that did start is written", || {
        drain(&mut pipe, &mut text);
        let written: Vec<_> = kinds(&text, "run").iter().map(|line| line["run"].clone()).collect();
        audited.iter().all(|run| written.iter().any(|each| each == run))
    });
    assert_eq!(kinds(&text, "lost"), [serde_json::Value::Null; 0]);
    until("the refused are counted", || {
        drain(&mut pipe, &mut text);
        !kinds(&text, "refused").is_empty()
    });
}

#[test]
fn a_full_disk_is_told_once_and_stops_nobody() {
    let daemon = Daemon::start(&allow_all("[audit]\nto = \"file:/dev/full\"\n"));
    for _ in 0..20 {
        daemon.main("return 1").result();
    }
    until("it is told", || daemon.log().contains("the audit cannot be written"));
    assert_eq!(daemon.log().matches("the audit cannot be written").count(), 1, "{}", daemon.log());
}

#[test]
fn a_file_that_was_moved_away_is_followed_by_a_new_one() {
    ["-USR1", "-HUP"].into_iter().for_each(rotates_on);
}

fn rotates_on(signal: &str) {
    let daemon = Daemon::start(&allow_all(TO_FILE));
    let (path, old) = (daemon.folder.path().join("audit.jsonl"), daemon.folder.path().join("audit.jsonl.1"));
    let first = run_of(&daemon.main("return 1"));
    lines_of_run(&daemon, &first);
    assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    fs::rename(&path, &old).unwrap();
    let second = run_of(&daemon.main("return 2"));
    until("the moved file is still written", || lines_of(&old).len() == 2);
    assert!(Command::new("kill").args([signal, &daemon.pid().to_string()]).status().unwrap().success());
    until("there is a new file", || path.exists());
    let third = run_of(&daemon.main("return 3"));
    lines_of_run(&daemon, &third);
    let runs = |path: &Path| lines_of(path).iter().map(|line| line["run"].clone()).collect::<Vec<_>>();
    assert_eq!((runs(&old), runs(&path)), (vec![first.into(), second.into()], vec![third.into()]));
    assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o600);
}

#[test]
fn what_is_queued_is_written_before_the_end() {
    let daemon = Daemon::start(&allow_all(TO_FILE));
    let last = run_of(&daemon.main("return 1"));
    daemon.terminate();
    assert_eq!(lines_of_run(&daemon, &last).len(), 1);
}

#[test]
fn a_file_that_cannot_be_written_fails_the_start_in_one_line() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("codemode.toml");
    for (to, cause) in [("nowhere/audit.jsonl", "No such file or directory"), (".", "Is a directory")] {
        fs::write(&path, allow_all(&format!("[audit]\nto = \"file:{to}\"\n"))).unwrap();
        let (code, _, errors) = run(&["--config", path.to_str().unwrap()], folder.path());
        assert_eq!((code, errors.lines().count()), (73, 1), "{errors}");
        assert!(errors.starts_with("error: audit.to: cannot write `/") && errors.contains(cause), "{errors}");
        let (code, _, errors) = run(&["check", "--config", path.to_str().unwrap()], folder.path());
        assert_eq!((code, errors.lines().count()), (78, 1), "{errors}");
        assert!(errors.starts_with("error: audit.to: ") && errors.contains("folder"), "{errors}");
    }
    assert!(!folder.path().join("nowhere").exists());
    // What runs nothing writes nothing.
    fs::write(&path, allow_all(TO_FILE)).unwrap();
    assert_eq!(run(&["check", "--config", path.to_str().unwrap()], folder.path()).0, 0);
    assert!(!folder.path().join("audit.jsonl").exists());
}

#[test]
fn a_misspelt_capability_is_refused_rather_than_left_to_the_others() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("codemode.toml");
    fs::write(&path, allow_all("[audit]\narguments = \"full\"\narguments_of = { \"records.lokup\" = \"off\" }\n"))
        .unwrap();
    let (code, _, errors) = run(&["check", "--config", path.to_str().unwrap()], folder.path());
    assert_eq!((code, &*errors), (78, "error: audit.arguments_of: no capability has the ID `records.lokup`\n"));
}

#[test]
fn the_command_audits_what_it_runs_and_keeps_its_output_clean() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("codemode.toml");
    fs::write(&path, allow_all("[audit]\nto = \"stdout\"\n")).unwrap();
    fs::write(folder.path().join("p.star"), "def main():\n    return 1\n").unwrap();
    let (code, out, errors) = run(&["run", "p.star", "--config", path.to_str().unwrap()], folder.path());
    assert_eq!((code, &*out), (0, "1\n"), "{errors}");
    assert!(errors.lines().any(|line| line.starts_with("{\"kind\":\"run\"")), "{errors}");
}
