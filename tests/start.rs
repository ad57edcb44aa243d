//! What refuses the start: one readable line that names the place, and an exit code of its own.

use std::fs;

use crate::harness::{allow_all, faulty_example, library, plugin, records, run};

/// The configuration is refused, and the message holds all of this.
#[track_caller]
fn check(config: &str, told: &[&str]) {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("codemode.toml"), config).unwrap();
    let (code, printed, errors) = run(&["--config", "codemode.toml"], folder.path());
    assert_eq!((code, printed.as_str()), (78, ""), "{errors}");
    let line = errors
        .lines()
        .filter(|line| line.starts_with("error: "))
        .find(|line| told.iter().all(|part| line.contains(part)));
    assert!(line.is_some(), "{told:?} in:\n{errors}");
}

#[test]
fn an_unknown_disabled_id_is_refused_with_the_nearest_one() {
    let config = allow_all(&format!("[catalog]\ndisabled = [\"records.entry.delte\"]\n{}", records()));
    check(&config, &["catalog.disabled[0]", "records.entry.delte", "did you mean `records.entry.delete`"]);
}

#[test]
fn an_unknown_key_and_a_missing_policy_are_refused_together() {
    let config = "[identity]\nmode = \"static\"\nsubject = \"local\"\n[limits]\nmax_native_cals = 1\n";
    check(config, &["codemode.toml:5:1", "limits.max_native_cals", "did you mean `max_native_calls`"]);
    check(config, &["policy: missing"]);
}

#[test]
fn what_cannot_be_read_is_told_with_the_systems_reason() {
    let folder = tempfile::tempdir().unwrap();
    let (code, _, errors) = run(&["check"], folder.path());
    let told = "error: codemode.toml: cannot read the configuration; give another with `--config FILE`: no file at \
                `codemode.toml`\n";
    assert_eq!((code, errors.as_str()), (78, told));
    fs::write(folder.path().join("codemode.toml"), b"# a\n[\xe4]\n").unwrap();
    let (_, _, errors) = run(&["check"], folder.path());
    assert_eq!(errors, "error: codemode.toml:2:2: not UTF-8\n");
    let config =
        "[identity]\nmode = \"static\"\nsubject = { file = \"/proc/self/mem\" }\n[policy]\nmode = \"allow-all\"\n";
    fs::write(folder.path().join("codemode.toml"), config).unwrap();
    let (_, _, errors) = run(&["check"], folder.path());
    assert!(errors.contains("cannot read `/proc/self/mem`: Input/output error (os error 5)\n"), "{errors}");
}

#[test]
fn a_missing_library_is_refused() {
    let config = allow_all(&plugin("gone", std::path::Path::new("./gone.so"), ""));
    check(&config, &["plugins[0]", "gone.so"]);
}

#[test]
fn a_library_that_cannot_serve_is_refused_and_the_daemon_lives_to_say_so() {
    let libraries = [
        ("other_abi", "is built for plugin ABI 999, and this daemon has ABI 1"),
        ("crash_on_load", "crashed while it was loaded: SIGABRT"),
        ("no_plugin", "exports no `codemode_plugin_abi`"),
        ("bad_schema", "keyword `type` must be a type"),
        ("duplicate_name", "the name is also that of capability `duplicate.name`"),
        ("colliding_names", "the name is also the namespace of capability `colliding.name.inner`"),
        ("panic_in_description", "panicked while it was asked what it offers"),
    ];
    for (name, reason) in libraries {
        check(&allow_all(&plugin("odd", &faulty_example(name), "")), &[reason]);
    }
    let starts = [
        ("panic", "panicked while it was started"),
        ("error", "did not start: asked to fail"),
        ("crash", "crashed while it was started: SIGABRT"),
    ];
    for (start, reason) in starts {
        let config = allow_all(&plugin("odd", &library("codemode_faulty"), &format!("start = \"{start}\"")));
        check(&config, &["libcodemode_faulty.so", reason]);
    }
}

#[test]
fn all_faults_of_all_registrations_are_reported_together() {
    let libraries = ["bad_schema", "duplicate_name", "colliding_names", "oversized"];
    let plugins: String = libraries.iter().map(|name| plugin(name, &faulty_example(name), "")).collect();
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("codemode.toml"), allow_all(&plugins)).unwrap();
    let (code, _, errors) = run(&["--config", "codemode.toml", "check"], folder.path());
    assert_eq!(code, 78, "{errors}");
    let expected = [
        ("bad.schema", "bad_schema", "input schema: schema at `/properties/text`: keyword `type` must be a type"),
        ("duplicate.name", "duplicate_name", "the name is also that of capability `duplicate.name`"),
        ("colliding.name", "colliding_names", "the name is also the namespace of capability `colliding.name.inner`"),
        ("oversized.all", "oversized", "the summary has 1500 bytes, and 1024 are the most"),
        ("oversized.all", "oversized", "the description has 20000 bytes, and 16384 are the most"),
        ("oversized.all", "oversized", "there are 17 search terms, and 16 are the most"),
        ("oversized.all", "oversized", "the search terms have"),
    ];
    for (capability, instance, reason) in expected {
        let library = faulty_example(instance);
        let line = format!("capability `{capability}` of plugin `{instance}` ({}): {reason}", library.display());
        assert!(errors.contains(&line), "{line} in:\n{errors}");
    }
}

#[test]
fn more_capabilities_than_the_bound_are_refused() {
    let plugins = ["many", "thousand"].map(|name| plugin(name, &faulty_example(name), "")).concat();
    check(&allow_all(&plugins), &["21000 capabilities are registered, and 20000 are the most"]);
}

#[test]
fn check_says_what_was_loaded() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("codemode.toml"), allow_all(&records())).unwrap();
    let (code, printed, errors) = run(&["--config", "codemode.toml", "check"], folder.path());
    assert_eq!(code, 0, "{errors}");
    for part in
        ["plugins        records 1.0.0 (5)", "catalog        5 enabled, 0 disabled", "identity       static: local"]
    {
        assert!(printed.contains(part), "{part} in:\n{printed}");
    }
}

#[test]
fn a_log_that_is_no_terminal_has_no_colours() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("codemode.toml"), allow_all(&records())).unwrap();
    fs::write(folder.path().join("one.star"), "def main():\n    return 1\n").unwrap();
    let (code, _, log) = run(&["run", "one.star"], folder.path());
    assert_eq!(code, 0, "{log}");
    assert!(log.contains("run returned") && !log.contains('\u{1b}'), "{log:?}");
}
