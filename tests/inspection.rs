//! `codemoded plugin inspect`: what a library offers, from a process that can do nothing else.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::harness::{executable, faulty_example, library, not_run, run};

#[track_caller]
fn inspect(library: &Path, options: &[&str]) -> (i32, String, String) {
    let arguments: Vec<_> = ["plugin", "inspect", library.to_str().unwrap()].iter().chain(options).copied().collect();
    run(&arguments, Path::new("/"))
}

/// The library is refused with this exit code and one line.
#[track_caller]
fn refused(library: &Path, code: i32, reason: &str) {
    let (exit, printed, errors) = inspect(library, &[]);
    assert_eq!((exit, printed.as_str()), (code, ""), "{errors}");
    assert_eq!(errors, format!("error: `{}` {reason}\n", library.display()));
}

#[test]
fn a_plugin_is_shown_whole() {
    let (code, printed, errors) = inspect(&library("codemode_records"), &[]);
    assert_eq!(code, 0, "{errors}");
    for line in [
        "plugin        codemode-records 1.0.0, ABI 1",
        "summary       Entries under keys, kept in SQLite.",
        "operations    call, health",
        "  database: string, required",
        "capabilities  5",
        "  records.lookup(*, key: str, limit: int | None)",
        "      hints: read-only, idempotent",
    ] {
        assert!(printed.lines().any(|shown| shown == line), "{line} in:\n{printed}");
    }
    assert!(!printed.contains("not loadable"), "{printed}");
}

#[test]
fn json_has_the_schemas_too() {
    let (code, printed, errors) = inspect(&library("codemode_records"), &["--json"]);
    assert_eq!(code, 0, "{errors}");
    let shown: Value = serde_json::from_str(&printed).unwrap();
    assert_eq!((&shown["abi"], &shown["package"]), (&json!(1), &json!("codemode-records")));
    assert_eq!(shown["sha256"].as_str().unwrap().len(), 64);
    assert_eq!(shown["settings"]["required"], json!(["database"]));
    let lookup =
        shown["capabilities"].as_array().unwrap().iter().find(|each| each["name"] == "records.lookup").unwrap();
    assert_eq!(lookup["described"]["signature"], "records.lookup(*, key: str, limit: int | None)");
    assert_eq!(lookup["input_schema"]["properties"]["key"]["type"], "string");
    assert_eq!(lookup["kind"], "blocking");
}

#[test]
fn a_library_that_says_nothing_is_refused_in_one_line() {
    for (example, reason) in [
        ("other_abi", "is built for plugin ABI 999, and this daemon has ABI 1: build it with a plugin API of that ABI"),
        ("crash_on_load", "crashed while it was loaded: SIGABRT"),
        ("endless_on_load", "did not come back within 10 s while it was loaded"),
        ("no_plugin", "is no codemode plugin: it exports no `codemode_plugin_abi`"),
        ("panic_in_description", "panicked while it was asked what it offers: asked to panic in the description"),
    ] {
        refused(&faulty_example(example), 65, reason);
    }
    refused(Path::new("/no/such/library.so"), 66, "does not exist");
    refused(Path::new("/dev/null"), 66, "is no regular file");
    refused(Path::new("/etc/passwd"), 65, "cannot be loaded: invalid ELF header");
}

#[test]
fn an_endless_load_ends_with_its_time() {
    let started = Instant::now();
    refused(&faulty_example("endless_on_load"), 65, "did not come back within 10 s while it was loaded");
    assert!(started.elapsed() < Duration::from_secs(15));
}

#[test]
fn what_a_daemon_would_refuse_is_shown_and_told() {
    for (example, shown, faults) in [
        ("bad_schema", "  bad.schema: would be refused", &["capability `bad.schema`: input schema: "][..]),
        ("duplicate_name", "  duplicate.name(", &["capability `duplicate.name`: the name is also that of "]),
        (
            "oversized",
            "  oversized.all: would be refused",
            &["capability `oversized.all`: the summary has 1500 bytes", "`oversized.all`: there are 17 search terms"],
        ),
    ] {
        let (code, printed, errors) = inspect(&faulty_example(example), &[]);
        assert_eq!(code, 65, "{example}: {errors}");
        assert!(printed.contains(shown), "{example}: {shown} in:\n{printed}");
        for fault in faults {
            assert!(errors.contains(fault), "{example}: {fault} in:\n{errors}");
        }
    }
}

#[test]
fn a_library_can_do_nothing_while_it_is_looked_at() {
    let (code, printed, errors) = inspect(&faulty_example("intrusive"), &[]);
    assert_eq!(code, 0, "{errors}");
    // Nothing is listed, and what would steer a terminal is gone.
    assert!(printed.contains("      could:  [2J\n"), "{printed:?}");
}

#[test]
fn a_library_that_others_could_have_written_is_shown_and_the_mend_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let copy: PathBuf = folder.path().join("lib.so");
    fs::copy(library("codemode_records"), &copy).unwrap();
    fs::set_permissions(&copy, fs::Permissions::from_mode(0o666)).unwrap();
    let (code, printed, errors) = inspect(&copy, &[]);
    assert_eq!(code, 0, "{errors}");
    let mend = format!("mend it with `chmod go-w {}`", copy.display());
    assert!(printed.contains("not loadable") && printed.contains(&mend), "{printed}");
}

/// The table of groups lists only the members that a group has beside those whose first group it is.
#[test]
fn a_group_that_is_somebody_else_s_first_is_not_private() {
    if !rustix::process::geteuid().is_root() {
        return not_run("a_group_that_is_somebody_else_s_first_is_not_private", "needs root");
    }
    let folder = tempfile::tempdir().unwrap();
    let copy: PathBuf = folder.path().join("lib.so");
    fs::copy(library("codemode_records"), &copy).unwrap();
    fs::set_permissions(&copy, fs::Permissions::from_mode(0o664)).unwrap();
    fs::write(folder.path().join("group"), "root:x:0:\n").unwrap();
    for (users, loadable) in [("root:x:0:0::/:\n", true), ("root:x:0:0::/:\nann:x:1001:0::/:\n", false)] {
        fs::write(folder.path().join("passwd"), users).unwrap();
        let mounts = "for table in group passwd; do mount --bind \"$0/$table\" /etc/$table; done; exec \"$@\"";
        let mut command = Command::new("unshare");
        command.args(["--mount", "bash", "-ec", mounts]).arg(folder.path());
        let done = command.args([executable(), "plugin", "inspect"]).arg(&copy).output().unwrap();
        let printed = String::from_utf8(done.stdout).unwrap();
        assert!(done.status.success(), "{:?}", done.stderr);
        assert_eq!(!printed.contains("not loadable"), loadable, "{users}{printed}");
    }
}
