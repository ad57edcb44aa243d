//! A policy can be tried before it decides: its unit tests, and one call's decision with what each rule says.

mod failing;

use std::fs;
use std::path::Path;

use crate::harness::{allow_all, faulty, records, run};

const RULES: &str = r#"package p

default allow := false

allow if input.capability.hints.read_only

allow if writer

writer if input.subject.claims.role == "writer"

discover if input.capability.id != "faulty.record.write"

reason := "ask the owner" if not writer
"#;

const TESTS: &str = r#"package p_test

import data.p

test_a_writer_may_write if p.allow with input as {"subject": {"claims": {"role": "writer"}}, "capability": {"hints": {}}}

test_others_may_not if not p.allow with input as {"subject": {"claims": {}}, "capability": {"hints": {}}}
"#;

fn folder(tests: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let policy = "mode = \"rego\"\nmodules = [\"p.rego\"]\nexecute = \"data.p.allow\"\ndiscover = \"data.p.discover\"\n\
                  reason = \"data.p.reason\"";
    let config = allow_all(&faulty()).replace("mode = \"allow-all\"", policy);
    fs::write(folder.path().join("codemode.toml"), config).unwrap();
    fs::write(folder.path().join("p.rego"), RULES).unwrap();
    fs::write(folder.path().join("p_test.rego"), tests).unwrap();
    folder
}

#[test]
fn unit_tests_beside_a_policy_are_run_and_a_failed_one_fails_the_command() {
    let sound = folder(TESTS);
    let (code, printed, errors) = run(&["policy", "test"], sound.path());
    let expected = "ok      data.p_test.test_a_writer_may_write\nok      data.p_test.test_others_may_not\n\
                    2 passed, 0 failed\n";
    assert_eq!((code, printed.as_str(), errors.as_str()), (0, expected, ""));

    let wrong = folder(&format!("{TESTS}\ntest_wrong if p.allow with input as {{}}\n\ntest_no_boolean := 7\n"));
    let (code, printed, errors) = run(&["policy", "test"], wrong.path());
    assert_eq!((code, errors.trim()), (1, "error: 2 of 4 tests failed"));
    let place = wrong.path().join("p_test.rego").display().to_string();
    assert!(printed.contains(&format!("FAILED  data.p_test.test_wrong  ({place}:9: undefined)\n")), "{printed}");
    assert!(printed.contains(&format!("FAILED  data.p_test.test_no_boolean  ({place}:11: 7)\n")), "{printed}");
}

#[test]
fn tests_may_be_named_and_none_is_a_failure() {
    let none = folder("package p_test\n");
    let (code, _, errors) = run(&["policy", "test"], none.path());
    assert_eq!(code, 1);
    assert!(errors.starts_with("error: no rule is named `test_…`"), "{errors}");
    fs::write(none.path().join("elsewhere.rego"), TESTS).unwrap();
    let (code, printed, _) = run(&["policy", "test", "elsewhere.rego"], none.path());
    assert_eq!((code, printed.lines().last()), (0, Some("2 passed, 0 failed")));
    let (code, _, errors) = run(&["policy", "test", "gone.rego"], none.path());
    assert_eq!((code, errors.as_str()), (66, "error: no file at `gone.rego`\n"));
}

#[test]
fn a_policy_that_would_not_be_served_is_not_tested() {
    let folder = folder(&format!("{TESTS}\ntest_time if time.now_ns() > 0\n"));
    let (code, printed, errors) = run(&["policy", "test"], folder.path());
    assert_eq!((code, printed.as_str()), (78, ""));
    assert!(errors.contains("p_test.rego:9: `time.now_ns` is never available in a policy"), "{errors}");
}

#[test]
fn the_shipped_policy_passes_its_tests() {
    let shipped = Path::new(env!("CARGO_MANIFEST_DIR")).join("../config/policy/authz.rego").canonicalize().unwrap();
    let policy = format!("mode = \"rego\"\nmodules = [{shipped:?}]\nexecute = \"data.codemode.authz.allow\"");
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("codemode.toml"), allow_all("").replace("mode = \"allow-all\"", &policy)).unwrap();
    let (code, printed, errors) = run(&["policy", "test"], folder.path());
    assert_eq!((code, errors.as_str()), (0, ""), "{printed}");
    assert!(printed.ends_with(" passed, 0 failed\n") && !printed.starts_with('0'), "{printed}");
}

#[test]
fn one_call_is_decided_and_each_rule_says_why() {
    let folder = folder(TESTS);
    fs::write(folder.path().join("writer.json"), "{\"role\": \"writer\"}").unwrap();
    let eval = |arguments: &[&str]| run(&[&["policy", "eval"], arguments].concat(), folder.path());
    let (code, printed, errors) = eval(&["faulty.record", "value=[1, 2]", "count=3"]);
    assert_eq!(code, 0, "{errors}");
    let expected = "decision  deny: ask the owner\nshown     no\n\
        input     {\"subject\":{\"id\":\"local\",\"claims\":{}},\"capability\":{\"id\":\"faulty.record.write\",\
        \"name\":\"faulty.record\",\"hints\":{\"read_only\":false,\"destructive\":false}},\
        \"arguments\":{\"value\":[1,2],\"tags\":[],\"count\":3}}\n\
        rules     data.p.allow = false\n          data.p.writer = undefined\n          data.p.discover = undefined\n          \
        data.p.reason = \"ask the owner\"\n";
    assert_eq!(printed, expected);
    let (_, printed, _) = eval(&["faulty.record", "value=1", "--claims", "writer.json"]);
    assert!(printed.starts_with("decision  allow\n"), "{printed}");
    let (_, printed, _) = eval(&["faulty.note", "text=seven"]);
    assert!(printed.starts_with("decision  allow\nshown     yes\n"), "{printed}");
    let (_, by_id, _) = eval(&["faulty.record.write", "value=1", "--claims", "writer.json"]);
    assert!(by_id.starts_with("decision  allow\n"), "{by_id}");
    for (arguments, code, text) in [
        (&["faulty.nothing"][..], 1, "error: capability not found"),
        (&["faulty.nott", "text=seven"], 1, "faulty.note"),
        (&["faulty.note", "text"], 64, "error: `text` is no argument; write KEY=VALUE"),
        (&["faulty.note", "text=a", "text=b"], 64, "error: the argument `text` is given twice"),
        (&["faulty.note", "text=1"], 1, "error: invalid capability arguments: faulty.note: argument \"text\" must be"),
    ] {
        let (exit, _, errors) = eval(arguments);
        assert_eq!(exit, code, "{errors}");
        assert!(errors.contains(text), "{errors}");
    }
}

#[test]
fn a_rule_that_names_a_capability_that_is_not_there_is_told_with_its_place() {
    let rules = r#"package p

default allow := false

allow if input.capability.id == "records.lookup"

allow if "records.entry.search" == input.capability.name

allow if input.capability.id in {"records.entry.lookup", "records.entry.find"}

allow if {
	some other in ["records.put"]
	not input.capability["id"] != "records.lost"
	input.capability.id = other
}

allow if input.capability.name in ["records.lookup", "files.read"]

allow if input.capability.id == "records.put"

allow if input.subject.id == "records.nobody"
"#;
    let folder = folder("package p_test\n");
    fs::write(folder.path().join("p.rego"), format!("{rules}\ndiscover := true\nreason := \"no\"\n")).unwrap();
    let config = fs::read_to_string(folder.path().join("codemode.toml")).unwrap();
    let disabled = "[catalog]\ndisabled = [\"records.put\"]\n";
    fs::write(folder.path().join("codemode.toml"), format!("{config}{}{disabled}", records())).unwrap();
    let (code, _, errors) = run(&["check"], folder.path());
    assert_eq!(code, 0, "{errors}");
    let told: Vec<_> =
        errors.lines().map(|line| line.split_once("p.rego:").unwrap_or_else(|| panic!("{errors}")).1).collect();
    assert_eq!(
        told,
        [
            "5: no capability has the ID `records.lookup`; it is the name of the one with the ID `records.entry.lookup`",
            "7: no capability has the name `records.entry.search`; it is the ID of the one with the name `records.search`",
            "9: no capability has the ID `records.entry.find`",
            "13: no capability has the ID `records.lost`",
        ]
    );
}

#[test]
fn a_call_is_tried_with_the_groups_of_the_subjects_tokens() {
    let folder = folder("package p_test\n");
    let config = fs::read_to_string(folder.path().join("codemode.toml")).unwrap();
    let tokens = "mode = \"tokens\"\ntokens_file = \"tokens.toml\"";
    let config = config.replace("mode = \"static\"\nsubject = \"local\"", tokens);
    fs::write(folder.path().join("codemode.toml"), config).unwrap();
    let new = |subject: &str, group: &str| {
        let (_, printed, _) = run(&["token", "new", "--subject", subject, "--group", group], folder.path());
        printed.lines().last().unwrap().to_owned()
    };
    let lines = [new("ann", "ops"), new("ann", "ops"), new("bob", "ops"), new("bob", "staff")].join("\n");
    fs::write(folder.path().join("tokens.toml"), lines).unwrap();
    for (subject, more, claims) in [
        ("ann", &[][..], "{\"groups\":[\"ops\"]}"),
        ("bob", &[], "{}"),
        ("eve", &[], "{}"),
        ("ann", &["--claims", "claims.json"], "{\"role\":\"writer\"}"),
    ] {
        fs::write(folder.path().join("claims.json"), "{\"role\": \"writer\"}").unwrap();
        let eval = [&["policy", "eval", "--subject", subject][..], more, &["faulty.note", "text=x"]].concat();
        let (_, printed, errors) = run(&eval, folder.path());
        assert!(printed.contains(&format!("{{\"id\":\"{subject}\",\"claims\":{claims}}}")), "{printed}{errors}");
    }
}
