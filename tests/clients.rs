//! Real clients of others, each put through list, search, describe, execute, an error, a cancel and a close: against a
//! daemon as it comes, and against one with sessions. What each does is in `node/`, `python/` and `rmcp/`.

use std::path::Path;
use std::process::{Command, Output, Stdio};

use serde_json::{Value, json};

use crate::harness::{Daemon, allow_all, faulty, node, not_run, records, until};
use crate::wire::Wire;

const STEPS: [&str; 7] = ["list", "search", "describe", "execute", "error", "cancel", "close"];

/// A daemon as it comes, and one with so many sessions.
fn daemons(sessions: usize) -> [Daemon; 2] {
    let config = allow_all(&format!(
        "[limits]\nmax_execution_time = \"30s\"\nmax_call_time = \"25s\"\n{}{}",
        records(),
        faulty()
    ));
    let with_sessions = format!("[server]\nsessions = true\nmax_sessions = {sessions}\n");
    let with_sessions = config.replacen("[server]\n", &with_sessions, 1);
    [Daemon::start(&config), Daemon::start(&with_sessions)]
}

fn script(name: &str) -> std::path::PathBuf {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../tests")).join(name)
}

/// Runs a client to its end in the daemon's own folder, where it may keep what it likes.
fn run(daemon: &Daemon, command: &mut Command) -> Output {
    command.current_dir(daemon.folder.path()).env("HOME", daemon.folder.path()).output().unwrap()
}

/// The client takes all steps, and the run that it cancels ends: at once where the client can say so, in a session or by
/// closing its stream, else when it hangs up.
#[track_caller]
fn check(daemon: &Daemon, command: &mut Command) {
    let before = daemon.log().matches("Cancelled").count();
    let done = run(daemon, command);
    let said = String::from_utf8_lossy(&done.stdout).into_owned();
    let log = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success(), "{command:?}: {said}\n{log}\n{}", daemon.log());
    let steps: Vec<&str> = said.lines().filter_map(|line| line.strip_prefix("ok: ")).collect();
    assert_eq!(steps, STEPS, "{command:?}");
    until("the cancelled run has ended", || daemon.log().matches("Cancelled").count() > before);
}

/// The same of a client whose close is the end of its session, where there is room for one.
#[track_caller]
fn check_to_the_close(daemon: &Daemon, command: &mut Command) {
    check(daemon, command);
    if !daemon.has_sessions() {
        return;
    }
    let hello = json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": { "name": "t", "version": "1" } } });
    let mut wire = Wire::connect(daemon);
    wire.post(&hello, &[]);
    let (head, body) = wire.answer();
    assert_eq!(head.status, 200, "{command:?} has left its session open: {body}");
    wire.request("DELETE", &[("mcp-session-id", head.value("mcp-session-id").unwrap())], b"");
    assert_eq!(wire.head().status, 204);
}

#[test]
fn the_typescript_sdk_of_the_first_version() {
    let Some((node, modules)) = node("the_typescript_sdk_of_the_first_version") else { return };
    for daemon in daemons(1) {
        let mut command = Command::new(&node);
        check_to_the_close(
            &daemon,
            command.arg(script("node/sdk-v1.mjs")).arg(&daemon.url).env("CODEMODE_NODE_MODULES", &modules),
        );
    }
}

#[test]
fn the_typescript_sdk_of_the_second_version() {
    let Some((node, modules)) = node("the_typescript_sdk_of_the_second_version") else { return };
    for daemon in daemons(1) {
        for how in ["legacy", "auto"] {
            let mut command = Command::new(&node);
            check_to_the_close(
                &daemon,
                command.arg(script("node/sdk-v2.mjs")).args([&daemon.url, how]).env("CODEMODE_NODE_MODULES", &modules),
            );
        }
    }
}

/// It closes its connections and leaves its sessions to their time-out.
#[test]
fn mcp_remote() {
    let Some((node, modules)) = node("mcp_remote") else { return };
    for daemon in daemons(100) {
        let mut command = Command::new(&node);
        command
            .arg(script("node/sdk-v1.mjs"))
            .arg(&daemon.url)
            .arg(&node)
            .arg(modules.join("mcp-remote/dist/proxy.js"));
        command.args([&daemon.url, "--allow-http", "--transport", "http-only"]).env("CODEMODE_NODE_MODULES", &modules);
        check(&daemon, &mut command);
    }
}

#[test]
fn the_python_sdk_and_fastmcp() {
    let Ok(python) = std::env::var("CODEMODE_PYTHON") else {
        not_run("the_python_sdk_and_fastmcp", "CODEMODE_PYTHON is not set; use tests/run");
        return;
    };
    for daemon in daemons(1) {
        for client in ["mcp", "fastmcp"] {
            check_to_the_close(
                &daemon,
                Command::new(&python).arg(script("python/walk.py")).args([client, &daemon.url]),
            );
        }
    }
}

#[test]
fn the_rust_sdk() {
    let Ok(walk) = std::env::var("CODEMODE_RMCP") else {
        not_run("the_rust_sdk", "CODEMODE_RMCP is not set; use tests/run");
        return;
    };
    for daemon in daemons(1) {
        for lifecycle in ["handshake", "discover"] {
            check_to_the_close(&daemon, Command::new(&walk).args([&daemon.url, lifecycle]));
        }
    }
}

/// Each command is a client of its own: it connects, does one thing, and closes. `--strict` belongs to its list.
#[test]
fn the_inspector() {
    let Some((node, modules)) = node("the_inspector") else { return };
    let launcher = modules.join("@modelcontextprotocol/inspector/clients/launcher/build/index.js");
    let [plain, with_sessions] = daemons(100);
    for (daemon, era) in [(&plain, "legacy"), (&plain, "modern"), (&with_sessions, "legacy")] {
        Inspector { launcher: &launcher, node: &node, daemon, era }.check();
    }
}

struct Inspector<'a> {
    launcher: &'a Path,
    node: &'a Path,
    daemon: &'a Daemon,
    era: &'static str,
}

impl Inspector<'_> {
    fn check(&self) {
        let (tools, code, log) = self.answer(&["tools/list", "--strict"]);
        let names: Vec<_> = tools["tools"].as_array().unwrap().iter().map(|tool| tool["name"].clone()).collect();
        assert_eq!(names, ["search_api", "describe_api", "execute"]);
        assert!(code == Some(0) && log.contains("0 errors"), "{code:?} {log}");
        let found = self.call("search_api", "query=count the entries under a key", 0);
        assert_eq!(found["structuredContent"]["results"][0]["name"], "records.lookup");
        let described = self.call("describe_api", "name=records.lookup", 0);
        assert_eq!(described["structuredContent"]["name"], "records.lookup");
        let executed = self.call("execute", "source=def main():\n    return 6 * 7\n", 0);
        assert_eq!(executed["structuredContent"], json!({ "result": 42 }));
        // It has an exit code for tools that fail.
        let failed = self.call("execute", "source=def main():\n    return records.lookup()\n", 5);
        let text = failed["content"][0]["text"].as_str().unwrap();
        assert!(failed["isError"] == true && text.contains("missing required argument \"key\""), "{failed}");
        self.stop();
    }

    /// It cannot cancel, but it can be stopped: without a session that is the end of its run, and in one it is not.
    fn stop(&self) {
        let note = format!("begun by {}", self.era);
        let long = format!(
            "source=def main():\n    faulty.note(text = \"{note}\")\n    faulty.sleep(milliseconds = 3000)\n    \
             faulty.note(text = \"ended\")\n"
        );
        let before = self.daemon.log().matches("Cancelled").count();
        let mut command = self.command(&["tools/call", "--tool-name", "execute", "--tool-arg", &long]);
        let mut stopped = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        until("the run has begun", || self.daemon.recorded(&note));
        stopped.kill().unwrap();
        stopped.wait().unwrap();
        if self.daemon.has_sessions() {
            until("the run goes on", || self.daemon.recorded("ended"));
        } else {
            until("the run has ended", || self.daemon.log().matches("Cancelled").count() > before);
            assert!(!self.daemon.recorded("ended"));
        }
    }

    fn call(&self, tool: &str, argument: &str, code: i32) -> Value {
        let (answer, found, log) = self.answer(&["tools/call", "--tool-name", tool, "--tool-arg", argument]);
        assert_eq!(found, Some(code), "{argument}: {answer} {log}");
        answer
    }

    fn answer(&self, arguments: &[&str]) -> (Value, Option<i32>, String) {
        let done = run(self.daemon, &mut self.command(arguments));
        let (said, log) = (String::from_utf8_lossy(&done.stdout), String::from_utf8_lossy(&done.stderr));
        let answer = serde_json::from_str(&said).unwrap_or_else(|_| panic!("{arguments:?}: {said}{log}"));
        (answer, done.status.code(), log.into_owned())
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(self.node);
        command.arg(self.launcher).args(["--cli", &self.daemon.url, "--transport", "http", "--protocol-era", self.era]);
        command.arg("--method").args(arguments);
        command.env("HOME", self.daemon.folder.path()).current_dir(self.daemon.folder.path());
        command
    }
}
