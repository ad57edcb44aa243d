//! The commands beside the daemon: the same configuration, the same code, the same answers.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::harness::{Daemon, allow_all, program, records, run};

fn folder_with(config: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("codemode.toml"), config).unwrap();
    folder
}

/// What a command that must succeed prints.
#[track_caller]
fn printed(folder: &Path, command: &[&str]) -> String {
    let (code, printed, errors) = run(command, folder);
    assert_eq!(code, 0, "{command:?}: {errors}");
    printed
}

#[test]
fn a_command_answers_as_the_tool_does() {
    let daemon = Daemon::start(&allow_all(&records()));
    let folder = daemon.folder.path();
    for (tool, key, given) in
        [("search_api", "query", "look up"), ("describe_api", "name", "records.lookup"), ("search_api", "query", "zzz")]
    {
        let answer = daemon.call(tool, json!({ key: given }), &[]).structured.unwrap();
        let command = tool.strip_suffix("_api").unwrap();
        assert_eq!(serde_json::from_str::<Value>(&printed(folder, &[command, given])).unwrap(), answer);
    }
    let (code, _, errors) = run(&["describe", "records.nothing"], folder);
    assert_eq!((code, errors.lines().last()), (1, Some("error: capability not found")), "{errors}");
}

#[test]
fn the_catalog_lists_each_signature_with_its_summary() {
    let folder = folder_with(&allow_all(&records()));
    let listed = printed(folder.path(), &["catalog"]);
    let signatures: Vec<_> = listed.lines().filter(|line| !line.starts_with("    ")).collect();
    assert_eq!(signatures.len(), 5, "{listed}");
    let lookup = "records.lookup(*, key: str, limit: int | None)\n    ";
    assert!(listed.contains(lookup), "{listed}");
    assert!(listed.contains("\n    ID records.entry.delete\n"), "{listed}");
}

#[test]
fn run_takes_its_program_from_a_file_or_standard_input_and_says_how_it_failed() {
    let folder = folder_with(&allow_all(&records()));
    fs::write(folder.path().join("good.star"), program("return {\"a\": [1, 2.5]}")).unwrap();
    fs::write(folder.path().join("bad.star"), program("return records.put(key = \"a\", value = 1)[\"no\"]")).unwrap();
    assert_eq!(printed(folder.path(), &["run", "good.star"]), "{\"a\":[1,2.5]}\n");
    let (code, out, errors) = run(&["run", "bad.star"], folder.path());
    assert_eq!((code, out.as_str()), (1, ""));
    assert!(errors.contains("error: invalid program: <codemode>:2:12: "), "{errors}");
    assert!(errors.contains("calls made: 1; may have changed: records.put ×1"), "{errors}");
    let (code, _, errors) = run(&["run", "none.star"], folder.path());
    assert_eq!(code, 66, "{errors}");
    assert!(errors.contains("error: no file at `none.star`\n"), "{errors}");
}

#[test]
fn a_command_runs_for_the_subject_and_claims_it_is_given() {
    let rules = "package p\n\ndefault allow := false\n\nallow if input.subject.id == \"ann\"\n\n\
                 allow if \"writers\" in input.subject.claims.groups\n";
    let policy = "mode = \"rego\"\nmodules = [\"p.rego\"]\nexecute = \"data.p.allow\"";
    let folder = folder_with(&allow_all(&records()).replace("mode = \"allow-all\"", policy));
    fs::write(folder.path().join("p.rego"), rules).unwrap();
    fs::write(folder.path().join("claims.json"), "{\"groups\": [\"writers\"]}").unwrap();
    for (name, text) in [
        ("list.json", &b"[]"[..]),
        ("half.json", b"{\"a\": 1,\n "),
        ("twice.json", b"{\"a\": 1, \"a\": 2}"),
        ("bytes.json", b"{\"a\":\n \"\xff\"}"),
    ] {
        fs::write(folder.path().join(name), text).unwrap();
    }
    fs::write(folder.path().join("put.star"), program("return records.put(key = \"a\", value = 1)[\"key\"]")).unwrap();
    let claims = ["run", "put.star", "--subject", "bob", "--claims", "claims.json"];
    assert_eq!(printed(folder.path(), &["run", "put.star", "--subject", "ann"]), "\"a\"\n");
    assert_eq!(printed(folder.path(), &claims), "\"a\"\n");
    for (command, code, text) in [
        (&["run", "put.star"][..], 1, "error: permission denied"),
        (&["run", "put.star", "--subject", "bob"], 1, "error: permission denied"),
        (&["run", "put.star", "--subject", "b\nb"], 64, "error: --subject: "),
        (&["run", "put.star", "--claims", "list.json"], 66, "error: `list.json` must hold one JSON object"),
        (&["run", "put.star", "--claims", "half.json"], 66, "error: half.json:2:2: not valid JSON; "),
        (&["run", "put.star", "--claims", "twice.json"], 66, ": the same key twice in one object; "),
        (&["run", "put.star", "--claims", "bytes.json"], 66, "error: bytes.json:2:3: not valid UTF-8; "),
    ] {
        let (exit, _, errors) = run(command, folder.path());
        assert_eq!(exit, code, "{command:?}: {errors}");
        assert!(errors.contains(text), "{command:?}: {errors}");
    }
}

#[test]
fn a_reader_that_has_seen_enough_is_no_fault() {
    let folder = folder_with(&allow_all(&records()));
    let library = crate::harness::library("codemode_records");
    let inspect = ["plugin", "inspect", library.to_str().unwrap()];
    for command in [&["catalog"][..], &["check"], &["search", "look up"], &["describe", "records.lookup"], &inspect] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let mut codemoded = std::process::Command::new(crate::harness::executable());
        let codemoded = codemoded.args(command).env("CODEMODE_ADMIN__LISTEN", "off").current_dir(folder.path());
        let done = codemoded.stdout(writer).output().unwrap();
        let errors = String::from_utf8(done.stderr).unwrap();
        assert!(done.status.code() == Some(0) && !errors.contains("error"), "{command:?}: {errors}");
    }
}
