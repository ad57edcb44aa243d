//! What the log says: one line for each failed run, with all that is known of the cause.

use std::fs;

use crate::harness::{Answer, Daemon, allow_all, faulty, until};

const RULES: &str = r#"package p

default allow := true

allow := false if input.arguments.text == "denied"

allow := "perhaps" if input.arguments.text == "undecided"
"#;

fn ruled() -> Daemon {
    let rego = "mode = \"rego\"\nmodules = [\"p.rego\"]\nexecute = \"data.p.allow\"";
    let config = allow_all(&faulty()).replace("mode = \"allow-all\"", rego);
    Daemon::start_with(&config, |folder| fs::write(folder.join("p.rego"), RULES).unwrap())
}

/// The lines that name the answer's run, once there is one.
fn lines_of(daemon: &Daemon, answer: &Answer) -> Vec<String> {
    let run = answer.meta["codemoded/run"].as_str().unwrap().to_owned();
    let lines = || daemon.log().lines().filter(|line| line.contains(&run)).map(str::to_owned).collect::<Vec<_>>();
    until("the run is in the log", || !lines().is_empty());
    // Whatever else would be said of this run is said before the next one's line.
    let next = daemon.main("return 1").meta["codemoded/run"].as_str().unwrap().to_owned();
    until("the next run is in the log", || daemon.log().contains(&next));
    lines()
}

#[test]
fn a_failed_run_is_one_line_with_the_full_cause() {
    let daemon = ruled();
    for (body, level, said) in [
        ("return 1 // 0", "INFO", "Floor division by zero"),
        ("faulty.note(text = [1][0])", "INFO", "InvalidArguments"),
        ("faulty.note(text = \"denied\")", "INFO", "Denied"),
        ("faulty.publish(message = \"no paper\")", "INFO", "no paper"),
        ("return \"x\" * 70000", "INFO", "MaxResultBytes"),
        (
            "faulty.note(text = \"undecided\")",
            "ERROR",
            "faulty.note: the policy did not decide: the decision is no boolean",
        ),
        ("faulty.fail(message = \"hunter2\")", "ERROR", "faulty.fail of `faulty`: the handler failed: hunter2"),
        ("faulty.panic()", "ERROR", "faulty.panic of `faulty`: the handler panicked: "),
        (
            "faulty.wrong_type()",
            "ERROR",
            "faulty.wrong_type of `faulty`: the handler's output is not what its schema says",
        ),
    ] {
        let lines = lines_of(&daemon, &daemon.main(body));
        assert_eq!(lines.len(), 1, "{body}: {lines:#?}");
        let line = &lines[0];
        assert!(line.contains(&format!(" {level} ")) && line.contains("run failed"), "{body}: {line}");
        assert!(line.contains(said) && line.contains("subject=local"), "{body}: {line}");
    }
}

#[test]
fn wrong_output_is_told_to_the_author_with_its_path() {
    let daemon = ruled();
    let lines = lines_of(&daemon, &daemon.main("faulty.wrong_type()"));
    let [line] = &*lines else { panic!("{lines:#?}") };
    for part in ["faulty.wrong_type", "`faulty`", "must be an integer"] {
        assert!(line.contains(part), "{part}: {line}");
    }
}

#[test]
fn a_worker_that_is_killed_is_one_line_that_names_the_signal() {
    let daemon = ruled();
    std::thread::scope(|scope| {
        let run = scope.spawn(|| daemon.main("faulty.note(text = \"in\")\nfaulty.wait()"));
        until("the program runs", || daemon.recorded("in"));
        for worker in daemon.children() {
            std::process::Command::new("kill").args(["-KILL", &worker.to_string()]).status().unwrap();
        }
        let lines = lines_of(&daemon, &run.join().unwrap());
        assert_eq!(lines.len(), 1, "{lines:#?}");
        assert!(lines[0].contains("the worker died") && lines[0].contains("SIGKILL"), "{}", lines[0]);
    });
}

#[test]
fn a_failure_that_the_program_handles_is_told_and_is_no_failed_run() {
    let daemon = ruled();
    let answer = daemon.main("return attempt(faulty.fail, message = \"hunter2\").ok");
    assert_eq!(answer.result(), false);
    let lines = lines_of(&daemon, &answer);
    assert_eq!(lines.len(), 2, "{lines:#?}");
    assert!(lines[0].contains(" WARN ") && lines[0].contains("hunter2"), "{}", lines[0]);
    assert!(lines[1].contains("run returned"), "{}", lines[1]);
}

#[test]
fn no_text_of_a_program_or_a_handler_begins_a_line_of_its_own() {
    let daemon = ruled();
    for body in ["faulty.fail(message = \"a\\nFORGED\\u001b[2J\")", "fail(\"a\\nFORGED\\u001b[2J\")"] {
        let lines = lines_of(&daemon, &daemon.main(body));
        assert_eq!(lines.len(), 1, "{lines:#?}");
        assert!(lines[0].contains("FORGED"), "{}", lines[0]);
    }
    let log = daemon.log();
    assert!(!log.contains('\u{1b}') && !log.lines().any(|line| line.starts_with("FORGED")), "{log}");
}
