//! Ends in the middle of everything: the daemon is told to stop while 64 clients call, or workers are killed at random.

use std::collections::BTreeSet;
use std::fs;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use super::reloads::Ending;
use super::{CLIENTS, SLOTS, scattered};
use crate::harness::{Daemon, SECRET, allow_all, faulty, lives, program, records, until};

/// One answer to `execute`.
struct Told {
    run: String,
    text: String,
}

fn start(how: &str) -> Daemon {
    let rest = format!(
        "[rates]\nrequests_per_minute = 1000000\n[audit]\nto = \"file:audit.jsonl\"\nmax_queued = 100000\n\
         [workers]\nready = 4\nstart = \"{how}\"\n[limits]\nmax_execution_steps = 1000000000000\n\
         max_execution_time = \"30s\"\nmax_call_time = \"20s\"\nmax_queued_executions = 256\n\
         max_concurrent_executions = {SLOTS}\n{}{}",
        faulty(),
        records()
    );
    let identity = "mode = \"proxy\"\nheader = \"x-user\"\npeers = [\"127.0.0.1/32\"]\nshared_secret_file = \"secret\"";
    let config = allow_all(&rest)
        .replace("mode = \"static\"\nsubject = \"local\"", identity)
        .replace("[server]\n", "[server]\ndrain_timeout = \"2s\"\n");
    Daemon::start_with(&config, |folder| fs::write(folder.join("secret"), SECRET).unwrap())
}

const ENDLESS: &str = "for i in range(1000000000):\n    pass";

/// Quick and slow.
fn source(run: usize) -> String {
    program(match run % 8 {
        1 | 2 => "return faulty.sleep(milliseconds = 200)",
        3 => "records.put(key = \"a\", value = 1)\nreturn len(records.entries(key = \"a\")[\"entries\"]) > 0",
        _ => "return sum(range(1000))",
    })
}

/// Nothing where the daemon had gone before it answered.
fn ask(daemon: &Daemon, run: usize, source: &str) -> Option<Told> {
    let mut params = json!({ "name": "execute", "arguments": { "source": source } });
    if run.is_multiple_of(3) {
        params["_meta"] = json!({ "progressToken": run });
    }
    let call = json!({ "jsonrpc": "2.0", "id": run, "method": "tools/call", "params": params });
    let subject = format!("subject-{}", run % 16);
    let headers = [("x-user", subject.as_str()), ("x-codemode-secret", SECRET)];
    let (status, body) = daemon.try_post(&call.to_string(), &headers).ok()?;
    let answer: Value = serde_json::from_str(&body).unwrap_or_else(|_| panic!("{status}: {body}"));
    let result = &answer["result"];
    let text = result["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{status}: {body}"));
    let run = result["_meta"]["codemoded/run"].as_str().unwrap_or_else(|| panic!("{body}"));
    Some(Told { run: run.to_owned(), text: text.to_owned() })
}

/// Has all clients call until `act` returns, and gives what they were told. A client that is not answered leaves.
fn under_load(daemon: &Daemon, source: impl Fn(usize) -> String + Sync, act: impl FnOnce()) -> Vec<Told> {
    let (told, runs, done) = (Mutex::new(Vec::new()), AtomicUsize::new(0), AtomicBool::new(false));
    let client = || {
        while !done.load(Ordering::Relaxed) {
            let run = runs.fetch_add(1, Ordering::Relaxed);
            let Some(answer) = ask(daemon, run, &source(run)) else { return };
            told.lock().unwrap().push(answer);
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..CLIENTS {
            scope.spawn(client);
        }
        until("there is load", || runs.load(Ordering::Relaxed) > 2 * CLIENTS);
        let end = Ending(&done);
        act();
        drop(end);
    });
    told.into_inner().unwrap()
}

fn is_right(text: &str) -> bool {
    ["{\"result\":499500}", "{\"result\":200}", "{\"result\":true}"].contains(&text)
}

fn audited(daemon: &Daemon) -> BTreeSet<String> {
    let text = fs::read_to_string(daemon.folder.path().join("audit.jsonl")).unwrap();
    let lines = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let runs = lines.filter(|line| line["kind"] == "run");
    runs.map(|line| line["run"].as_str().unwrap().to_owned()).collect()
}

fn kill(pid: u32) {
    // It may have ended by itself meanwhile.
    let _ = kill_process(Pid::from_raw(pid.try_into().unwrap()).unwrap(), Signal::KILL);
}

#[test]
fn told_to_stop_under_load_it_answers_every_run_that_it_began() {
    for how in ["exec", "fork"] {
        let mut daemon = start(how);
        let mut children = Vec::new();
        let source = |run: usize| if run.is_multiple_of(40) { program(ENDLESS) } else { source(run) };
        let told = under_load(&daemon, source, || {
            children = daemon.children();
            daemon.terminate();
            until("nobody listens", || !daemon.accepts());
        });
        assert_eq!(daemon.exit(), Some(0));
        assert!(!children.iter().any(|child| lives(*child)), "{how}: a worker is left");

        let cancelled = told.iter().filter(|answer| answer.text == "context canceled").count();
        let right = told.iter().filter(|answer| is_right(&answer.text)).count();
        println!("{how}: {right} runs ended well, {cancelled} were cancelled");
        assert_eq!(right + cancelled, told.len(), "{:?}", told.iter().map(|answer| &answer.text).collect::<Vec<_>>());
        let answered: BTreeSet<_> = told.into_iter().map(|answer| answer.run).collect();
        assert_eq!(audited(&daemon), answered, "{how}: what was begun was answered, and nothing else");
        assert!(!daemon.log().contains("panicked"), "{}", daemon.log());
    }
}

#[test]
fn workers_killed_under_load_take_only_their_own_runs_along() {
    for how in ["exec", "fork"] {
        let daemon = start(how);
        let mut killed = 0;
        let told = under_load(&daemon, source, || {
            for turn in 0..100 {
                let children = daemon.children();
                if let Some(child) = children.get(scattered(turn) as usize % children.len().max(1)) {
                    kill(*child);
                    killed += 1;
                }
                // The moments are the point: nothing could be waited for.
                std::thread::sleep(Duration::from_millis(20));
            }
        });
        let right = told.iter().filter(|answer| is_right(&answer.text)).count();
        let failed: Vec<_> = told.iter().map(|answer| &answer.text).filter(|text| !is_right(text)).collect();
        println!("{how}: {killed} killed, {right} runs ended well, {} failed", failed.len());
        assert!(failed.iter().all(|text| text.starts_with("internal failure")), "{how}: {failed:?}");
        assert!(failed.len() <= killed, "{how}: {} of {killed}", failed.len());
        let at_rest = if how == "fork" { 5 } else { 4 };
        until("only what waits for the next run is left", || daemon.children().len() == at_rest);
        assert!(is_right(&ask(&daemon, 7, &source(7)).unwrap().text));
        assert!(!daemon.log().contains("panicked"), "{}", daemon.log());
    }
}
