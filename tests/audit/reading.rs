//! `codemoded audit` finds what the daemon wrote.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::process::{Command, Stdio};

use super::{TO_FILE, lines_of_run, ruled, run_of};
use crate::harness::{Daemon, by_header, executable, main_of, run};

/// What a query of the daemon's audit shows, line by line.
#[track_caller]
fn query(daemon: &Daemon, arguments: &[&str]) -> Vec<String> {
    let all = [&["audit", "query", "--config", "codemode.toml"], arguments].concat();
    let (code, out, errors) = run(&all, daemon.folder.path());
    let said = if out.is_empty() { "no line fits\n" } else { "" };
    assert_eq!((code, &*errors), (0, said), "{arguments:?}");
    out.lines().map(str::to_owned).collect()
}

#[test]
fn each_failed_run_is_found_by_the_id_that_its_client_saw() {
    let daemon = ruled(TO_FILE);
    for (body, outcome) in [
        ("return 1 // 0", "invalid_program"),
        ("faulty.note(text = [1][0])", "invalid_arguments"),
        ("faulty.note(text = \"denied\")", "denied"),
        ("faulty.note(text = \"both\")", "policy_failure"),
        ("faulty.fail(message = \"x\")", "capability_failed"),
        ("return \"x\" * 70000", "max_result_bytes"),
    ] {
        let run = run_of(&daemon.main(body));
        lines_of_run(&daemon, &run);
        let found = query(&daemon, &["--run", &run]);
        let last = found.last().unwrap_or_else(|| panic!("{body}: nothing is found"));
        assert!(last.contains(outcome) && last.contains(&run), "{body}: {last}");
    }
}

#[test]
fn lines_are_found_by_all_that_is_known_of_them() {
    let daemon = by_header(&format!("{TO_FILE}{}", crate::harness::faulty()));
    let ann = run_of(&main_of(&daemon, "ann", "def main():\n    faulty.record(value = 1)\n"));
    let bob = run_of(&main_of(&daemon, "bob", "def main():\n    faulty.publish(message = \"x\")\n"));
    lines_of_run(&daemon, &ann);
    lines_of_run(&daemon, &bob);
    let count = |arguments: &[&str]| query(&daemon, arguments).len();
    assert_eq!(count(&[]), 4);
    assert_eq!((count(&["--subject", "ann"]), count(&["--subject", "eve"])), (2, 0));
    assert_eq!((count(&["--capability", "faulty.record.write"]), count(&["--capability", "faulty.record"])), (1, 1));
    assert_eq!((count(&["--outcome", "ok"]), count(&["--outcome", "capability_failed"])), (2, 2));
    assert_eq!((count(&["--since", "1h"]), count(&["--until", "1h"])), (4, 0));
    assert_eq!(count(&["--since", "2026-01-01T00:00:00Z", "--until", "2026-01-01T00:00:01+01:00"]), 0);
    let json = query(&daemon, &["--json", "--capability", "faulty.publish"]);
    let written = fs::read_to_string(daemon.folder.path().join("audit.jsonl")).unwrap();
    assert!(json.len() == 1 && written.lines().any(|line| line == json[0]), "{json:?}");
    let (code, _, errors) = run(&["audit", "query", "--outcome", "fine", "audit.jsonl"], daemon.folder.path());
    assert!(code != 0 && errors.contains("policy_failure"), "{errors}");
    for no_run in ["", "two", &format!("{ann}0"), &ann.to_uppercase().replace(char::is_numeric, "G")] {
        let (code, _, errors) = run(&["audit", "query", "--run", no_run, "audit.jsonl"], daemon.folder.path());
        assert!(code == 64 && errors.contains("a run's ID has 32 digits"), "{no_run}: {errors}");
    }
    assert_eq!(count(&["--run", &"0".repeat(32)]), 0);
}

#[test]
fn rotated_files_are_read_too_and_a_broken_line_is_told_and_no_more() {
    let folder = tempfile::tempdir().unwrap();
    let line = |run: &str| format!("{{\"kind\":\"run\",\"time\":\"2026-11-30T07:00:00Z\",\"run\":\"{run}\"}}\n");
    fs::write(folder.path().join("a.1"), line("one")).unwrap();
    fs::write(folder.path().join("a"), format!("{}{{\"kind\":\"ru\n\n{}", line("two"), line("th\\u001bree"))).unwrap();
    let (code, out, errors) = run(&["audit", "query", "a.1", "a"], folder.path());
    assert_eq!(code, 0);
    let found: Vec<_> = out.lines().map(|line| line.rsplit(' ').next().unwrap()).collect();
    assert_eq!(found, ["one", "two", "th\\u{1b}ree"]);
    assert_eq!(errors, "a:2: not an audit line\n");
    let (code, _, errors) = run(&["audit", "query", "nothing"], folder.path());
    assert_eq!((code, &*errors), (66, "error: no file at `nothing`\n"));
    let (code, out, errors) = run(&["audit", "query", "a.1", "."], folder.path());
    assert_eq!((code, &*out, &*errors), (66, "", "error: `.` is a folder, no regular file\n"));
    fs::write(folder.path().join("codemode.toml"), crate::harness::allow_all("")).unwrap();
    let (code, _, errors) = run(&["audit", "query"], folder.path());
    assert!(code == 64 && errors.contains("audit.to is `off`, which is no file: say which file to read"), "{errors}");
}

#[test]
fn what_the_journal_keeps_is_read_from_standard_input() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("codemode.toml"), crate::harness::allow_all("[audit]\nto = \"journald\"\n")).unwrap();
    let (code, _, errors) = run(&["audit", "query"], folder.path());
    assert!(
        code == 64 && errors.contains("`journalctl -t codemoded-audit -o cat | codemoded audit query -`"),
        "{errors}"
    );
    let line = |run: &str| format!("{{\"kind\":\"run\",\"time\":\"2026-11-30T07:00:00Z\",\"run\":\"{run}\"}}\n");
    let two = "2".repeat(32);
    fs::write(folder.path().join("journal"), format!("-- Boot 0123 --\n{}{}", line("one"), line(&two))).unwrap();
    let mut query = Command::new(executable());
    query.args(["audit", "query", "--run", &two, "-"]).current_dir(folder.path());
    let done = query.stdin(fs::File::open(folder.path().join("journal")).unwrap()).output().unwrap();
    let (out, errors) = (String::from_utf8(done.stdout).unwrap(), String::from_utf8(done.stderr).unwrap());
    assert!(done.status.success() && out.lines().count() == 1 && out.ends_with(&format!(" {two}\n")), "{out}{errors}");
    assert_eq!(errors, "-:1: not an audit line\n");
}

#[test]
fn the_tail_follows_the_file_wherever_rotation_takes_it() {
    let folder = tempfile::tempdir().unwrap();
    let line = |run: &str| format!("{{\"kind\":\"run\",\"time\":\"2026-11-30T07:00:00Z\",\"run\":\"{run}\"}}\n");
    let path = folder.path().join("a");
    fs::write(&path, ["one", "two", "three"].map(line).concat()).unwrap();
    let (_, out, _) = run(&["audit", "tail", "-n", "2", "a"], folder.path());
    assert_eq!(out.lines().map(|line| line.rsplit(' ').next().unwrap()).collect::<Vec<_>>(), ["two", "three"]);

    let mut tail = Command::new(executable())
        .args(["audit", "tail", "--follow", "-n", "1", "--json", "a"])
        .current_dir(folder.path())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut shown = BufReader::new(tail.stdout.take().unwrap()).lines().map(Result::unwrap);
    assert_eq!(shown.next().unwrap() + "\n", line("three"));
    let append = |text: &str| {
        use std::io::Write as _;
        fs::OpenOptions::new().append(true).create(true).open(&path).unwrap().write_all(text.as_bytes()).unwrap();
    };
    append(&line("four"));
    assert_eq!(shown.next().unwrap() + "\n", line("four"));
    fs::rename(&path, folder.path().join("a.1")).unwrap();
    append(&line("five"));
    assert_eq!(shown.next().unwrap() + "\n", line("five"));
    tail.kill().unwrap();
    tail.wait().unwrap();
}
