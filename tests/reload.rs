//! A daemon that is told to reload: all of the new, or all of the old, and nobody notices the change in between.

use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::harness::{Daemon, allow_all, library, program, run, until};
use crate::soak::Holdings;

/// A configuration of which every part says its version: the plugin by its marker, the policy by its reason, the catalog
/// by what it has not, and the limits by how many calls there may be.
pub(crate) struct Version(pub(crate) usize);

/// Tells all four. Each call may be the one that meets another generation.
pub(crate) const TELL: &str = "marker = faulty.marker()
denied = attempt(faulty.echo, value = \"which\")
has = [hasattr(faulty, \"fail\"), hasattr(faulty, \"publish\")]
return [marker, denied.error.message, has, faulty.marker()]";

impl Version {
    pub(crate) fn config(&self, rest: &str) -> String {
        let Self(number) = self;
        let hidden = if number.is_multiple_of(2) { "faulty.fail" } else { "faulty.publish" };
        let settings = format!("record = \"calls.jsonl\", marker = \"{number}\"");
        let plugin =
            format!("[[plugins]]\nname = \"faulty\"\nlibrary = \"./faulty.so\"\nconfig = {{ {settings} }}\n{rest}");
        allow_all(&format!("[catalog]\ndisabled = [\"{hidden}\"]\n{plugin}")).replace(
            "mode = \"allow-all\"",
            "mode = \"rego\"\nmodules = [\"p.rego\"]\nexecute = \"data.p.allow\"\nreason = \"data.p.reason\"",
        )
    }

    pub(crate) fn policy(&self) -> String {
        format!(
            "package p\n\ndefault allow := true\n\nallow := false if input.arguments.value == \"which\"\n\n\
             reason := \"version {}\"\n",
            self.0
        )
    }

    /// What [`TELL`] answers.
    pub(crate) fn told(&self) -> Value {
        let number = self.0.to_string();
        let even = self.0.is_multiple_of(2);
        json!([number, format!("version {number}"), [!even, even], number])
    }

    /// Puts it in the place of the one before. Each file is exchanged whole, but one after the other.
    pub(crate) fn write(&self, folder: &Path, rest: &str) {
        exchange(&folder.join("p.rego"), self.policy().as_bytes());
        exchange(&folder.join("codemode.toml"), self.config(rest).as_bytes());
    }

    pub(crate) fn start(&self, rest: &str) -> Daemon {
        Daemon::start_with(&self.config(rest), |folder| {
            fs::write(folder.join("p.rego"), self.policy()).unwrap();
            fs::copy(library("codemode_faulty"), folder.join("faulty.so")).unwrap();
        })
    }
}

pub(crate) fn exchange(path: &Path, bytes: &[u8]) {
    let beside = path.with_extension("new");
    fs::write(&beside, bytes).unwrap();
    fs::rename(beside, path).unwrap();
}

#[track_caller]
fn tells(daemon: &Daemon, version: &Version) {
    assert_eq!(*daemon.main(TELL).result(), version.told());
}

#[test]
fn a_changed_configuration_policy_catalog_and_plugin_act_on_the_next_request() {
    let daemon = Version(1).start("");
    tells(&daemon, &Version(1));
    for number in 2..5 {
        Version(number).write(daemon.folder.path(), "");
        // Nothing is read before the daemon is told to.
        tells(&daemon, &Version(number - 1));
        daemon.reload();
        tells(&daemon, &Version(number));
    }
}

#[test]
fn changed_limits_act_on_the_next_request() {
    let daemon = Version(1).start("[limits]\nmax_native_calls = 3\n");
    tells(&daemon, &Version(1));
    Version(1).write(daemon.folder.path(), "[limits]\nmax_native_calls = 2\n");
    daemon.reload();
    assert!(daemon.main(TELL).error().starts_with("resource limit exceeded: max_native_calls"));
}

#[test]
fn callers_are_told_apart_by_the_new_rules() {
    let config =
        |mode: &str| allow_all(&crate::harness::faulty()).replace("mode = \"static\"\nsubject = \"local\"", mode);
    let daemon = Daemon::start(&config("mode = \"static\"\nsubject = \"ann\""));
    let file = daemon.folder.path().join("codemode.toml");
    let who = |daemon: &Daemon| daemon.main("return faulty.note(text = \"who\")[\"subject\"]").result().clone();
    assert_eq!(who(&daemon), "ann");
    exchange(&file, config("mode = \"static\"\nsubject = \"bob\"").as_bytes());
    daemon.reload();
    assert_eq!(who(&daemon), "bob");
    fs::write(daemon.folder.path().join("tokens.toml"), "").unwrap();
    exchange(&file, config("mode = \"tokens\"\ntokens_file = \"tokens.toml\"").as_bytes());
    daemon.reload();
    let (status, _) = daemon.post(&json!({ "jsonrpc": "2.0", "id": 1, "method": "ping" }), &[]);
    assert_eq!(status, 401);
}

/// The plugin remembers the largest crowd that it has seen for as long as its instance lives.
#[test]
fn an_instance_goes_on_unless_its_library_or_settings_have_changed() {
    let daemon = Version(1).start("");
    let crowd = |count: usize| {
        let calls = format!("parallel([call(faulty.crowd, milliseconds = 300) for _ in range({count})])");
        daemon.main(&format!("{calls}\nreturn faulty.crowd(milliseconds = 0)")).result().clone()
    };
    assert_eq!(crowd(3), 3);
    daemon.reload();
    assert_eq!(crowd(1), 3, "nothing has changed");
    let library = daemon.folder.path().join("faulty.so");
    let mut bytes = fs::read(&library).unwrap();
    bytes.push(b'\n');
    exchange(&library, &bytes);
    fs::set_permissions(&library, std::os::unix::fs::PermissionsExt::from_mode(0o644)).unwrap();
    daemon.reload();
    assert_eq!(crowd(1), 1, "the library has changed");
    assert_eq!(crowd(2), 2);
    Version(2).write(daemon.folder.path(), "");
    daemon.reload();
    assert_eq!(crowd(1), 1, "the settings have changed");
}

#[test]
fn a_reload_that_fails_changes_nothing_and_tells_every_reason() {
    let daemon = Version(1).start("");
    let folder = daemon.folder.path();
    let plugins = |settings: &str| Version(1).config("").replace("record = ", &format!("{settings}, record = "));
    let missing = Version(1).config("").replace("./faulty.so", "./gone.so");
    let no_library = Version(1).config("").replace("./faulty.so", "./p.rego");
    let cases: [(String, String, &[&str]); 8] = [
        ("[server\n".to_owned(), Version(2).policy(), &["codemode.toml:1:8"]),
        (Version(2).config("[limits]\nmax_cals = 1\n"), Version(2).policy(), &["limits.max_cals"]),
        (Version(2).config("").replace("p.rego", "q.rego"), Version(2).policy(), &["policy.modules[0]", "q.rego"]),
        (Version(2).config(""), "package p\n\nallow := ".to_owned(), &["p.rego:3"]),
        (missing, Version(2).policy(), &["plugins[0].library", "gone.so"]),
        (no_library, "package p\n\nallow := ".to_owned(), &["p.rego:3", "cannot be loaded"]),
        (plugins("start = \"error\""), Version(1).policy(), &["did not start: asked to fail"]),
        (plugins("unhealthy = true"), Version(1).policy(), &["plugin `faulty` says that it is not well: "]),
    ];
    for (config, policy, reasons) in cases {
        let before = daemon.log().len();
        exchange(&folder.join("codemode.toml"), config.as_bytes());
        exchange(&folder.join("p.rego"), policy.as_bytes());
        daemon.reload();
        let log = daemon.log().get(before..).unwrap().to_owned();
        for reason in reasons {
            assert!(log.lines().any(|line| line.contains("ERROR") && line.contains(reason)), "{reason} in:\n{log}");
        }
        assert!(log.contains("the reload changes nothing; the generation from before goes on generation=1"), "{log}");
        tells(&daemon, &Version(1));
    }
    Version(2).write(folder, "");
    daemon.reload();
    tells(&daemon, &Version(2));
    assert!(daemon.log().contains(": reloaded generation=2 "), "{}", daemon.log());
}

#[test]
fn a_plugin_that_hangs_in_its_start_holds_up_nobody() {
    let daemon = Version(1).start("");
    let hanging = Version(2).config("").replace("record = ", "start = \"hang\", record = ");
    exchange(&daemon.folder.path().join("codemode.toml"), hanging.as_bytes());
    daemon.signal(Signal::HUP);
    until("the plugin is tried", || !daemon.probes().is_empty());
    for _ in 0..50 {
        tells(&daemon, &Version(1));
    }
    assert_eq!(daemon.reloads(), 0);
    let patience = std::time::Instant::now() + std::time::Duration::from_secs(30);
    while daemon.reloads() == 0 {
        assert!(std::time::Instant::now() < patience, "{}", daemon.log());
        tells(&daemon, &Version(1));
    }
    assert!(daemon.log().contains("did not come back within 10 s while it was started"), "{}", daemon.log());
}

#[test]
fn a_run_keeps_the_generation_that_it_began_with() {
    let daemon = Version(1).start("[limits]\nmax_execution_time = \"30s\"\nmax_call_time = \"20s\"\n");
    let source = format!("faulty.note(text = \"begun\")\nfaulty.sleep(milliseconds = 3000)\n{TELL}");
    std::thread::scope(|scope| {
        let run = scope.spawn(|| daemon.main(&source));
        until("the run has begun", || daemon.recorded("begun"));
        Version(2).write(daemon.folder.path(), "");
        daemon.reload();
        tells(&daemon, &Version(2));
        assert!(!run.is_finished(), "the run was to outlast the reload");
        assert_eq!(*run.join().unwrap().result(), Version(1).told());
    });
    tells(&daemon, &Version(2));
}

#[test]
fn no_answer_is_a_mixture() {
    // All of one subject's clients have a place.
    let rest =
        "[limits]\nmax_execution_time = \"30s\"\nmax_queued_executions = 256\n[rates]\nrequests_per_minute = 1000000\n";
    let daemon = Version(0).start(rest);
    let done = AtomicBool::new(false);
    let source = program(TELL);
    std::thread::scope(|scope| {
        let clients: Vec<_> = (0..64)
            .map(|_| {
                scope.spawn(|| {
                    let mut seen = Vec::new();
                    while !done.load(Ordering::Relaxed) {
                        let answer = daemon.execute(&source);
                        let version = answer.result()[0].as_str().unwrap().parse().unwrap();
                        assert_eq!(*answer.result(), Version(version).told());
                        seen.push(version);
                    }
                    seen
                })
            })
            .collect();
        for number in 1..12 {
            Version(number).write(daemon.folder.path(), rest);
            daemon.reload();
        }
        done.store(true, Ordering::Relaxed);
        let seen: Vec<Vec<usize>> = clients.into_iter().map(|client| client.join().unwrap()).collect();
        // Each client has met several, and none went back.
        assert!(seen.iter().all(|seen| seen.is_sorted()), "{seen:?}");
        assert!(seen.iter().any(|seen| seen.first() != seen.last()), "{seen:?}");
    });
}

#[test]
fn what_needs_a_restart_is_named_and_stays() {
    let daemon = Version(1).start("");
    let changed = Version(2)
        .config("")
        .replace("listen = \"127.0.0.1:0\"", "listen = \"127.0.0.1:1\"\npath = \"/other\"\nmax_connections = 7");
    exchange(&daemon.folder.path().join("codemode.toml"), changed.as_bytes());
    exchange(&daemon.folder.path().join("p.rego"), Version(2).policy().as_bytes());
    daemon.reload();
    tells(&daemon, &Version(2));
    let log = daemon.log();
    for key in ["server.listen", "server.path", "server.max_connections"] {
        let named = |line: &str| line.contains("WARN") && line.contains("needs a restart") && line.contains(key);
        assert!(log.lines().any(named), "{key} in:\n{log}");
    }
    assert!(!log.contains("server.sessions"), "{log}");
}

#[test]
fn what_asks_during_a_reload_causes_one_more() {
    let daemon = Version(1).start("");
    daemon.signal(Signal::HUP);
    Version(2).write(daemon.folder.path(), "");
    for _ in 0..50 {
        daemon.signal(Signal::HUP);
    }
    until("the last state of the files is served", || *daemon.main(TELL).result() == Version(2).told());
    daemon.reload();
    assert!((2..20).contains(&daemon.reloads()), "{}", daemon.log());
}

#[test]
fn fifty_reloads_leave_nothing_behind() {
    for how in ["exec", "fork"] {
        let rest = format!("[workers]\nready = 2\nstart = \"{how}\"\n");
        let daemon = Version(0).start(&rest);
        let processes = if how == "fork" { 3 } else { 2 };
        let again = |number: usize| {
            Version(number % 4).write(daemon.folder.path(), &rest);
            daemon.reload();
            tells(&daemon, &Version(number % 4));
        };
        let settled = || {
            until("only what waits for the next run is left", || daemon.children().len() == processes);
            Holdings::of(&daemon)
        };
        // What grows with first use has grown by then.
        (0..40).for_each(again);
        let before = settled();
        (40..90).for_each(again);
        let after = Holdings::come_back(&daemon, &before, 24 * 1024);
        println!("{how}: {before:?}, {after:?}");
    }
}

#[test]
fn a_failed_reload_leaves_nothing_behind_either() {
    let daemon = Version(1).start("");
    let broken = Version(1).config("").replace("record = ", "unhealthy = true, record = ");
    exchange(&daemon.folder.path().join("codemode.toml"), broken.as_bytes());
    let settled = || {
        until("only what waits for the next run is left", || daemon.children().len() == 2);
        Holdings::of(&daemon)
    };
    // What grows with first use has grown by then.
    (0..20).for_each(|_| daemon.reload());
    let before = settled();
    (0..20).for_each(|_| daemon.reload());
    Holdings::come_back(&daemon, &before, 24 * 1024);
    tells(&daemon, &Version(1));
}

#[test]
fn check_says_what_a_reload_would_change() {
    let folder = tempfile::tempdir().unwrap();
    let version = |number: usize| format!("v{number}/codemode.toml");
    for number in [1, 2] {
        let own = folder.path().join(format!("v{number}"));
        fs::create_dir(&own).unwrap();
        Version(number).write(&own, if number == 1 { "" } else { "[limits]\nmax_call_time = \"7s\"\n" });
        fs::copy(library("codemode_faulty"), own.join("faulty.so")).unwrap();
    }
    let file = folder.path().join(version(2));
    let other = fs::read_to_string(&file).unwrap().replace("127.0.0.1:0", "127.0.0.1:9");
    fs::write(file.with_file_name("key"), "a key of the hashes").unwrap();
    let others = "[audit]\nto = \"file:/audit.jsonl\"\narguments_of = { \"records.put\" = \"full\" }\noverflow = \"refuse\"\n\
                  max_queued = 7\narguments = \"hashed\"\nkey_file = \"key\"\n[traces]\nendpoint = \"http://127.0.0.1:1\"\n\
                  sample = 0.5\n[admin]\nlisten = [\"127.0.0.1:0\", \"unix:admin.sock\"]\nsocket_mode = \"0600\"\n";
    exchange(&file, (other + others + &crate::harness::records()).as_bytes());
    let check = |old: usize, new: usize| {
        let (old, new) = (version(old), version(new));
        let (code, printed, errors) = run(&["--config", &new, "check", "--diff", &old], folder.path());
        assert_eq!(code, 0, "{errors}");
        printed
    };
    assert_eq!(check(1, 1), "no difference\n");
    let printed = check(1, 2);
    let lines: Vec<_> = printed.lines().collect();
    for expected in [
        "+ capability faulty.publish: faulty.publish(*, message: str)",
        "- capability faulty.fail: faulty.fail(*, message: str)",
        "+ capability records.put: ",
        "+ disabled faulty.fail",
        "- disabled faulty.publish",
        "+ plugin records: 1.0.0",
        "~ policy p.rego: ",
        "~ plugin faulty settings: changed",
        "~ limit max_call_time: 2s -> 7s",
        "~ restart-only server.listen: 127.0.0.1:0 -> 127.0.0.1:9",
        "~ restart-only audit.to: off -> file:/audit.jsonl",
        "~ restart-only audit.arguments: off -> hashed",
        "~ restart-only audit.arguments_of: none -> records.put full",
        "~ restart-only audit.key_file: changed",
        "~ restart-only audit.overflow: drop -> refuse",
        "~ restart-only audit.max_queued: 10000 -> 7",
        "~ restart-only traces.endpoint: none -> http://127.0.0.1:1",
        "~ restart-only traces.sample: none -> 0.5",
        "~ restart-only admin.socket_mode: 660 -> 600",
    ] {
        assert!(lines.iter().any(|line| line.starts_with(expected)), "{expected} in:\n{printed}");
    }
    assert!(!printed.contains("marker = ") && !printed.contains("~ plugin faulty sha256"), "{printed}");
}
