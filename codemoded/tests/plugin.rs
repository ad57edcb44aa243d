//! Plugins through the library's own door: real shared objects, probed by the real executable.

#![expect(clippy::expect_used, clippy::panic, clippy::unwrap_used, reason = "the lints spare test functions only")]

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use codemoded::identity::SubjectId;
use codemoded::plugin::{CallError, CallRequest, Instance, PluginFault, PluginSpec, Plugins};
use serde_json::{Value, json};
use tempfile::TempDir;

const EXECUTABLE: &str = env!("CARGO_BIN_EXE_codemoded");

/// Enough for every call that ends by itself.
const SOON: Duration = Duration::from_secs(10);

fn target_folder() -> PathBuf {
    Path::new(EXECUTABLE).parent().expect("an executable is in a folder").to_owned()
}

fn faulty() -> PathBuf {
    target_folder().join("deps/libcodemode_faulty.so")
}

fn example(name: &str) -> PathBuf {
    let path = target_folder().join("examples").join(format!("lib{name}.so"));
    assert!(path.exists(), "{} is missing: `cargo build --workspace --examples` makes it", path.display());
    path
}

fn spec(library: &Path, settings: Value) -> PluginSpec {
    PluginSpec {
        place: "plugins[0]".to_owned(),
        name: "faulty".to_owned(),
        library: library.to_owned(),
        settings,
        folder: std::env::temp_dir(),
    }
}

fn start(specs: &[PluginSpec], max_handlers: usize) -> Result<Plugins, Vec<PluginFault>> {
    Plugins::start(specs, max_handlers, Path::new(EXECUTABLE))
}

fn started(settings: Value) -> Plugins {
    start(&[spec(&faulty(), settings)], 64).unwrap_or_else(|faults| panic!("{faults:?}"))
}

#[track_caller]
fn check_refused(library: &Path, settings: Value, expected: &[&str]) {
    let faults = start(&[spec(library, settings)], 64).expect_err("it must be refused");
    let lines: Vec<_> = faults.iter().map(ToString::to_string).collect();
    let expected: Vec<_> =
        expected.iter().map(|line| line.replace("LIBRARY", &library.display().to_string())).collect();
    assert_eq!(lines, expected);
    assert!(lines.iter().all(|line| !line.contains('\n')));
}

#[test]
fn a_file_that_is_no_library_is_refused() {
    let folder = TempDir::new().unwrap();
    let missing = folder.path().join("libmissing.so");
    check_refused(&missing, json!({}), &["plugins[0]: plugin `faulty`: `LIBRARY` does not exist"]);
    check_refused(folder.path(), json!({}), &["plugins[0]: plugin `faulty`: `LIBRARY` is no regular file"]);
    let text = folder.path().join("libtext.so");
    fs::write(&text, "no library").unwrap();
    check_refused(&text, json!({}), &["plugins[0]: plugin `faulty`: `LIBRARY` cannot be loaded: file too short"]);
}

#[test]
fn a_library_that_others_may_write_is_refused_and_the_mend_is_told() {
    let folder = TempDir::new().unwrap();
    let library = folder.path().join("libfaulty.so");
    fs::copy(faulty(), &library).unwrap();
    fs::set_permissions(&library, fs::Permissions::from_mode(0o646)).unwrap();
    let file = "plugins[0]: plugin `faulty`: `LIBRARY` may be written by others than its owner: \
                mend it with `chmod go-w LIBRARY`";
    check_refused(&library, json!({}), &[file]);

    fs::set_permissions(&library, fs::Permissions::from_mode(0o644)).unwrap();
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o777)).unwrap();
    let line = format!(
        "plugins[0]: plugin `faulty`: `LIBRARY` lies in a folder that others than its owner may write: \
         mend it with `chmod go-w {}`",
        folder.path().display()
    );
    check_refused(&library, json!({}), &[&line]);

    let elsewhere = TempDir::new().unwrap();
    let link = elsewhere.path().join("liblink.so");
    symlink(&library, &link).unwrap();
    check_refused(&link, json!({}), &[&line]);
}

#[test]
fn a_library_that_is_wrong_as_a_whole_is_refused_with_the_reason() {
    let line = |reason: &str| format!("plugins[0]: plugin `faulty`: `LIBRARY` {reason}");
    let other = "is built for plugin ABI 999, and this daemon has ABI 1: build it with a plugin API of that ABI";
    check_refused(&example("other_abi"), json!({}), &[&line(other)]);
    let none = "is no codemode plugin: it exports no `codemode_plugin_abi`";
    check_refused(&example("no_plugin"), json!({}), &[&line(none)]);
    check_refused(&example("crash_on_load"), json!({}), &[&line("crashed while it was loaded: SIGABRT")]);
    let panicked = "panicked while it was asked what it offers: asked to panic in the description";
    check_refused(&example("panic_in_description"), json!({}), &[&line(panicked)]);
}

#[test]
fn whatever_happens_in_start_is_told_in_one_line() {
    for (start, reason) in [
        ("error", "did not start: asked to fail"),
        ("panic", "panicked while it was started: asked to panic in start"),
        ("crash", "crashed while it was started: SIGABRT"),
        ("exit", "ended its process while it was started, with status 0"),
    ] {
        let line = format!("plugins[0]: plugin `faulty`: `LIBRARY` {reason}");
        check_refused(&faulty(), json!({"start": start}), &[&line]);
    }
}

#[test]
fn a_start_that_hangs_is_given_up() {
    let begun = Instant::now();
    let line = "plugins[0]: plugin `faulty`: `LIBRARY` did not come back within 10 s while it was started";
    check_refused(&faulty(), json!({"start": "hang"}), &[line]);
    assert!(begun.elapsed() < Duration::from_secs(15));
}

#[test]
fn wrong_settings_are_told_with_their_keys_and_without_their_values() {
    let known = "it is unknown; known are `start`, `record`, `unhealthy`, `marker`, `end_milliseconds`";
    check_refused(
        &faulty(),
        json!({"recrod": "secret", "unhealthy": "secret"}),
        &[
            "plugins[0].config.unhealthy: plugin `faulty`: `LIBRARY` does not accept this setting: \
             value is not of type \"boolean\"",
            &format!("plugins[0].config.recrod: plugin `faulty`: `LIBRARY` does not accept this setting: {known}"),
        ],
    );
}

#[test]
fn the_faults_of_all_plugins_are_told_together() {
    let mut specs = [spec(&example("other_abi"), json!({})), spec(&faulty(), json!({"start": "panic"}))];
    specs[1].place = "plugins[1]".to_owned();
    specs[1].name = "second".to_owned();
    let faults = start(&specs, 64).expect_err("both must be refused");
    let places: Vec<_> = faults.iter().map(|fault| fault.at.as_str()).collect();
    assert_eq!(places, ["plugins[0]", "plugins[1]"]);

    specs[1].name = "faulty".to_owned();
    let faults = start(&specs, 64).expect_err("the name is taken");
    assert!(faults[0].to_string().ends_with("is configured under the name `faulty` twice: give each instance its own"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_tutorials_plugin_counts_words() {
    let mut spec = spec(&example("words"), json!({}));
    spec.name = "words".to_owned();
    let mut plugins = start(&[spec], 64).unwrap_or_else(|faults| panic!("{faults:?}"));
    let offers = plugins.take_offers();
    let [(instance, capabilities)] = &offers[..] else { panic!("one instance: {offers:?}") };
    let [count] = &capabilities[..] else { panic!("one capability: {capabilities:?}") };
    let input: Value = count.input.read().unwrap();
    assert_eq!(input["properties"]["text"]["description"], "The text to count in.");
    assert_eq!(input["required"], json!(["text"]));
    assert_eq!(count.hints.read_only, Some(true));
    let caller = Caller::new(instance, "alice");
    let counted = caller.call("words.count", r#"{"text": "to be or not to be", "min_letters": 3}"#).await;
    assert_eq!(counted.as_deref(), Ok(r#"{"words":1}"#));
}

#[test]
fn a_name_that_no_place_could_show_is_refused() {
    for name in ["", "a b", "a\0b", "ä"] {
        let mut spec = spec(&faulty(), json!({}));
        spec.name = name.to_owned();
        let faults = start(&[spec], 64).expect_err(name);
        let end = format!("the name {name:?}: an instance's name is 1 to 64 letters, digits, `_` and `-`");
        assert!(faults[0].to_string().ends_with(&end), "{}", faults[0]);
    }
}

struct Caller<'a> {
    instance: &'a Instance,
    subject: SubjectId,
    time: Duration,
}

impl<'a> Caller<'a> {
    fn new(instance: &'a Instance, subject: &str) -> Self {
        let subject = SubjectId::new(subject).unwrap();
        Self { instance, subject, time: SOON }
    }

    async fn call(&self, capability: &str, arguments: &str) -> Result<String, CallError> {
        let request = CallRequest {
            capability,
            subject: &self.subject,
            run: "run-1",
            arguments,
            deadline: Instant::now() + self.time,
            traceparent: None,
        };
        self.instance.call(request, || {}).await.map(|json| String::from_utf8(json).unwrap())
    }
}

/// Waits for what the plugin does by itself after nobody waits for it.
async fn eventually(what: &str, holds: impl Fn() -> bool) {
    let end = Instant::now() + SOON;
    while !holds() {
        assert!(Instant::now() < end, "{what}");
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_value_comes_back_to_the_digit() {
    let plugins = started(json!({}));
    let caller = Caller::new(&plugins.instances()[0], "alice");
    let big = "9".repeat(1000);
    let value = format!(r#"{{"z":{big},"a":[1.10,1e400,-0.0,"\u0000😀"],"$serde_json::private::RawValue":"[1]"}}"#);
    for capability in ["faulty.echo", "faulty.echo_async"] {
        let arguments = format!(r#"{{"value":{value}}}"#);
        assert_eq!(caller.call(capability, &arguments).await.as_ref(), Ok(&value), "{capability}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_handler_sees_who_calls_and_in_which_run() {
    let folder = TempDir::new().unwrap();
    let mut spec = spec(&faulty(), json!({"record": "calls.jsonl"}));
    spec.folder = folder.path().to_owned();
    let plugins = start(&[spec], 64).unwrap();
    let caller = Caller::new(&plugins.instances()[0], "al\"ice");
    let answer = caller.call("faulty.record", r#"{"value": {"b":1,"a":2}}"#).await.unwrap();
    assert_eq!(answer, r#"{"subject":"al\"ice","run":"run-1"}"#);
    let expected =
        r#"{"capability":"faulty.record","arguments":{"value": {"b":1,"a":2}},"subject":"al\"ice","run":"run-1"}"#;
    assert_eq!(fs::read_to_string(folder.path().join("calls.jsonl")).unwrap(), format!("{expected}\n"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_failure_is_of_its_kind() {
    let plugins = started(json!({}));
    let caller = Caller::new(&plugins.instances()[0], "alice");
    let message = r#"{"message": "no such table"}"#;
    let text = || "no such table".to_owned();
    assert_eq!(caller.call("faulty.publish", message).await, Err(CallError::Published(text())));
    assert_eq!(caller.call("faulty.fail", message).await, Err(CallError::Private(text())));
    let panic = Err(CallError::Panic("asked to panic".to_owned()));
    assert_eq!(caller.call("faulty.panic", "{}").await, panic);
    assert_eq!(caller.call("faulty.panic_async", "{}").await, panic);
    assert!(matches!(caller.call("faulty.publish", "{}").await, Err(CallError::Private(_))));
    assert!(matches!(caller.call("faulty.none", "{}").await, Err(CallError::Malformed(_))));
    assert_eq!(caller.call("faulty.huge", r#"{"letters": 3000000}"#).await.map(|text| text.len()), Ok(3_000_002));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whoever_stops_waiting_leaves_at_once_and_the_handler_is_told() {
    let plugins = started(json!({}));
    let instance = &plugins.instances()[0];
    for capability in ["faulty.wait", "faulty.wait_async"] {
        let mut caller = Caller::new(instance, "alice");
        caller.time = Duration::from_secs(50);
        let dropped = tokio::time::timeout(Duration::from_millis(20), caller.call(capability, "{}")).await;
        assert!(dropped.is_err());
        eventually("an abandoned handler ends", || instance.in_flight() == 0).await;

        caller.time = Duration::from_millis(20);
        assert_eq!(caller.call(capability, "{}").await, Err(CallError::TimedOut));
        eventually("a late handler ends", || instance.in_flight() == 0).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn handlers_that_ignore_their_signal_keep_their_slots_and_leave_others_theirs() {
    let plugins = start(&[spec(&faulty(), json!({}))], 8).unwrap();
    let instance = &plugins.instances()[0];
    let mut alice = Caller::new(instance, "alice");
    alice.time = Duration::from_millis(20);
    for _ in 0..2 {
        assert_eq!(alice.call("faulty.hang", "{}").await, Err(CallError::TimedOut));
    }
    assert_eq!(alice.call("faulty.hang", "{}").await, Err(CallError::Busy));
    assert_eq!(instance.in_flight(), 2);
    let bob = Caller::new(instance, "bob");
    assert_eq!(bob.call("faulty.echo", r#"{"value":1}"#).await.as_deref(), Ok("1"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_async_handler_that_does_not_heed_its_signal_is_dropped_after_a_while() {
    let plugins = started(json!({}));
    let instance = &plugins.instances()[0];
    let mut caller = Caller::new(instance, "alice");
    caller.time = Duration::from_millis(20);
    let asleep = caller.call("faulty.sleep_async", r#"{"milliseconds": 60000}"#).await;
    assert_eq!(asleep, Err(CallError::TimedOut));
    eventually("the future is dropped", || instance.in_flight() == 0).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_library_serves_under_several_names() {
    let folder = TempDir::new().unwrap();
    let specs: Vec<_> = ["one", "two"]
        .iter()
        .map(|name| {
            let mut spec = spec(&faulty(), json!({"record": format!("{name}.jsonl")}));
            spec.name = (*name).to_owned();
            spec.folder = folder.path().to_owned();
            spec
        })
        .collect();
    let mut plugins = start(&specs, 64).unwrap();
    for (name, (instance, capabilities)) in ["one", "two"].into_iter().zip(plugins.take_offers()) {
        let ids: Vec<_> = capabilities.iter().filter_map(|capability| capability.id.as_deref()).collect();
        assert_eq!(ids, [format!("{name}.record.write")]);
        let caller = Caller::new(&instance, "alice");
        caller.call(&format!("{name}.note"), r#"{"text": "here"}"#).await.unwrap();
        let record = fs::read_to_string(folder.path().join(format!("{name}.jsonl"))).unwrap();
        assert_eq!(record.lines().count(), 1);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_library_that_is_overwritten_or_removed_goes_on_serving() {
    let folder = TempDir::new().unwrap();
    let library = folder.path().join("libfaulty.so");
    fs::copy(faulty(), &library).unwrap();
    let plugins = start(&[spec(&library, json!({}))], 64).unwrap();
    fs::write(&library, "overwritten in place").unwrap();
    let caller = Caller::new(&plugins.instances()[0], "alice");
    assert_eq!(caller.call("faulty.echo", r#"{"value":1}"#).await.as_deref(), Ok("1"));
    fs::remove_file(&library).unwrap();
    assert_eq!(caller.call("faulty.echo_async", r#"{"value":2}"#).await.as_deref(), Ok("2"));
}
