//! Real clients of others, each put through list, search, describe, execute, an error, a cancel and a close: against a
//! daemon as it comes, and against one with sessions. What each does is in `node/`, `python/` and `rmcp/`.

use std::path::Path;
use std::process::{Command, Output, Stdio};

use serde_json::Value;

use crate::harness::{Daemon, allow_all, faulty, node, not_run, records, until};

const STEPS: [&str; 7] = ["list", "search", "describe", "execute", "error", "cancel", "close"];

/// A daemon as it comes, and one with sessions.
fn daemons() -> [Daemon; 2] {
    let config = allow_all(&format!(
        "[limits]\nmax_execution_time = \"30s\"\nmax_call_time = \"25s\"\n{}{}",
        records(),
        faulty()
    ));
    let with_sessions = config.replacen("[server]\n", "[server]\nsessions = true\n", 1);
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

#[test]
fn the_typescript_sdk_of_the_first_version() {
    let Some((node, modules)) = node("the_typescript_sdk_of_the_first_version") else { return };
    for daemon in daemons() {
        let mut command = Command::new(&node);
        check(&daemon, command.arg(script("node/sdk-v1.mjs")).arg(&daemon.url).env("CODEMODE_NODE_MODULES", &modules));
    }
}

#[test]
fn the_typescript_sdk_of_the_second_version() {
    let Some((node, modules)) = node("the_typescript_sdk_of_the_second_version") else { return };
    for daemon in daemons() {
        for how in ["legacy", "auto"] {
            let mut command = Command::new(&node);
            check(
                &daemon,
                command.arg(script("node/sdk-v2.mjs")).args([&daemon.url, how]).env("CODEMODE_NODE_MODULES", &modules),
            );
        }
    }
}

#[test]
fn mcp_remote() {
    let Some((node, modules)) = node("mcp_remote") else { return };
    for daemon in daemons() {
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
    for daemon in daemons() {
        for client in ["mcp", "fastmcp"] {
            check(&daemon, Command::new(&python).arg(script("python/walk.py")).args([client, &daemon.url]));
        }
    }
}

#[test]
fn the_rust_sdk() {
    let Ok(walk) = std::env::var("CODEMODE_RMCP") else {
        not_run("the_rust_sdk", "CODEMODE_RMCP is not set; use tests/run");
        return;
    };
    for daemon in daemons() {
        for lifecycle in ["handshake", "discover"] {
            check(&daemon, Command::new(&walk).args([&daemon.url, lifecycle]));
        }
    }
}

/// Each command is a client of its own: it connects, does one thing, and closes.
#[test]
fn the_inspector() {
    let Some((node, modules)) = node("the_inspector") else { return };
    let launcher = modules.join("@modelcontextprotocol/inspector/clients/launcher/build/index.js");
    for daemon in daemons() {
        let inspect = |arguments: &[&str]| {
            let mut command = Command::new(&node);
            command.arg(&launcher).args(["--cli", &daemon.url, "--transport", "http", "--method"]).args(arguments);
            command.env("HOME", daemon.folder.path()).current_dir(daemon.folder.path());
            command
        };
        let answer = |arguments: &[&str]| {
            let done = run(&daemon, &mut inspect(arguments));
            let (said, log) = (String::from_utf8_lossy(&done.stdout), String::from_utf8_lossy(&done.stderr));
            let answer = serde_json::from_str::<Value>(&said).unwrap_or_else(|_| panic!("{arguments:?}: {said}{log}"));
            (answer, done.status.success(), log.into_owned())
        };
        let call = |tool: &str, argument: &str| answer(&["tools/call", "--tool-name", tool, "--tool-arg", argument]).0;

        let (tools, sound, log) = answer(&["tools/list", "--strict"]);
        assert_eq!(tools["tools"].as_array().unwrap().len(), 3);
        assert!(sound && log.contains("0 errors"), "{log}");
        let found = call("search_api", "query=count the entries under a key");
        assert_eq!(found["structuredContent"]["results"][0]["name"], "records.lookup");
        assert_eq!(call("describe_api", "name=records.lookup")["structuredContent"]["name"], "records.lookup");
        let executed = call("execute", "source=def main():\n    return 6 * 7\n");
        assert_eq!(executed["structuredContent"]["result"], 42);
        assert_eq!(call("execute", "source=def main():\n    return records.lookup()\n")["isError"], true);

        // It cannot cancel, but it can be stopped; without a session that is the end of its run.
        if daemon.has_sessions() {
            continue;
        }
        let long = "source=def main():\n    faulty.note(text = \"begun\")\n    faulty.wait()\n";
        let mut stopped = inspect(&["tools/call", "--tool-name", "execute", "--tool-arg", long])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        until("the run has begun", || daemon.recorded("begun"));
        stopped.kill().unwrap();
        stopped.wait().unwrap();
        until("the run has ended", || daemon.log().contains("Cancelled"));
    }
}
