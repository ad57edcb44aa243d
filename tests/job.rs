//! The main job: an agent finds capabilities, reads their types, and composes them in one program.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::json;

use crate::harness::{Daemon, allow_all, executable, library, not_run, plugin, run};

fn checkout() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/.."))
}

/// The shipped configuration's plugins and limits over the checkout, in a folder of its own.
fn config() -> String {
    let roots = format!("roots = {{ checkout = \"{}\" }}", checkout().canonicalize().unwrap().display());
    allow_all(&format!(
        "[limits]\nmax_native_calls = 1000\nmax_execution_time = \"30s\"\n{}{}",
        crate::harness::records(),
        plugin("files", &library("codemode_files"), &roots)
    ))
}

fn largest() -> String {
    fs::read_to_string(checkout().join("config/examples/largest.star")).unwrap()
}

#[test]
fn the_python_client_does_the_whole_job() {
    let Ok(python) = std::env::var("CODEMODE_PYTHON") else {
        not_run("the_python_client_does_the_whole_job", "CODEMODE_PYTHON is not set; use tests/run");
        return;
    };
    let daemon = Daemon::start(&config());
    let script = checkout().join("tests/python/main_job.py");
    let done = Command::new(python).arg(script).arg(&daemon.url).current_dir(checkout()).output().unwrap();
    let said = String::from_utf8_lossy(&done.stdout).into_owned() + &String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success(), "{said}\n{}", daemon.log());
}

#[test]
fn http_stdio_and_the_command_give_the_same_bytes() {
    let daemon = Daemon::start(&config());
    let answer = daemon.execute(&largest());
    assert!(answer.result().is_array());
    let over_http = answer.text.strip_prefix("{\"result\":").unwrap().strip_suffix('}').unwrap().to_owned();

    let folder = daemon.folder.path();
    fs::write(folder.join("largest.star"), largest()).unwrap();
    let (code, printed, log) = run(&["--config", "codemode.toml", "run", "largest.star"], folder);
    assert_eq!(code, 0, "{log}");
    assert_eq!(printed, over_http.clone() + "\n");

    let over_stdio = stdio(folder, &largest());
    assert_eq!(over_stdio, answer.text);
}

/// The text of an `execute` over stdio.
fn stdio(folder: &Path, source: &str) -> String {
    let mut child = Command::new(executable())
        .args(["--config", "codemode.toml", "--stdio"])
        .current_dir(folder)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    let hello =
        json!({ "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": { "name": "t", "version": "1" } });
    for message in [
        json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello }),
        json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }),
        json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/call",
                "params": { "name": "execute", "arguments": { "source": source } } }),
    ] {
        writeln!(input, "{message}").unwrap();
    }
    let lines = std::io::BufRead::lines(std::io::BufReader::new(child.stdout.take().unwrap()));
    let answers = lines.map(|line| serde_json::from_str::<serde_json::Value>(&line.unwrap()).unwrap());
    let answer = answers.into_iter().find(|answer| answer["id"] == json!(2)).unwrap();
    drop(input);
    assert!(child.wait().unwrap().success());
    answer["result"]["content"][0]["text"].as_str().unwrap().to_owned()
}

#[test]
fn the_tools_are_three_in_order_and_text_search_is_found_first() {
    let daemon = Daemon::start(&config());
    let listed = daemon.request("tools/list", json!({}), &[]);
    let names: Vec<_> = listed["result"]["tools"].as_array().unwrap().iter().map(|tool| &tool["name"]).collect();
    assert_eq!(names, ["search_api", "describe_api", "execute"]);
    let found = daemon.call("search_api", json!({ "query": "find text in files" }), &[]);
    assert_eq!(found.structured.unwrap()["results"][0]["name"], "files.search");
    let described = daemon.call("describe_api", json!({ "name": "records.lookup" }), &[]).structured.unwrap();
    assert_eq!(described["signature"], "records.lookup(*, key: str, limit: int | None)");
}
