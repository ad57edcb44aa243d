//! The process that forks workers where `workers.start` is `"fork"`: it goes with the generation that it is for, and
//! whatever becomes of it in between, every run has its own worker and nobody is left behind.

use std::collections::BTreeMap;
use std::fs;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::process::{Pid, Resource, Rlimit, Signal, getrlimit, kill_process, prlimit};

use crate::harness::{Daemon, allow_all, faulty, title, until};
use crate::reload::exchange;
use crate::soak::Ending;

const READY: usize = 2;
const WORKER: &str = "codemoded-worker";
const TEMPLATE: &str = "codemoded-template";

fn config(how: &str, plugin: &str) -> String {
    let limits = "[rates]\nrequests_per_minute = 1000000000\n[limits]\nmax_execution_time = \"30s\"\n";
    allow_all(&format!("{limits}[workers]\nready = {READY}\nstart = \"{how}\"\n{plugin}"))
}

/// How many children have each name. A forked worker has its template's, and one that nobody reaps has none.
fn names(daemon: &Daemon) -> BTreeMap<String, usize> {
    let mut names = BTreeMap::new();
    for pid in daemon.children() {
        *names.entry(title(pid)).or_default() += 1;
    }
    names
}

/// How many catalogs the daemon holds for its workers.
fn catalogs(daemon: &Daemon) -> usize {
    let held = fs::read_dir(format!("/proc/{}/fd", daemon.pid())).unwrap();
    let held = held.filter_map(|each| fs::read_link(each.ok()?.path()).ok());
    held.filter(|file| file.to_string_lossy().starts_with("/memfd:codemoded-catalog")).count()
}

#[track_caller]
fn rests(daemon: &Daemon, how: &str) {
    let expected = if how == "fork" { (TEMPLATE.to_owned(), READY + 1) } else { (WORKER.to_owned(), READY) };
    let expected = BTreeMap::from([expected]);
    let mut seen = None;
    until(&format!("only what waits for the next run is left, started by {how}"), || {
        let now = (names(daemon), catalogs(daemon));
        let rests = now == (expected.clone(), 1);
        if !rests && seen.as_ref() != Some(&now) {
            println!("{how}: {now:?}");
            seen = Some(now);
        }
        rests
    });
}

#[test]
fn a_template_goes_with_the_generation_that_it_is_for() {
    let daemon = Daemon::start(&config("fork", &faulty()));
    let reload = |how: &str, plugin: &str| {
        exchange(&daemon.folder.path().join("codemode.toml"), config(how, plugin).as_bytes());
        daemon.reload();
        assert_eq!(*daemon.main("return 1").result(), 1);
    };
    let unwell = faulty().replace("record = ", "unhealthy = true, record = ");
    rests(&daemon, "fork");
    for _ in 0..3 {
        reload("exec", &unwell);
        rests(&daemon, "fork");
        reload("exec", &faulty());
        rests(&daemon, "exec");
        reload("fork", &unwell);
        rests(&daemon, "exec");
        reload("fork", &faulty());
        rests(&daemon, "fork");
    }
}

/// The child that has been executed: the workers are forked, and the kernel knows that they have executed nothing.
fn template(daemon: &Daemon) -> Option<Pid> {
    const FORKED: u32 = 0x40;
    let is_executed = |pid: &u32| {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        let fields: Vec<_> = stat.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
        let flags = fields.get(6).and_then(|flags| flags.parse::<u32>().ok());
        fields.first() != Some(&"Z") && flags.is_some_and(|flags| flags & FORKED == 0)
    };
    daemon.children().into_iter().find(is_executed).and_then(|pid| Pid::from_raw(i32::try_from(pid).ok()?))
}

/// Whether the thread that starts workers waits for a template's answer.
fn waits_for_a_fork(daemon: &Daemon) -> bool {
    let mut threads = fs::read_dir(format!("/proc/{}/task", daemon.pid())).unwrap().map(|each| each.unwrap().path());
    let spawner = threads.find(|each| fs::read_to_string(each.join("comm")).is_ok_and(|name| name.trim() == "spawner"));
    fs::read_to_string(spawner.unwrap().join("wchan")).unwrap().starts_with("unix_stream")
}

/// What it would answer later must not be taken for the answer to the next question.
#[test]
fn a_template_that_does_not_answer_is_never_asked_again() {
    let daemon = Daemon::start(&config("fork", &faulty()));
    rests(&daemon, "fork");
    let silent = template(&daemon).unwrap();
    kill_process(silent, Signal::STOP).unwrap();
    assert_eq!(*daemon.main("return 1").result(), 1);
    until("a worker is asked for", || waits_for_a_fork(&daemon));
    // Nor can another take its place, for want of descriptors.
    let pid = Pid::from_raw(daemon.pid().try_into().unwrap());
    let maximum = getrlimit(Resource::Nofile).maximum;
    let before = prlimit(pid, Resource::Nofile, Rlimit { current: Some(1), maximum }).unwrap();
    until("it is given up", || daemon.log().contains("cannot start a worker ahead of need"));
    // It goes on, if it is still there, and answers.
    let _ = kill_process(silent, Signal::CONT);
    until("it has answered, or is gone", || {
        daemon.children().len() > READY || !daemon.children().contains(&silent.as_raw_pid().cast_unsigned())
    });
    prlimit(pid, Resource::Nofile, before).unwrap();
    rests(&daemon, "fork");
    for number in 0..10 {
        assert_eq!(*daemon.main(&format!("return {number}")).result(), number);
    }
    rests(&daemon, "fork");
}

/// Also between a fork and the news of it, when the daemon does not know yet whom it would have to reap.
#[test]
fn a_template_that_dies_at_any_moment_leaves_nobody_behind() {
    let daemon = Daemon::start(&config("fork", ""));
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                while !done.load(Ordering::Relaxed) {
                    // It fails where it finds no worker and the template that it waits for dies.
                    let _ = daemon.main("return 1");
                }
            });
        }
        let end = Ending(&done);
        for turn in 0..150 {
            let before = template(&daemon);
            if let Some(template) = before {
                // It may have been replaced since it was looked for.
                let _ = kill_process(template, Signal::KILL);
            }
            until("another has taken its place", || template(&daemon) != before);
            // The moment is the point.
            std::thread::sleep(std::time::Duration::from_micros(turn * 7919 % 20_000));
        }
        drop(end);
    });
    rests(&daemon, "fork");
    assert_eq!(*daemon.main("return 1").result(), 1);
    assert!(!daemon.log().contains("cannot reap"), "{}", daemon.log());
}
