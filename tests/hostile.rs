//! Programs that would not end, and callers that go away: the answer is out at the deadline, nobody is left, and the
//! next run works.

use std::time::Duration;

use serde_json::json;

use crate::harness::{Daemon, allow_all, by_hand, by_header, lives, main_of, program, send, until};

const TIME: &str = "resource limit exceeded: max_execution_time";
const MEMORY: &str = "resource limit exceeded: max_worker_memory";
const DEEP: &str = "invalid program: nested too deeply";

/// How long after its deadline an answer may come on a machine that does other things too.
const GRACE: Duration = Duration::from_millis(500);
const DEADLINE: Duration = Duration::from_millis(700);

fn start(how: &str) -> Daemon {
    Daemon::start(&allow_all(&budgets(how)))
}

/// No limit but time and memory ends a program.
fn budgets(how: &str) -> String {
    format!(
        "[workers]\nready = 2\nstart = \"{how}\"\n[limits]\nmax_execution_steps = 1000000000000\n\
         max_execution_time = \"{}ms\"\n",
        DEADLINE.as_millis()
    )
}

/// Programs that would not end, or not soon, and the text that they end with.
fn endless() -> Vec<(String, &'static str)> {
    vec![
        (program("for i in range(1000000000):\n    pass"), TIME),
        (program("x = 3\nfor i in range(60):\n    x = x * x\nreturn 1"), TIME),
        (program("x = []\nfor i in range(1000000000):\n    x.append(\"abc\" * 1000)"), MEMORY),
        (program("return \"x\" * 2000000000"), MEMORY),
        (program(&format!("return {}", "[".repeat(60_000))), DEEP),
        (program(&format!("return {}1", "1+".repeat(30_000))), DEEP),
    ]
}

/// Squaring may exhaust memory first on a fast machine, and a slow one may not get so far in its time.
fn ended_as(text: &str, expected: &str) -> bool {
    text == expected || ([TIME, MEMORY].contains(&expected) && [TIME, MEMORY].contains(&text))
}

/// The workers that wait, and the template that forks them.
fn at_rest(how: &str) -> usize {
    if how == "fork" { 3 } else { 2 }
}

#[track_caller]
fn settled(daemon: &Daemon, how: &str) -> Vec<u32> {
    until("only what waits for the next run is left", || daemon.children().len() == at_rest(how));
    daemon.children()
}

#[test]
fn nothing_outlives_its_deadline() {
    for how in ["exec", "fork"] {
        let daemon = start(how);
        for (source, text) in &endless() {
            let waiting = settled(&daemon, how);
            let answer = daemon.execute(source);
            assert!(ended_as(answer.error(), text), "{how}: {} instead of {text}", answer.text);
            assert!(answer.took < DEADLINE + GRACE, "{how}: {:?}", answer.took);
            // One of those that waited has served, and is no more.
            let left = settled(&daemon, how);
            let served: Vec<_> = waiting.iter().filter(|pid| !left.contains(pid)).collect();
            assert!(!served.is_empty() && !served.iter().any(|pid| lives(**pid)), "{how}: {waiting:?}, {left:?}");
            assert_eq!(*daemon.main("return 1 + 1").result(), json!(2));
        }
    }
}

/// Sends a program and hangs up once a worker serves it.
fn hang_up(daemon: &Daemon, source: &str, headers: &str, serves: impl FnMut() -> bool) {
    let _open = send(daemon, headers, source);
    until("the run has its worker", serves);
}

#[test]
fn a_client_that_goes_away_ends_its_run() {
    for how in ["exec", "fork"] {
        // The deadline is far: what ends the run is the client.
        let far = budgets(how).replace("700ms", "60s");
        let daemon = Daemon::start(&allow_all(&far));
        let waiting = settled(&daemon, how);
        hang_up(&daemon, &endless()[0].0, "", || daemon.children().len() > at_rest(how));
        let left = settled(&daemon, how);
        assert!(waiting.iter().any(|pid| !left.contains(pid)), "{how}: {waiting:?}, {left:?}");
        until("the log says so", || daemon.log().contains("Cancelled"));
        assert_eq!(*daemon.main("return 1").result(), json!(1));
    }
}

#[test]
fn a_hundred_hostile_runs_of_one_subject_cost_another_nothing() {
    for how in ["exec", "fork"] {
        let daemon = by_header(&budgets(how));
        let hostile: Vec<_> = endless().into_iter().cycle().take(90).collect();
        std::thread::scope(|scope| {
            let runs: Vec<_> = hostile
                .iter()
                .map(|(source, text)| scope.spawn(|| (main_of(&daemon, "mallory", source), *text)))
                .collect();
            let leaving: Vec<_> = (0..10)
                .map(|_| scope.spawn(|| hang_up(&daemon, &endless()[0].0, &by_hand("mallory"), || true)))
                .collect();
            for turn in 0..40 {
                let source = program(&format!("return [n * n for n in range({turn})]"));
                let squares: Vec<_> = (0..turn).map(|n| n * n).collect();
                assert_eq!(*main_of(&daemon, "ann", &source).result(), json!(squares), "{how}");
            }
            leaving.into_iter().for_each(|run| run.join().unwrap());
            let full = "resource limit exceeded: max_queued_executions";
            for run in runs {
                let (answer, text) = run.join().unwrap();
                // A run that waited its whole time for a slot ends in time too.
                let expected = ended_as(answer.error(), text) || [full, TIME].contains(&answer.error());
                assert!(expected, "{how}: {} instead of {text}", answer.text);
            }
        });
        settled(&daemon, how);
    }
}

#[test]
fn nobody_outlives_the_daemon() {
    for how in ["exec", "fork"] {
        let daemon = start(how);
        until("workers are ready", || daemon.children().len() >= 2);
        let children = daemon.children();
        drop(daemon);
        until("no worker is left", || !children.iter().any(|pid| lives(*pid)));
    }
}
