//! One line for each run and each native call, whatever became of it, and what becomes of lines that cannot be written.

mod destination;
mod reading;

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::harness::{Answer, Daemon, allow_all, faulty, program, send, until};

const TO_FILE: &str = "[audit]\nto = \"file:audit.jsonl\"\n";

/// Denies a text that begins with "denied", and does not decide on "both".
const RULES: &str = r#"package p

default allow := true

allow := false if startswith(input.arguments.text, "denied")

allow := false if input.arguments.text == "both"

allow := true if input.arguments.text == "both"
"#;

/// A daemon with [`RULES`], and a budget of two calls.
fn ruled(audit: &str) -> Daemon {
    let config = allow_all(&format!("[limits]\nmax_native_calls = 4\n{audit}{}", faulty()));
    let rego = "mode = \"rego\"\nmodules = [\"p.rego\"]\nexecute = \"data.p.allow\"";
    Daemon::start_with(&config.replace("mode = \"allow-all\"", rego), |folder| {
        fs::write(folder.join("p.rego"), RULES).unwrap();
    })
}

fn run_of(answer: &Answer) -> String {
    answer.meta["codemoded/run"].as_str().unwrap().to_owned()
}

fn lines_of(path: &Path) -> Vec<Value> {
    let text = fs::read_to_string(path).unwrap_or_default();
    text.lines().map(|line| serde_json::from_str(line).unwrap_or_else(|_| panic!("{line}"))).collect()
}

/// The lines of a run, its own last, once that is written.
fn lines_of_run(daemon: &Daemon, run: &str) -> Vec<Value> {
    let read = || {
        let mut lines = lines_of(&daemon.folder.path().join("audit.jsonl"));
        lines.retain(|line| line["run"] == run);
        lines
    };
    until("the run is audited", || read().last().is_some_and(|line| line["kind"] == "run"));
    read()
}

#[test]
fn every_outcome_has_its_line() {
    let daemon = ruled(TO_FILE);
    for (body, run, decision, call) in [
        ("return faulty.echo(value = 1)", "ok", "allowed", "ok"),
        ("return faulty.note(text = \"denied\")", "denied", "denied", "denied"),
        ("return faulty.note(text = \"both\")", "policy_failure", "policy_failure", "policy_failure"),
        ("faulty.publish(message = \"no paper\")", "capability_failed", "allowed", "capability_failed"),
        ("faulty.fail(message = \"private\")", "capability_failed", "allowed", "capability_failed"),
        ("faulty.panic()", "capability_failed", "allowed", "capability_failed"),
        ("faulty.wrong_type()", "capability_failed", "allowed", "capability_failed"),
        ("faulty.raw(json = \"[\")", "capability_failed", "allowed", "capability_failed"),
        ("attempt(faulty.fail, message = \"x\")\nreturn 1", "ok", "allowed", "capability_failed"),
        ("faulty.echo(value = 1)\nreturn 1 // 0", "invalid_program", "allowed", "ok"),
        ("faulty.echo(value = 1)\nfaulty.note(text = [1][0])", "invalid_arguments", "allowed", "ok"),
    ] {
        let answer = daemon.main(body);
        let lines = lines_of_run(&daemon, &run_of(&answer));
        let [calls @ .., of_run] = &*lines else { panic!("{body}: no line") };
        assert_eq!((&of_run["outcome"], &of_run["subject"]), (&json!(run), &json!("local")), "{body}");
        assert_eq!(of_run["calls"], answer.meta["codemoded/calls"], "{body}");
        assert_eq!(of_run["source_bytes"], program(body).len(), "{body}");
        assert_eq!(of_run.get("result_bytes").is_some(), run == "ok", "{body}");
        assert!(of_run["queued_us"].is_u64() && of_run["worker_wait_us"].is_u64() && of_run["took_us"].is_u64());
        assert_eq!(calls.len(), 1, "{body}");
        assert_eq!((&calls[0]["decision"], &calls[0]["outcome"]), (&json!(decision), &json!(call)), "{body}");
        assert_eq!((&calls[0]["plugin"], &calls[0]["call"]), (&json!("faulty"), &json!(0)), "{body}");
        assert_eq!(calls[0].get("dispatching_us").is_some(), decision == "allowed", "{body}");
        assert_eq!(calls[0].get("output_bytes").is_some(), call == "ok", "{body}");
        assert_eq!(calls[0].get("arguments"), None, "{body}");
    }
}

#[test]
fn a_run_without_calls_has_its_line_too_and_says_which_budget_ran_out() {
    let daemon = ruled(TO_FILE);
    for (body, outcome, limit) in [
        ("return 1", "ok", None),
        ("return nothing", "invalid_program", None),
        ("for _ in range(10000000):\n    pass", "resource_limit", Some("max_execution_steps")),
        ("return \"x\" * 70000", "resource_limit", Some("max_result_bytes")),
    ] {
        let lines = lines_of_run(&daemon, &run_of(&daemon.main(body)));
        assert_eq!(lines.len(), 1, "{body}");
        assert_eq!(lines[0]["outcome"], outcome, "{body}");
        assert_eq!(lines[0].get("limit").and_then(Value::as_str), limit, "{body}");
    }
    let lines = lines_of_run(&daemon, &run_of(&daemon.main("for i in range(5):\n    faulty.echo(value = i)")));
    let numbers: Vec<_> = lines.iter().filter_map(|line| line["call"].as_u64()).collect();
    assert_eq!(numbers, [0, 1, 2, 3], "a call that is one too many is none");
    assert_eq!((&lines[4]["outcome"], &lines[4]["limit"]), (&json!("resource_limit"), &json!("max_native_calls")));
}

#[test]
fn a_run_whose_client_has_gone_is_cancelled_and_so_is_its_call() {
    let daemon = ruled(TO_FILE);
    let socket = send(&daemon, "", &program("faulty.note(text = \"in\")\nfaulty.wait()"));
    let path = daemon.folder.path().join("audit.jsonl");
    until("the program is in its second call", || !lines_of(&path).is_empty());
    drop(socket);
    until("the run is audited", || lines_of(&path).iter().any(|line| line["kind"] == "run"));
    let outcomes: Vec<_> = lines_of(&path).iter().map(|line| line["outcome"].clone()).collect();
    assert_eq!(outcomes, ["ok", "cancelled", "cancelled"]);
}

#[test]
fn a_worker_that_dies_is_audited_with_its_death() {
    let daemon = ruled(TO_FILE);
    std::thread::scope(|scope| {
        let run = scope.spawn(|| daemon.main("faulty.note(text = \"in\")\nfaulty.wait()"));
        until("the program runs", || daemon.recorded("in"));
        daemon.kill_children();
        let lines = lines_of_run(&daemon, &run_of(&run.join().unwrap()));
        let last = lines.last().unwrap();
        assert_eq!(last["outcome"], "internal_failure");
        assert!(last["worker_death"].as_str().unwrap().contains("SIGKILL"), "{last}");
    });
    let deep = lines_of_run(&daemon, &run_of(&daemon.main(&format!("return {}1", "1+".repeat(30_000)))));
    assert_eq!((&deep[0]["outcome"], &deep[0]["worker_death"]), (&json!("invalid_program"), &json!("stack overflow")));
}

#[test]
fn calls_by_attempt_and_parallel_are_audited_as_single_ones_are() {
    let daemon = ruled(TO_FILE);
    let calls = |body: &str| {
        let mut lines = lines_of_run(&daemon, &run_of(&daemon.main(body)));
        lines.pop();
        for line in &mut lines {
            let line = line.as_object_mut().unwrap();
            for of_this_call in ["run", "time", "call", "took_us", "deciding_us", "dispatching_us"] {
                assert!(line.remove(of_this_call).is_some() || of_this_call == "dispatching_us");
            }
        }
        lines
    };
    for (name, arguments) in [("echo", "value = 1"), ("note", "text = \"denied\""), ("publish", "message = \"x\"")] {
        let single = calls(&format!("return faulty.{name}({arguments})"));
        assert_eq!(single.len(), 1, "{name}");
        assert_eq!(calls(&format!("attempt(faulty.{name}, {arguments})")), single);
        let twice = calls(&format!("parallel([call(faulty.{name}, {arguments}) for _ in range(2)])"));
        assert_eq!(twice, [single.clone(), single].concat());
    }
}

#[test]
fn arguments_are_kept_as_the_configuration_says_for_each_capability() {
    const CANARY: &str = "canary-5d1f";
    let daemon = ruled(&format!(
        "{TO_FILE}arguments = \"hashed\"\narguments_of = {{ \"faulty.note\" = \"off\", \"faulty.record.write\" = \
         \"full\" }}\n"
    ));
    let body = format!(
        "faulty.echo(value = \"{CANARY}\")\nfaulty.echo(value = \"{CANARY}\")\nfaulty.note(text = \"{CANARY}\")\n\
         faulty.record(value = 12345678901234567890123)"
    );
    let lines = lines_of_run(&daemon, &run_of(&daemon.main(&body)));
    let hash = lines[0]["arguments"]["value"].as_str().unwrap();
    assert!(hash.starts_with("hmac:") && hash.len() == 37, "{hash}");
    assert_eq!(lines[0]["arguments"], lines[1]["arguments"]);
    assert_eq!(lines[2].get("arguments"), None);
    assert_eq!(lines[3]["arguments"].to_string(), "{\"value\":12345678901234567890123,\"tags\":[]}");
    let text = fs::read_to_string(daemon.folder.path().join("audit.jsonl")).unwrap();
    assert!(!text.contains(CANARY), "{text}");
}
