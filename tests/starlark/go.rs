//! Programs of our own, in the daemon and in the interpreter in Go: both give the same value, or the difference is
//! listed with its reason.
//!
//! In `programs/bodies.star` programs stand between lines of `---`; in the other files each line is one expression.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use super::listed::{Kind, listed};
use crate::harness::{Daemon, allow_all, each, not_run};

/// What a program gave: the text of its value, which tells types apart that JSON does not, or how it failed.
type Outcome = Result<String, String>;

struct Program {
    /// `FILE.star:LINE`, the line being the program's first.
    place: String,
    source: String,
}

#[test]
fn five_hundred_programs_give_what_the_interpreter_in_go_gives_or_are_listed() {
    let Ok(python) = std::env::var("CODEMODE_PYTHON") else {
        not_run("the comparison with the interpreter in Go", "CODEMODE_PYTHON is not set; use tests/run");
        return;
    };
    let programs = programs();
    assert!(programs.len() >= 500, "{}", programs.len());
    let daemon = Daemon::start(&allow_all(""));
    let ours = each(&programs, |program| ours(&daemon, program));
    let theirs = in_go(&python, &programs);
    let listed = listed("The interpreter in Go");
    let mut faults = Vec::new();
    let (mut same, mut different) = (0, Vec::new());
    for ((program, ours), theirs) in programs.iter().zip(ours).zip(theirs) {
        let Some(kind) = difference(&ours, &theirs) else {
            same += 1;
            continue;
        };
        different.push(&*program.place);
        let row = listed.iter().find(|row| row.place == program.place);
        if row.is_none_or(|row| row.kind != kind) {
            let as_listed = row.map(|row| row.kind);
            faults.push(format!(
                "{}: {kind:?}, listed as {as_listed:?}\n  here {ours:?}\n  Go   {theirs:?}",
                program.place
            ));
        }
    }
    for row in listed.iter().filter(|row| !different.contains(&&*row.place)) {
        faults.push(format!("{}: the same on both sides; take it off the list", row.place));
    }
    println!("{same} of {} programs give the same, {} are listed", programs.len(), listed.len());
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

/// How two outcomes differ. That both fail is the same, in whatever words.
fn difference(ours: &Outcome, theirs: &Outcome) -> Option<Kind> {
    match (ours, theirs) {
        (Ok(ours), Ok(theirs)) => (ours != theirs).then_some(Kind::Differs),
        (Err(_), Err(_)) => None,
        (Err(_), Ok(_)) => Some(Kind::Stricter),
        (Ok(_), Err(_)) => Some(Kind::Laxer),
    }
}

fn programs() -> Vec<Program> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/starlark/programs");
    let mut files: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    let of = |path: &Path| {
        let file = path.file_name().unwrap().to_string_lossy().into_owned();
        let text = fs::read_to_string(path).unwrap();
        if file == "bodies.star" { bodies(&file, &text) } else { expressions(&file, &text) }
    };
    files.iter().flat_map(|path| of(path)).collect()
}

fn expressions(file: &str, text: &str) -> Vec<Program> {
    let lines = (1..).zip(text.lines()).filter(|(_, line)| !line.is_empty());
    lines.map(|(line, text)| program(file, line, &format!("def value():\n    return {text}\n"))).collect()
}

fn bodies(file: &str, text: &str) -> Vec<Program> {
    let mut line = 1;
    let mut found = Vec::new();
    for body in text.split("---\n") {
        found.push(program(file, line, &body.replace("def main():", "def value():")));
        line += body.lines().count() + 1;
    }
    found
}

fn program(file: &str, line: usize, defines_value: &str) -> Program {
    let source = format!("{defines_value}\n\ndef main():\n    return repr(value())\n");
    Program { place: format!("{file}:{line}"), source }
}

fn ours(daemon: &Daemon, program: &Program) -> Outcome {
    let answer = daemon.execute(&program.source);
    if answer.is_error { Err(answer.text) } else { Ok(answer.result().as_str().unwrap().to_owned()) }
}

fn in_go(python: &str, programs: &[Program]) -> Vec<Outcome> {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/python/go_starlark.py");
    let mut child = Command::new(python).arg(script).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let sources: Vec<_> = programs.iter().map(|program| &program.source).collect();
    child.stdin.take().unwrap().write_all(json!(sources).to_string().as_bytes()).unwrap();
    let done = child.wait_with_output().unwrap();
    assert!(done.status.success());
    let outcomes: Vec<Value> = serde_json::from_slice(&done.stdout).unwrap();
    assert_eq!(outcomes.len(), programs.len());
    let text = |of: &Value| of.as_str().unwrap().to_owned();
    outcomes.iter().map(|each| each.get("value").map(text).ok_or_else(|| text(&each["failure"]))).collect()
}
