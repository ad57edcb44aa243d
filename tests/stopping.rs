//! A daemon that is told to stop: what runs may finish, what does not finish is answered, and nothing is left; and what
//! a service manager hears of all this.

use std::collections::VecDeque;
use std::fs;
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixDatagram;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Resource, Rlimit, Signal, getrlimit, prlimit};
use serde_json::json;

use crate::harness::{Daemon, allow_all, executable, faulty, lives, program, until};
use crate::stdio::{Conversation, ends};
use crate::wire::{Wire, execute};

const CANCELLED: &str = "context canceled";

fn config(drain: &str) -> String {
    let limits = "[limits]\nmax_execution_time = \"60s\"\nmax_call_time = \"50s\"\nmax_execution_steps = 1000000000000\n\
                  max_concurrent_executions_per_subject = 8\n";
    let config = allow_all(&format!("{limits}{}", faulty()));
    config.replace("[server]\n", &format!("[server]\ndrain_timeout = \"{drain}\"\nsessions = true\n"))
}

/// Sends a run that makes a note and then goes on with this, and waits until it is under way.
fn begin(daemon: &Daemon, id: u32, body: &str) -> Wire {
    let mut wire = Wire::connect(daemon);
    wire.post(&execute(id, &format!("faulty.note(text = \"run {id}\")\n{body}")), &[]);
    until("the run makes its call", || daemon.recorded(&format!("run {id}")));
    wire
}

const ENDLESS: &str = "for i in range(1000000000):\n    pass";

#[test]
fn what_runs_may_finish_and_nothing_new_begins() {
    let mut daemon = Daemon::start(&config("30s"));
    let mut runs: Vec<_> =
        (1..5).map(|id| begin(&daemon, id, &format!("return faulty.sleep(milliseconds = {id}500)"))).collect();
    let children = daemon.children();
    let asked = Instant::now();
    daemon.terminate();
    until("nobody listens", || !daemon.accepts());
    for (id, run) in (1..).zip(&mut runs) {
        let (head, body) = run.answer();
        assert_eq!(head.status, 200, "{body}");
        assert!(body.contains(&format!("{{\\\"result\\\":{id}500}}")), "{body}");
    }
    assert_eq!(daemon.exit(), Some(0));
    assert!(asked.elapsed() < Duration::from_secs(20), "{:?}", asked.elapsed());
    until("no worker is left", || !children.iter().any(|pid| lives(*pid)));
}

#[test]
fn what_does_not_finish_in_time_is_cancelled_with_an_answer() {
    let mut daemon = Daemon::start(&config("400ms"));
    let bodies = [ENDLESS, "faulty.sleep(milliseconds = 40000)", "faulty.sleep_async(milliseconds = 40000)"];
    let mut runs: Vec<_> = (1..).zip(bodies).map(|(id, body)| begin(&daemon, id, body)).collect();
    // One that is a stream by now.
    std::thread::sleep(Duration::from_millis(2500));
    daemon.terminate();
    for run in &mut runs {
        let (head, body) = run.answer();
        assert_eq!(head.status, 200, "{body}");
        assert!(body.contains(CANCELLED) && body.contains("\"isError\":true"), "{body}");
    }
    assert_eq!(daemon.exit(), Some(0));
}

#[test]
fn a_run_without_a_listener_may_finish_too() {
    let mut daemon = Daemon::start(&config("30s"));
    let hello = json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": { "name": "t", "version": "1" } } });
    let mut wire = Wire::connect(&daemon);
    wire.post(&hello, &[]);
    let session = wire.answer().0.value("mcp-session-id").expect("a session").to_owned();
    let mut run = Wire::connect(&daemon);
    let body = "faulty.note(text = \"begun\")\nfaulty.sleep(milliseconds = 1500)\nfaulty.note(text = \"done\")";
    run.post(&execute(1, body), &[("mcp-session-id", &session)]);
    until("the run makes its call", || daemon.recorded("begun"));
    drop(run);
    daemon.terminate();
    assert_eq!(daemon.exit(), Some(0));
    assert!(daemon.recorded("done"));
}

#[test]
fn a_request_that_is_on_its_way_is_answered() {
    let mut daemon = Daemon::start(&config("30s"));
    let fresh = TcpStream::connect(daemon.address()).unwrap();
    let mut used = Wire::connect(&daemon);
    used.post(&execute(1, "return 1"), &[]);
    assert_eq!(used.answer().0.status, 200);
    until("both are accepted", || daemon.connections() == 2);
    daemon.terminate();
    until("nobody listens", || !daemon.accepts());
    used.post(&execute(2, "return 2"), &[]);
    let (head, body) = used.answer();
    assert!(head.status == 200 && body.contains("{\\\"result\\\":2}"), "{body}");
    assert_eq!(head.value("connection"), Some("close"));
    drop(fresh);
    assert_eq!(daemon.exit(), Some(0));
}

#[test]
fn a_second_signal_ends_at_once() {
    for signal in [Signal::TERM, Signal::INT] {
        let mut daemon = Daemon::start(&config("60s"));
        let _run = begin(&daemon, 1, ENDLESS);
        let children = daemon.children();
        daemon.signal(signal);
        until("nobody listens", || !daemon.accepts());
        assert!(lives(daemon.pid()));
        daemon.signal(signal);
        daemon.exit();
        until("no worker is left", || !children.iter().any(|pid| lives(*pid)));
    }
}

#[test]
fn over_stdio_everything_asked_is_answered_too() {
    for (drain, body, text) in
        [("30s", "return faulty.sleep(milliseconds = 1500)", "1500"), ("300ms", ENDLESS, CANCELLED)]
    {
        let mut client = Conversation::open_with(&config(drain));
        client.execute(1, &format!("faulty.note(text = \"begun\")\n{body}"));
        until("the run makes its call", || client.recorded("begun"));
        client.terminate();
        let answer = client.answer();
        assert_eq!(answer["id"], 1);
        assert!(answer["result"]["content"][0]["text"].as_str().unwrap().contains(text), "{answer}");
        assert_eq!(client.exit(), Some(0));
    }
}

fn slow_to_end() -> String {
    config("10s").replace("record = ", "end_milliseconds = 300, record = ")
}

#[test]
fn a_plugin_may_put_away_what_it_holds_whatever_the_transport() {
    let mut daemon = Daemon::start(&slow_to_end());
    daemon.terminate();
    assert_eq!(daemon.exit(), Some(0));
    assert_eq!(ends(daemon.folder.path()), 2, "over HTTP");
    for how in [Conversation::terminate, Conversation::hang_up] {
        let mut client = Conversation::open_with(&slow_to_end());
        how(&mut client);
        assert_eq!(client.exit(), Some(0));
        assert_eq!(client.ends(), 2, "over stdio");
    }
}

#[test]
fn a_plugin_of_a_command_may_put_away_what_it_holds_too() {
    for arguments in [&["run", "program.star"][..], &["check"], &["check", "--diff", "codemode.toml"]] {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("codemode.toml"), slow_to_end()).unwrap();
        fs::write(folder.path().join("program.star"), program("return 1")).unwrap();
        let (code, _, errors) = crate::harness::run(arguments, folder.path());
        assert_eq!((code, errors.contains("has not ended")), (0, false), "{errors}");
        assert_eq!(ends(folder.path()), 2, "{arguments:?}");
    }
}

/// Stands in for systemd: a socket, and what came over it.
struct Manager {
    path: PathBuf,
    heard: Arc<Mutex<VecDeque<String>>>,
    _folder: tempfile::TempDir,
}

impl Manager {
    fn listen() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("notify");
        let socket = UnixDatagram::bind(&path).unwrap();
        let heard = Arc::new(Mutex::new(VecDeque::new()));
        let (status, queue) = (folder.path().join("status"), Arc::clone(&heard));
        // Ends with the test's process.
        std::thread::spawn(move || {
            let mut buffer = [0; 4096];
            while let Ok(length) = socket.recv(&mut buffer) {
                let message = String::from_utf8(buffer[..length].to_vec()).unwrap();
                if let Some(text) = message.lines().find_map(|line| line.strip_prefix("STATUS=")) {
                    let _ = fs::write(&status, text);
                }
                queue.lock().unwrap().push_back(message);
            }
        });
        Self { path, heard, _folder: folder }
    }

    fn starts(&self, config: &str, watchdog: Option<Duration>) -> Daemon {
        Daemon::start_by(
            Command::new(executable()),
            config,
            |_| {},
            |command| {
                command.env("NOTIFY_SOCKET", &self.path);
                if let Some(patience) = watchdog {
                    command.env("WATCHDOG_USEC", patience.as_micros().to_string());
                }
            },
        )
    }

    /// The next message that is none of life.
    #[track_caller]
    fn next(&self) -> String {
        let mut next = None;
        until("the daemon tells something", || {
            next = self.heard.lock().unwrap().pop_front().filter(|message| message != "WATCHDOG=1");
            next.is_some()
        });
        next.unwrap()
    }

    /// How many signs of life there are within a time.
    fn signs_within(&self, time: Duration) -> usize {
        self.heard.lock().unwrap().clear();
        std::thread::sleep(time);
        self.heard.lock().unwrap().iter().filter(|message| *message == "WATCHDOG=1").count()
    }
}

#[test]
fn a_service_manager_hears_of_each_change() {
    let manager = Manager::listen();
    let mut daemon = manager.starts(&config("10s"), None);
    assert_eq!(manager.next(), "READY=1\nSTATUS=generation 1");
    daemon.reload();
    let reloading = manager.next();
    let at =
        reloading.strip_prefix("RELOADING=1\nMONOTONIC_USEC=").unwrap().strip_suffix("\nSTATUS=reloading").unwrap();
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic).tv_sec;
    let at = at.parse::<i64>().unwrap() / 1_000_000;
    assert!((now - 60..=now).contains(&at), "{at} is not just before {now}");
    assert_eq!(manager.next(), "READY=1\nSTATUS=generation 2; reload 1 succeeded");
    fs::write(daemon.folder.path().join("codemode.toml"), "[server\n").unwrap();
    daemon.reload();
    assert!(manager.next().starts_with("RELOADING=1"));
    let failed = manager.next();
    assert!(failed.starts_with("READY=1\nSTATUS=generation 2; reload 2 failed: "), "{failed}");
    assert!(failed.contains("codemode.toml:1:8"), "{failed}");
    daemon.terminate();
    assert_eq!(manager.next(), "STOPPING=1\nSTATUS=finishing what runs");
    assert_eq!(daemon.exit(), Some(0));
}

/// Has the daemon reload with a plugin that starts anew, and waits until that is under way.
fn begin_a_reload(daemon: &Daemon, manager: &Manager, how_it_starts: &str) {
    assert_eq!(manager.next(), "READY=1\nSTATUS=generation 1");
    let changed = config("30s").replace("record = ", &format!("start = \"{how_it_starts}\", record = "));
    fs::write(daemon.folder.path().join("codemode.toml"), changed).unwrap();
    // Those of the start may be there still.
    let before = daemon.probes();
    daemon.signal(Signal::HUP);
    assert!(manager.next().starts_with("RELOADING=1"));
    until("the plugin is tried", || daemon.probes().iter().any(|probe| !before.contains(probe)));
}

#[test]
fn a_reload_that_is_under_way_holds_up_no_stop() {
    let manager = Manager::listen();
    let mut daemon = manager.starts(&config("30s"), None);
    begin_a_reload(&daemon, &manager, "hang");
    let asked = Instant::now();
    daemon.terminate();
    assert_eq!(manager.next(), "STOPPING=1\nSTATUS=finishing what runs");
    assert_eq!(daemon.exit(), Some(0));
    assert!(asked.elapsed() < Duration::from_secs(10), "{:?}", asked.elapsed());
    let log = daemon.log();
    assert!(!log.contains("WARN") && !log.contains("ERROR"), "{log}");
}

#[test]
fn a_reload_that_is_under_way_exchanges_nothing_after_a_stop() {
    let manager = Manager::listen();
    let mut daemon = manager.starts(&config("30s"), None);
    let mut run = begin(&daemon, 1, "return faulty.sleep(milliseconds = 4000)");
    begin_a_reload(&daemon, &manager, "slow");
    daemon.terminate();
    assert_eq!(manager.next(), "STOPPING=1\nSTATUS=finishing what runs");
    let (head, body) = run.answer();
    assert!(head.status == 200 && body.contains("4000"), "{body}");
    assert_eq!(daemon.exit(), Some(0));
    assert_eq!(*manager.heard.lock().unwrap(), [""; 0], "nothing follows that it stops");
    let log = daemon.log();
    assert!(!log.contains("reloaded generation=") && !log.contains("WARN"), "{log}");
}

#[test]
fn there_are_signs_of_life_only_while_programs_run() {
    let manager = Manager::listen();
    let daemon = manager.starts(&config("10s"), Some(Duration::from_millis(400)));
    assert!(manager.signs_within(Duration::from_secs(2)) >= 3);
    let pid = Pid::from_raw(daemon.pid().try_into().unwrap());
    // No descriptor is left for a worker's channel.
    let maximum = getrlimit(Resource::Nofile).maximum;
    let before = prlimit(pid, Resource::Nofile, Rlimit { current: Some(1), maximum }).unwrap();
    until("those that waited are used up", || daemon.log().contains("the service manager gets no sign of life"));
    assert_eq!(manager.signs_within(Duration::from_secs(2)), 0);
    prlimit(pid, Resource::Nofile, before).unwrap();
    until("programs run again", || manager.signs_within(Duration::from_millis(500)) > 0);
}

/// Stands in for `systemctl`.
fn systemctl(folder: &Path, daemon: &Daemon, status: &Path) {
    let path = folder.join("systemctl");
    let script = format!(
        "#!/bin/sh\ncase \"$1\" in\nreload) [ \"$2\" = codemoded.service ] && kill -HUP {} ;;\nshow) cat {} ;;\nesac\n",
        daemon.pid(),
        status.display()
    );
    fs::write(&path, script).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn the_command_reloads_and_tells_what_came_of_it() {
    let manager = Manager::listen();
    let daemon = manager.starts(&config("10s"), None);
    manager.next();
    let folder = tempfile::tempdir().unwrap();
    systemctl(folder.path(), &daemon, &manager.path.with_file_name("status"));
    let reload = || {
        let path = format!("{}:/usr/bin:/bin", folder.path().display());
        let done = Command::new(executable()).arg("reload").env("PATH", path).output().unwrap();
        (done.status.code(), String::from_utf8(done.stdout).unwrap(), String::from_utf8(done.stderr).unwrap())
    };
    assert_eq!(reload(), (Some(0), "generation 2 serves\n".to_owned(), String::new()));
    let file = daemon.folder.path().join("codemode.toml");
    let rules = "package p\n\ndefault allow := false\n\nallow if input.capability.id == \"faulty.lost\"\n";
    fs::write(daemon.folder.path().join("p.rego"), rules).unwrap();
    let rego = "mode = \"rego\"\nmodules = [\"p.rego\"]\nexecute = \"data.p.allow\"";
    let odd =
        config("10s").replace("mode = \"allow-all\"", rego).replace("[server]\n", "[server]\npath = \"/other\"\n");
    fs::write(&file, odd).unwrap();
    let (code, printed, errors) = reload();
    assert_eq!((code, errors.as_str()), (Some(0), ""));
    let lines: Vec<_> = printed.lines().collect();
    let [restart, stranger, serves] = lines[..] else { panic!("{printed}") };
    assert_eq!((restart, serves), ("server.path has changed and needs a restart", "generation 3 serves"));
    assert!(stranger.ends_with("p.rego:5: no capability has the ID `faulty.lost`"), "{printed}");
    fs::write(&file, config("10s").replace("max_call_time", "max_cal_time") + "[policy]\n").unwrap();
    let (code, printed, errors) = reload();
    assert_eq!((code, printed.as_str()), (Some(78), ""), "{errors}");
    assert!(errors.starts_with("error: ") && errors.ends_with("\nerror: generation 3 goes on\n"), "{errors}");
    let faults = config("10s").replace("max_call_time", "max_cal_time").replace("allow-all", "reggo ⏎");
    fs::write(&file, faults).unwrap();
    let (_, _, errors) = reload();
    let lines: Vec<_> = errors.lines().collect();
    assert_eq!(lines.len(), 3, "a fault is one line, whatever is in it: {errors}");
    assert!(lines[0].contains("policy.mode: unknown choice `reggo") && lines[0].contains("; known here: "), "{errors}");
    assert!(lines[1].ends_with("limits.max_cal_time: unknown key; did you mean `max_call_time`?"), "{errors}");
    fs::remove_file(folder.path().join("systemctl")).unwrap();
    let path = folder.path().display().to_string();
    let done = Command::new(executable()).arg("reload").env("PATH", path).output().unwrap();
    assert_eq!(done.status.code(), Some(69), "{done:?}");
}

#[test]
fn each_kind_of_failure_has_its_exit_code() {
    let code = |arguments: &[&str], config: &str| {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("codemode.toml"), config).unwrap();
        crate::harness::run(arguments, folder.path()).0
    };
    let good = allow_all("");
    assert_eq!(code(&["check"], &good), 0);
    assert_eq!(code(&["--help"], &good), 0);
    assert_eq!(code(&["--no-such-flag"], &good), 64);
    assert_eq!(code(&["run", "gone.star"], &good), 66);
    assert_eq!(code(&["check"], "[server\n"), 78);
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let listen = format!("listen = \"{}\"", taken.local_addr().unwrap());
    assert_eq!(code(&[], &good.replace("listen = \"127.0.0.1:0\"", &listen)), 69);
}
