//! Changing a daemon while it runs: what it logs, and a reload; and who may.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::json;

use super::{ask, get};
use crate::harness::{Daemon, allow_all, executable, not_run, run, until};
use crate::identity::door::{Reply, exchange, request};
use crate::reload::Version;

/// A daemon with both kinds of listener for administration.
fn both(rest: &str) -> String {
    allow_all(&format!("[admin]\nlisten = [\"127.0.0.1:0\", \"unix:admin.sock\"]\nsocket_mode = \"0666\"\n{rest}"))
}

fn socket(daemon: &Daemon) -> PathBuf {
    daemon.folder.path().join("admin.sock")
}

fn over_socket(daemon: &Daemon, method: &str, path: &str, body: &str) -> Reply {
    exchange(UnixStream::connect(socket(daemon)).unwrap(), &request("localhost", method, path, &[], body))
}

/// What a command in the daemon's folder prints.
#[track_caller]
fn printed(daemon: &Daemon, command: &[&str]) -> String {
    let (code, printed, errors) = run(command, daemon.folder.path());
    assert_eq!(code, 0, "{command:?}: {errors}");
    printed
}

fn rewrite(daemon: &Daemon, from: &str, to: &str) {
    let file = daemon.folder.path().join("codemode.toml");
    let text = fs::read_to_string(&file).unwrap();
    assert!(text.contains(from), "{from} in:\n{text}");
    fs::write(file, text.replace(from, to)).unwrap();
}

/// Fails a run, and gives its ID.
fn failed_run(daemon: &Daemon) -> String {
    daemon.main("return 1 // 0").meta["codemoded/run"].as_str().unwrap().to_owned()
}

#[test]
fn the_logs_levels_change_while_the_daemon_runs_until_it_reloads() {
    let daemon = Daemon::start(&both(""));
    assert_eq!(printed(&daemon, &["log-level"]), "info\n");
    assert_eq!(printed(&daemon, &["log-level", "warn,codemoded::worker=debug"]), "warn,codemoded::worker=debug\n");
    let unheard = failed_run(&daemon);
    let path = socket(&daemon).display().to_string();
    assert_eq!(printed(&daemon, &["log-level", "debug", "--socket", &path]), "debug\n");
    let heard = failed_run(&daemon);
    until("a failed run is in the log", || daemon.log().contains(&heard));
    let log = daemon.log();
    assert!(!log.contains(&unheard), "{log}");
    let own = rustix::process::geteuid().as_raw();
    for levels in ["warn,codemoded::worker=debug", "debug"] {
        let told = format!("the log's levels change levels={levels} by=\"uid {own}\"");
        assert!(log.contains(&told), "{told} in:\n{log}");
    }

    assert_eq!(over_socket(&daemon, "PUT", "/log-level", " off\n").body, "off\n");
    rewrite(&daemon, "[policy]", "[log]\nlevel = \"loud\"\n[policy]");
    assert_eq!(over_socket(&daemon, "POST", "/reload", "").status, 422);
    assert_eq!(printed(&daemon, &["log-level", "--socket", &path]), "off\n");
    rewrite(&daemon, "\"loud\"", "\"info,codemoded::run=warn\"");
    assert_eq!(over_socket(&daemon, "POST", "/reload", "").status, 200);
    assert_eq!(printed(&daemon, &["log-level"]), "info,codemoded::run=warn\n");
}

#[test]
fn levels_that_a_flag_gives_are_those_of_every_reload() {
    let daemon = Daemon::start_by(
        Command::new(executable()),
        &both(""),
        |_| {},
        |command| {
            command.args(["--log", "error"]);
        },
    );
    until("it is heard", || socket(&daemon).exists());
    assert_eq!(printed(&daemon, &["log-level", "debug"]), "debug\n");
    assert_eq!(printed(&daemon, &["reload", "--socket", "admin.sock"]), "generation 2 serves\n");
    assert_eq!(printed(&daemon, &["log-level"]), "error\n");
}

#[test]
fn what_are_no_levels_changes_none_and_is_told() {
    let daemon = Daemon::start(&both(""));
    for (method, body, status, told) in [
        ("PUT", "loud", 400, "`loud` is no level"),
        ("PUT", "", 400, "`` is no level"),
        ("PUT", &*"debug,".repeat(1000), 400, "at most 4096 bytes"),
        ("POST", "debug", 405, "use GET, HEAD, PUT"),
        ("DELETE", "", 405, "use GET, HEAD, PUT"),
    ] {
        let reply = over_socket(&daemon, method, "/log-level", body);
        assert_eq!(reply.status, status, "{method} {body}: {reply:?}");
        assert!(reply.body.contains(told), "{method} {body}: {reply:?}");
    }
    assert_eq!(over_socket(&daemon, "GET", "/reload", "").status, 405);
    assert_eq!(over_socket(&daemon, "HEAD", "/log-level", "").status, 200);
    assert_eq!(printed(&daemon, &["log-level"]), "info\n");
    let (code, _, errors) = run(&["log-level", "loud"], daemon.folder.path());
    assert!(code == 64 && errors.contains("`loud` is no level"), "{errors}");
}

#[test]
fn a_reload_over_the_socket_tells_what_came_of_it() {
    let daemon = Daemon::start(&both("[audit]\nto = \"file:audit.jsonl\"\n"));
    let path = |name: &str| daemon.folder.path().join(name);
    daemon.main("return 1");
    until("the run is audited", || fs::metadata(path("audit.jsonl")).is_ok_and(|file| file.len() > 0));
    fs::rename(path("audit.jsonl"), path("audit.jsonl.1")).unwrap();
    rewrite(&daemon, "[server]", "[server]\npath = \"/other\"");
    let command = ["reload", "--socket", "admin.sock"];
    assert_eq!(printed(&daemon, &command), "server.path has changed and needs a restart\ngeneration 2 serves\n");
    until("the audit's file is there again", || path("audit.jsonl").exists());
    let reply = over_socket(&daemon, "POST", "/reload", "");
    let note = "server.path has changed and needs a restart";
    let told = json!({ "reloaded": true, "generation": 3, "needs_restart": ["server.path"], "notes": [note] });
    assert_eq!((reply.status, reply.json()), (200, told));

    rewrite(&daemon, "\"allow-all\"", "\"perhaps\"");
    rewrite(&daemon, "[audit]", "[audit]\nloud = 1");
    let (code, out, errors) = run(&command, daemon.folder.path());
    assert_eq!((code, out.as_str()), (78, ""), "{errors}");
    let lines: Vec<_> = errors.lines().collect();
    assert!(lines.len() == 3 && lines.iter().all(|line| line.starts_with("error: ")), "{errors}");
    assert!(errors.contains("policy.mode") && errors.contains("audit.loud: unknown key"), "{errors}");
    assert_eq!(lines[2], "error: generation 3 goes on");
    let told = get(&daemon, "/generation").json();
    assert_eq!(told["number"], json!(3));
}

#[test]
fn over_tcp_nothing_can_be_changed() {
    let daemon = Daemon::start(&both(""));
    for (method, path) in [("GET", "/log-level"), ("PUT", "/log-level"), ("POST", "/reload"), ("GET", "/facts")] {
        let reply = ask(&daemon, method, path);
        assert_eq!(reply.status, 403, "{method} {path}: {reply:?}");
        assert!(reply.body.contains("over a Unix socket"), "{reply:?}");
    }
    assert_eq!(get(&daemon, "/generation").json()["number"], json!(1));
    assert_eq!(get(&daemon, "/healthz").status, 200);
    assert_eq!(over_socket(&daemon, "GET", "/healthz", "").status, 200);
    // And clients do not even find it.
    assert_eq!(super::ask_as(daemon.address(), daemon.address(), "GET", "/log-level", &[]).status, 404);
}

/// A command as another user, and its exit code with what it says.
fn as_user(uid: u32, arguments: &[&str], folder: &Path) -> (i32, String) {
    let mut command = Command::new("setpriv");
    command.args([&format!("--reuid={uid}"), &format!("--regid={uid}"), "--clear-groups", executable()]);
    let done = command.args(arguments).current_dir(folder).output().unwrap();
    let said = String::from_utf8(if done.status.success() { done.stdout } else { done.stderr }).unwrap();
    (done.status.code().unwrap(), said)
}

#[test]
fn only_root_and_the_daemons_own_user_may_change_it() {
    const OWN: u32 = 61_234;
    if !rustix::process::geteuid().is_root() {
        return not_run("only_root_and_the_daemons_own_user_may_change_it", "needs root, to be several users");
    }
    let mut as_own = Command::new("setpriv");
    as_own.args([&format!("--reuid={OWN}"), &format!("--regid={OWN}"), "--clear-groups", executable()]);
    let open = |folder: &Path| fs::set_permissions(folder, Permissions::from_mode(0o777)).unwrap();
    let daemon = Daemon::start_by(as_own, &both(""), open, |_| {});
    let folder = daemon.folder.path();
    let set = |levels: &'static str| ["log-level", levels, "--socket", "admin.sock"];
    let forbidden = "error: forbidden: only root and the daemon's own user may, over a Unix socket";
    for arguments in
        [&set("debug")[..], &["reload", "--socket", "admin.sock"], &["check", "--diff", "--socket", "admin.sock"]]
    {
        let (code, said) = as_user(OWN + 1, arguments, folder);
        assert!(code == 77 && said.starts_with(forbidden), "{arguments:?}: {code}, {said}");
    }
    until("the attempts are in the log", || daemon.log().matches("who may not change the daemon").count() == 3);
    assert_eq!(get(&daemon, "/generation").json()["number"], json!(1));
    assert_eq!(as_user(OWN, &set("warn"), folder), (0, "warn\n".to_owned()));
    assert_eq!(as_user(0, &set("info"), folder), (0, "info\n".to_owned()));
    fs::set_permissions(socket(&daemon), Permissions::from_mode(0o600)).unwrap();
    let (code, said) = as_user(OWN + 1, &set("debug"), folder);
    assert!(code == 77 && said.contains("no daemon answers at `admin.sock`: Permission denied"), "{code}, {said}");
}

#[test]
fn a_daemon_that_is_not_there_and_a_socket_that_is_not_configured_are_told() {
    let folder = tempfile::tempdir().unwrap();
    let told = |config: &str, arguments: &[&str]| {
        fs::write(folder.path().join("codemode.toml"), config).unwrap();
        let (code, _, errors) = run(arguments, folder.path());
        (code, errors)
    };
    let (code, errors) = told(&both(""), &["log-level"]);
    assert!(code == 69 && errors.starts_with("error: no daemon answers at `/"), "{code}, {errors}");
    let (code, errors) = told(&both(""), &["reload", "--socket", "none.sock"]);
    assert!(
        code == 69 && errors.starts_with("error: no daemon answers at `none.sock`: No such file"),
        "{code}, {errors}"
    );
    for command in [&["log-level"][..], &["check", "--diff"]] {
        let (code, errors) = told(&allow_all("[admin]\nlisten = \"127.0.0.1:0\"\n"), command);
        assert!(code == 78 && errors.contains("error: admin.listen: there is no Unix socket"), "{code}, {errors}");
    }
}

#[test]
fn check_says_what_a_reload_would_change_of_what_runs() {
    let admin = "[admin]\nlisten = \"unix:admin.sock\"\n";
    let daemon = Version(1).start(admin);
    let differences = || printed(&daemon, &["check", "--diff"]);
    assert_eq!(differences(), "no difference\n");
    Version(2).write(daemon.folder.path(), &format!("{admin}[limits]\nmax_call_time = \"7s\"\n"));
    rewrite(&daemon, "[server]", "[server]\npath = \"/other\"");
    let told = differences();
    let lines: Vec<_> = told.lines().collect();
    let fixed = "~ restart-only server.path: /mcp -> /other";
    for expected in [
        "+ capability faulty.publish: faulty.publish(*, message: str)",
        "- capability faulty.fail: faulty.fail(*, message: str)",
        "~ policy p.rego: ",
        "~ plugin faulty settings: changed",
        "~ limit max_call_time: 2s -> 7s",
        fixed,
    ] {
        assert!(lines.iter().any(|line| line.starts_with(expected)), "{expected} in:\n{told}");
    }
    assert!(!told.contains("~ plugin faulty sha256") && !told.contains("marker"), "{told}");
    // Nothing has changed by asking, and what a reload cannot change is still to come after one.
    assert_eq!(differences(), told);
    daemon.reload();
    assert_eq!(differences(), format!("{fixed}\n"));
}
