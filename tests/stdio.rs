//! One client on standard input and output.

use std::io::{BufRead, BufReader, Lines, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::harness::{allow_all, executable, faulty, program};

pub(crate) struct Conversation {
    child: Child,
    input: Option<ChildStdin>,
    lines: Lines<BufReader<ChildStdout>>,
    folder: TempDir,
}

impl Conversation {
    fn open(rest: &str) -> Self {
        Self::open_with(&allow_all(rest))
    }

    pub(crate) fn open_with(config: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("codemode.toml"), config).unwrap();
        let mut child = Command::new(executable())
            .arg("--stdio")
            .current_dir(folder.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut opened = Self { input: child.stdin.take(), child, lines, folder };
        let hello = json!({ "protocolVersion": "2025-06-18", "capabilities": {},
            "clientInfo": { "name": "t", "version": "1" } });
        opened.say(&json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": hello }));
        assert_eq!(opened.answer()["id"], 0);
        opened.say(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
        opened
    }

    fn say(&mut self, message: &Value) {
        writeln!(self.input.as_mut().unwrap(), "{message}").unwrap();
    }

    pub(crate) fn execute(&mut self, id: u32, body: &str) {
        self.say(&json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call",
            "params": { "name": "execute", "arguments": { "source": program(body) } } }));
    }

    /// Whether the faulty plugin has recorded a note with this text.
    pub(crate) fn recorded(&self, text: &str) -> bool {
        std::fs::read_to_string(self.folder.path().join("calls.jsonl")).unwrap_or_default().contains(text)
    }

    /// Closes the daemon's standard input.
    pub(crate) fn hang_up(&mut self) {
        self.input.take();
    }

    /// How often the faulty plugin has ended, its trial's end included.
    pub(crate) fn ends(&self) -> usize {
        ends(self.folder.path())
    }

    /// Asks the daemon to stop.
    pub(crate) fn terminate(&mut self) {
        kill_process(Pid::from_child(&self.child), Signal::TERM).unwrap();
    }

    /// Waits for the daemon's end, and gives its exit code.
    pub(crate) fn exit(&mut self) -> Option<i32> {
        self.child.wait().unwrap().code()
    }

    /// The next line, which must be a message.
    pub(crate) fn answer(&mut self) -> Value {
        serde_json::from_str(&self.lines.next().unwrap().unwrap()).unwrap()
    }
}

/// How often an instance of the faulty plugin, configured in this folder to record it, has ended: once in its trial, and
/// once more if it was let.
pub(crate) fn ends(folder: &Path) -> usize {
    let record = std::fs::read_to_string(folder.join("calls.jsonl")).unwrap_or_default();
    record.lines().filter(|line| *line == "ended").count()
}

#[test]
fn what_a_plugin_prints_does_not_break_the_conversation() {
    let mut client = Conversation::open(&faulty());
    client.execute(1, "return faulty.print(message = \"in between\")");
    let answer = client.answer();
    assert_eq!((&answer["id"], &answer["result"]["structuredContent"]["result"]), (&json!(1), &Value::Null));
}

#[test]
fn a_cancelled_run_ends_and_its_slot_comes_back() {
    let mut client = Conversation::open(
        "[limits]\nmax_execution_time = \"50s\"\nmax_execution_steps = 1000000000000\nmax_concurrent_executions = 1\n",
    );
    let asked = Instant::now();
    client.execute(1, "for i in range(1000000000):\n    pass");
    client.say(&json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": 1 } }));
    client.execute(2, "return 2");
    let mut answer = client.answer();
    if answer["id"] == 1 {
        assert_eq!(answer["result"]["content"][0]["text"], "context canceled");
        answer = client.answer();
    }
    assert_eq!((&answer["id"], &answer["result"]["structuredContent"]["result"]), (&json!(2), &json!(2)));
    assert!(asked.elapsed() < Duration::from_secs(20), "{:?}", asked.elapsed());
}

#[test]
fn an_id_that_has_no_answer_yet_is_not_taken_again() {
    let mut client = Conversation::open(&faulty());
    client.execute(1, "return faulty.sleep(milliseconds = 300)");
    client.execute(1, "return 2");
    let refusal = client.answer();
    assert_eq!((&refusal["id"], &refusal["error"]["code"]), (&Value::Null, &json!(-32600)), "{refusal}");
    assert_eq!(client.answer()["result"]["structuredContent"], json!({ "result": 300 }));
    client.execute(1, "return 3");
    assert_eq!(client.answer()["result"]["structuredContent"], json!({ "result": 3 }));
}

#[test]
fn the_daemon_ends_with_its_client() {
    let mut client = Conversation::open("");
    client.hang_up();
    assert!(client.child.wait().unwrap().success());
}

impl Drop for Conversation {
    fn drop(&mut self) {
        self.input.take();
        // It may have ended by itself, which the test has looked at.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
