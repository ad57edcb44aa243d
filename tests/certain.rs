//! What certainly fails is refused before anything runs; what may be right runs.
//!
//! `certain/right.txt` and `certain/wrong.txt` are tables of programs with a line of `----` between two of them: the
//! body of a `main`, or a whole source with one. A wrong one comes after the text of its failure; `~` before that
//! text says that the failing expression is never reached, or stands in a whole source.

use std::fs;
use std::path::Path;

use serde_json::json;

use crate::harness::{Daemon, allow_all, faulty, faulty_example, plugin, program};

const RIGHT: &str = include_str!("certain/right.txt");
const WRONG: &str = include_str!("certain/wrong.txt");

/// An effect before the failure, which must not happen.
const BEFORE: &str = "faulty.note(text = \"before\")";

fn desk() -> Daemon {
    Daemon::start(&allow_all(&(faulty() + &plugin("desk", &faulty_example("desk"), ""))))
}

fn whole(text: &str) -> String {
    if text.contains("def main(") { text.to_owned() } else { program(text) }
}

fn reached_a_handler(folder: &Path) -> bool {
    fs::exists(folder.join("calls.jsonl")).unwrap()
}

#[test]
fn a_right_program_runs() {
    let daemon = desk();
    let programs: Vec<_> = RIGHT.split("----\n").collect();
    assert!(programs.len() >= 100, "{}", programs.len());
    for source in programs {
        let answer = daemon.execute(&whole(source));
        assert!(!answer.is_error, "{source}{}", answer.text);
    }
}

#[test]
fn a_wrong_program_is_placed_before_anything_of_it_runs() {
    let daemon = desk();
    let rows: Vec<_> = WRONG.split("----\n").collect();
    assert!(rows.len() >= 100, "{}", rows.len());
    for row in rows {
        let (text, source) = row.trim_start_matches("~ ").split_once('\n').unwrap();
        let source =
            whole(&if source.contains("def main(") { source.to_owned() } else { format!("{BEFORE}\n{source}") });
        assert!(source.contains(BEFORE), "{source}");
        let answer = daemon.execute(&source);
        assert_eq!(answer.error(), text, "{source}");
        assert_eq!(answer.meta["codemoded/calls"], 0, "{source}");
    }
    assert!(!reached_a_handler(daemon.folder.path()));
    assert_eq!(daemon.main(BEFORE).result(), &json!(null));
    assert!(reached_a_handler(daemon.folder.path()));
}

/// The same programs, with their capabilities where only a run can find them.
#[test]
fn what_is_refused_would_fail_in_the_same_words() {
    let daemon = desk();
    for row in WRONG.split("----\n").filter(|row| !row.starts_with('~')) {
        let (text, source) = row.split_once('\n').unwrap();
        let source = program(&format!("dusk = [desk][0]\n{}", source.replace("desk", "dusk")));
        let answer = daemon.execute(&source);
        assert_eq!(answer.error().lines().next(), Some(text), "{source}");
    }
}

#[test]
fn what_a_program_attempts_is_not_refused_before_it_runs() {
    let daemon = desk();
    let answer = daemon.main(
        "tried = [attempt(desk.book, rom = 1), attempt(desk.echo, value = range(3))]
tried += parallel([call(desk.book, room = \"a\", seats = 13), call(desk.status)])
return [t.ok for t in tried]",
    );
    assert_eq!(answer.result(), &json!([false, false, false, true]));
}
