//! What the log says: one line for each failed run, with all that is known of the cause.

use std::fs;
use std::io::Read as _;
use std::os::unix::fs::MetadataExt as _;
use std::process::Command;

use serde_json::{Value, json};

use crate::harness::{Answer, Daemon, allow_all, executable, faulty, run, until};

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
        ("faulty.note(text = \"denied\")", "INFO", "faulty.note: the policy denies it"),
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
fn a_machine_reads_one_object_a_line() {
    let daemon = Daemon::start(&allow_all(&format!("[log]\nformat = \"json\"\n{}", faulty())));
    let answer = daemon.main("faulty.fail(message = \"a\\nb\")");
    let lines = lines_of(&daemon, &answer);
    let [line] = &*lines else { panic!("{lines:#?}") };
    let line: Value = serde_json::from_str(line).unwrap();
    assert_eq!((&line["level"], &line["message"]), (&json!("ERROR"), &json!("run failed")));
    assert_eq!(line["span"]["run"], answer.meta["codemoded/run"]);
    assert_eq!(line["cause"], "faulty.fail of `faulty`: the handler failed: a\nb");
    assert!(line["timestamp"].is_string());
    assert!(daemon.log().lines().all(|line| serde_json::from_str::<Value>(line).is_ok()), "{}", daemon.log());
}

#[test]
fn the_journal_notes_the_time_itself() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("codemode.toml"), allow_all("")).unwrap();
    fs::write(folder.path().join("p.star"), "def main():\n    return 1 // 0\n").unwrap();
    let said = |is_journal: bool| {
        let (mut reader, writer) = std::io::pipe().unwrap();
        let pipe = std::fs::File::from(std::os::fd::OwnedFd::from(writer.try_clone().unwrap())).metadata().unwrap();
        let stream = format!("{}:{}", pipe.dev(), if is_journal { pipe.ino() } else { 1 });
        let mut command = Command::new(executable());
        command.args(["run", "p.star"]).current_dir(folder.path()).env("JOURNAL_STREAM", stream).stderr(writer);
        command.status().unwrap();
        drop(command);
        let mut text = String::new();
        reader.read_to_string(&mut text).unwrap();
        text.lines().find(|line| line.contains("run failed")).unwrap().to_owned()
    };
    assert!(said(false).starts_with("20"), "{}", said(false));
    assert!(said(true).trim_start().starts_with("INFO "), "{}", said(true));
}

#[test]
fn levels_are_the_configurations_and_the_flag_goes_before_them() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("p.star"), "def main():\n    return 1 // 0\n").unwrap();
    let says = |level: &str, flags: &[&str]| {
        fs::write(folder.path().join("codemode.toml"), allow_all(&format!("[log]\nlevel = \"{level}\"\n"))).unwrap();
        let (_, _, errors) = run(&[&["run", "p.star"], flags].concat(), folder.path());
        errors.contains("run failed")
    };
    assert!(says("info", &[]) && says("warn,codemoded::run=info", &[]));
    assert!(!says("warn", &[]) && !says("info,codemoded::run=error", &[]) && !says("off", &[]));
    assert!(says("off", &["--log", "info"]) && !says("info", &["--log", "warn"]));
    fs::write(folder.path().join("codemode.toml"), allow_all("[log]\nlevel = \"loud\"\n")).unwrap();
    let (code, _, errors) = run(&["check"], folder.path());
    assert!(code == 78 && errors.contains("log.level: `loud` is no level"), "{errors}");
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
        daemon.kill_children();
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
