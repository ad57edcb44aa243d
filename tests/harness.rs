//! A daemon of its own for each test: a folder, a configuration, a port, and calls through HTTP.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use tempfile::TempDir;

/// A running daemon; dropping it ends it.
pub(crate) struct Daemon {
    child: Child,
    pub(crate) url: String,
    pub(crate) folder: TempDir,
}

/// What a tool answered.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) is_error: bool,
    pub(crate) text: String,
    pub(crate) structured: Option<Value>,
    pub(crate) meta: Value,
    pub(crate) took: Duration,
}

/// The executable under test.
pub(crate) fn executable() -> &'static str {
    env!("CARGO_BIN_EXE_codemoded")
}

/// A library that the workspace's build has put beside the executable.
pub(crate) fn library(name: &str) -> PathBuf {
    Path::new(executable()).with_file_name(format!("lib{name}.so"))
}

/// A library built as an example of `codemode-faulty`.
pub(crate) fn faulty_example(name: &str) -> PathBuf {
    Path::new(executable()).with_file_name("examples").join(format!("lib{name}.so"))
}

/// The daemon whose workers attack it (`codemoded/examples/intruder`).
pub(crate) fn intruder() -> PathBuf {
    Path::new(executable()).with_file_name("examples").join("intruder")
}

/// A `[[plugins]]` table.
pub(crate) fn plugin(name: &str, library: &Path, settings: &str) -> String {
    format!("[[plugins]]\nname = \"{name}\"\nlibrary = \"{}\"\nconfig = {{ {settings} }}\n", library.display())
}

/// The records plugin over a file in the daemon's own folder.
pub(crate) fn records() -> String {
    plugin("records", &library("codemode_records"), "database = \"records.db\"")
}

/// The faulty plugin, well started, recording into `calls.jsonl`.
pub(crate) fn faulty() -> String {
    plugin("faulty", &library("codemode_faulty"), "record = \"calls.jsonl\"")
}

/// A static subject for whom everything is allowed, with these further tables.
pub(crate) fn allow_all(rest: &str) -> String {
    format!(
        "[server]\nlisten = \"127.0.0.1:0\"\n[identity]\nmode = \"static\"\nsubject = \"local\"\n\
         [policy]\nmode = \"allow-all\"\n{rest}"
    )
}

/// The secret that a reverse proxy on this machine proves itself with.
pub(crate) const SECRET: &str = "correct-horse-battery-staple-1234";

/// A daemon that takes its subjects from the header `x-user`, and allows them everything.
#[track_caller]
pub(crate) fn by_header(rest: &str) -> Daemon {
    by_header_as(Path::new(executable()), rest)
}

/// The same, of another executable.
#[track_caller]
pub(crate) fn by_header_as(program: &Path, rest: &str) -> Daemon {
    let config = allow_all(rest).replace(
        "mode = \"static\"\nsubject = \"local\"",
        "mode = \"proxy\"\nheader = \"x-user\"\npeers = [\"127.0.0.1/32\"]\nshared_secret_file = \"secret\"",
    );
    Daemon::start_as(program, &config, |folder| fs::write(folder.join("secret"), SECRET).unwrap())
}

/// Runs a program for a subject of [`by_header`].
#[track_caller]
pub(crate) fn main_of(daemon: &Daemon, subject: &str, source: &str) -> Answer {
    let headers = [("x-user", subject), ("x-codemode-secret", SECRET)];
    daemon.call("execute", json!({ "source": source }), &headers)
}

/// The same with further headers.
#[track_caller]
pub(crate) fn by_header_traced(daemon: &Daemon, subject: &str, source: &str, more: &[(&str, &str)]) -> Answer {
    let headers = [&[("x-user", subject), ("x-codemode-secret", SECRET)], more].concat();
    daemon.call("execute", json!({ "source": source }), &headers)
}

/// The header lines of a subject of [`by_header`].
pub(crate) fn by_hand(subject: &str) -> String {
    format!("x-user: {subject}\r\nx-codemode-secret: {SECRET}\r\n")
}

impl Daemon {
    /// Starts a daemon in a new folder and waits until it listens.
    #[track_caller]
    pub(crate) fn start(config: &str) -> Self {
        Self::start_with(config, |_| {})
    }

    /// The same, after putting further files into the folder.
    #[track_caller]
    pub(crate) fn start_with(config: &str, prepare: impl FnOnce(&Path)) -> Self {
        Self::start_as(Path::new(executable()), config, prepare)
    }

    /// The same, of another executable.
    #[track_caller]
    pub(crate) fn start_as(program: &Path, config: &str, prepare: impl FnOnce(&Path)) -> Self {
        Self::start_by(Command::new(program), config, prepare, |_| {})
    }

    /// The same, with changes to the command that starts it.
    #[track_caller]
    pub(crate) fn start_by(
        mut command: Command,
        config: &str,
        prepare: impl FnOnce(&Path),
        adjust: impl FnOnce(&mut Command),
    ) -> Self {
        let folder = tempfile::tempdir().unwrap();
        prepare(folder.path());
        fs::write(folder.path().join("codemode.toml"), config).unwrap();
        command.arg("--config").arg(folder.path().join("codemode.toml")).stdout(Stdio::piped()).stderr(Stdio::piped());
        adjust(&mut command);
        without_admin(&mut command, config);
        let mut child = command.spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let Some(url) = line.trim().strip_prefix("listening ") else {
            let mut log = String::new();
            child.stderr.take().unwrap().read_to_string(&mut log).unwrap();
            panic!("the daemon did not start: {log}");
        };
        let url = url.to_owned();
        let mut stderr = child.stderr.take().unwrap();
        let log = folder.path().join("log");
        std::thread::spawn(move || {
            let mut log = fs::File::create(log).unwrap();
            // Ends with the daemon.
            let _ = std::io::copy(&mut stderr, &mut log);
        });
        Self { child, url, folder }
    }

    /// What the daemon has logged so far.
    pub(crate) fn log(&self) -> String {
        fs::read_to_string(self.folder.path().join("log")).unwrap_or_default()
    }

    /// Where administration is heard, once it is.
    #[track_caller]
    pub(crate) fn admin(&self) -> String {
        let mut url = None;
        until("administration can be reached", || {
            let log = self.log();
            let line = log.lines().find(|line| line.contains("administration can be reached"));
            url = line.and_then(|line| line.split("url=").nth(1)).map(|url| url.trim_matches('"').to_owned());
            url.is_some()
        });
        url.unwrap()
    }

    /// Host and port.
    pub(crate) fn address(&self) -> &str {
        self.url.strip_prefix("http://").unwrap().split('/').next().unwrap()
    }

    /// Whether it gives handshake clients sessions.
    pub(crate) fn has_sessions(&self) -> bool {
        fs::read_to_string(self.folder.path().join("codemode.toml")).unwrap().contains("sessions = true")
    }

    /// Whether the faulty plugin has recorded a note with this text.
    pub(crate) fn recorded(&self, text: &str) -> bool {
        fs::read_to_string(self.folder.path().join("calls.jsonl")).unwrap_or_default().contains(text)
    }

    /// Asks the daemon to stop.
    pub(crate) fn terminate(&self) {
        self.signal(Signal::TERM);
    }

    pub(crate) fn signal(&self, signal: Signal) {
        kill_process(Pid::from_raw(self.pid().try_into().unwrap()).unwrap(), signal).unwrap();
    }

    /// Waits until the daemon has ended by itself, and gives its exit code.
    #[track_caller]
    pub(crate) fn exit(&mut self) -> Option<i32> {
        until("the daemon has ended", || self.child.try_wait().unwrap().is_some());
        self.child.wait().unwrap().code()
    }

    /// Has the daemon reload, and waits until it tells how that ended.
    #[track_caller]
    pub(crate) fn reload(&self) {
        let before = self.reloads();
        self.signal(Signal::HUP);
        until("the reload has ended", || self.reloads() > before);
    }

    /// How many reloads have ended, well or not.
    pub(crate) fn reloads(&self) -> usize {
        let log = self.log();
        log.matches(": reloaded generation=").count() + log.matches(": the reload changes nothing").count()
    }

    /// Whether somebody listens.
    pub(crate) fn accepts(&self) -> bool {
        TcpStream::connect(self.address()).is_ok()
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// How many connections the daemon has accepted and not closed.
    pub(crate) fn connections(&self) -> usize {
        let port = self.address().rsplit(':').next().unwrap().parse::<u16>().unwrap();
        let table = fs::read_to_string("/proc/net/tcp").unwrap();
        let rows = table.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
        // Local address, state (0A listens), and an inode where a process holds the socket.
        rows.filter(|row| row[1].ends_with(&format!(":{port:04X}")) && row[3] != "0A" && row[9] != "0").count()
    }

    /// The processes that the daemon has started and that are not reaped.
    pub(crate) fn children(&self) -> Vec<u32> {
        let tasks = fs::read_dir(format!("/proc/{}/task", self.pid())).unwrap();
        let children = tasks.filter_map(|task| fs::read_to_string(task.ok()?.path().join("children")).ok());
        let text: Vec<String> = children.collect();
        text.join(" ").split_whitespace().map(|pid| pid.parse().unwrap()).collect()
    }

    /// Kills them all, and waits until none lives: until then the daemon cannot know which do.
    pub(crate) fn kill_children(&self) {
        let children = self.children();
        for pid in children.iter().filter_map(|pid| Pid::from_raw(i32::try_from(*pid).ok()?)) {
            // One may have ended by itself.
            let _ = kill_process(pid, Signal::KILL);
        }
        until("nobody lives", || !children.iter().any(|pid| lives(*pid)));
    }

    /// Those of them that try a plugin.
    pub(crate) fn probes(&self) -> Vec<u32> {
        self.children().into_iter().filter(|pid| title(*pid) == "codemoded-probe").collect()
    }

    /// Calls a tool.
    #[track_caller]
    pub(crate) fn call(&self, tool: &str, arguments: Value, headers: &[(&str, &str)]) -> Answer {
        let params = json!({ "name": tool, "arguments": arguments });
        let sent = Instant::now();
        let answer = self.request("tools/call", params, headers);
        let took = sent.elapsed();
        let result = answer.get("result").unwrap_or_else(|| panic!("no result: {answer}"));
        Answer {
            is_error: result["isError"] == json!(true),
            text: result["content"][0]["text"].as_str().unwrap_or_default().to_owned(),
            structured: result.get("structuredContent").cloned(),
            meta: result["_meta"].clone(),
            took,
        }
    }

    /// Runs a program as the static subject.
    #[track_caller]
    pub(crate) fn execute(&self, source: &str) -> Answer {
        self.call("execute", json!({ "source": source }), &[])
    }

    /// Runs the body of a `main`.
    #[track_caller]
    pub(crate) fn main(&self, body: &str) -> Answer {
        self.execute(&program(body))
    }

    /// Sends one JSON-RPC request and gives its whole answer, whatever the HTTP status.
    #[track_caller]
    pub(crate) fn request(&self, method: &str, params: Value, headers: &[(&str, &str)]) -> Value {
        let (status, body) =
            self.post(&json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params }), headers);
        serde_json::from_str(&body).unwrap_or_else(|_| panic!("{status}: {body}"))
    }

    /// Posts a body and gives status and text.
    #[track_caller]
    pub(crate) fn post(&self, body: &Value, headers: &[(&str, &str)]) -> (u16, String) {
        self.post_text(&body.to_string(), headers)
    }

    /// The same with a body that no JSON library would write.
    #[track_caller]
    pub(crate) fn post_text(&self, body: &str, headers: &[(&str, &str)]) -> (u16, String) {
        self.try_post(body, headers).unwrap()
    }

    /// The same of a daemon that may be gone before it answers.
    pub(crate) fn try_post(&self, body: &str, headers: &[(&str, &str)]) -> Result<(u16, String), ureq::Error> {
        let agent: ureq::Agent = ureq::Agent::config_builder()
            .http_status_as_error(false)
            .timeout_global(Some(Duration::from_secs(60)))
            .build()
            .into();
        let mut request = agent
            .post(&self.url)
            .header("content-type", "application/json")
            .header("accept", "application/json, text/event-stream")
            .header("mcp-protocol-version", "2025-06-18");
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let mut response = request.send(body)?;
        let is_stream = response.headers().get("content-type").is_some_and(|kind| kind == "text/event-stream");
        let text = response.body_mut().read_to_string()?;
        // A long run is answered in the last event of a stream.
        let answer = text.lines().filter_map(|line| line.strip_prefix("data: ")).next_back().filter(|_| is_stream);
        Ok((response.status().as_u16(), answer.map_or(text.clone(), str::to_owned)))
    }
}

/// Sends a program with these further header lines, and leaves the connection open.
pub(crate) fn send(daemon: &Daemon, headers: &str, source: &str) -> TcpStream {
    let address = daemon.url.strip_prefix("http://").unwrap().strip_suffix("/mcp").unwrap();
    let call = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call",
        "params": { "name": "execute", "arguments": { "source": source } } });
    let body = call.to_string();
    let mut socket = TcpStream::connect(address).unwrap();
    write!(
        socket,
        "POST /mcp HTTP/1.1\r\nhost: {address}\r\ncontent-type: application/json\r\n{headers}\
         accept: application/json, text/event-stream\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    )
    .unwrap();
    socket
}

/// A program whose `main` has this body.
pub(crate) fn program(body: &str) -> String {
    let lines: Vec<_> = body.lines().map(|line| format!("    {line}\n")).collect();
    format!("def main():\n{}", lines.concat())
}

/// A port that nothing listens on, so that a daemon can have it twice.
pub(crate) fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

/// Node and the folder of its packages, where `tests/run` could get them.
pub(crate) fn node(test: &str) -> Option<(PathBuf, PathBuf)> {
    match (std::env::var_os("CODEMODE_NODE"), std::env::var_os("CODEMODE_NODE_MODULES")) {
        (Some(node), Some(modules)) => Some((node.into(), modules.into())),
        (_, _) => {
            not_run(test, "CODEMODE_NODE or CODEMODE_NODE_MODULES is not set; use tests/run");
            None
        }
    }
}

/// Many daemons run at once here, and the port for administration is taken by the first: only a test that asks for
/// such a listener gets one.
fn without_admin(command: &mut Command, config: &str) {
    if !config.contains("[admin]") {
        command.env("CODEMODE_ADMIN__LISTEN", "off");
    }
}

/// Tells `tests/run` what this machine could not run.
pub(crate) fn not_run(test: &str, reason: &str) {
    if let Ok(list) = std::env::var("CODEMODE_NOT_RUN") {
        let mut list = fs::OpenOptions::new().append(true).create(true).open(list).unwrap();
        writeln!(list, "{test}: {reason}").unwrap();
    }
}

/// Runs the executable to its end and gives exit code, standard output and standard error.
pub(crate) fn run(arguments: &[&str], folder: &Path) -> (i32, String, String) {
    let mut command = Command::new(executable());
    without_admin(&mut command, &fs::read_to_string(folder.join("codemode.toml")).unwrap_or_default());
    let done = command.args(arguments).current_dir(folder).output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (done.status.code().unwrap_or(-1), text(done.stdout), text(done.stderr))
}

/// Why an executable does not start with this configuration; it ends with this code.
#[track_caller]
pub(crate) fn refusal_of(program: &Path, config: &str, code: i32, prepare: impl FnOnce(&Path)) -> String {
    let folder = tempfile::tempdir().unwrap();
    prepare(folder.path());
    let path = folder.path().join("codemode.toml");
    fs::write(&path, config).unwrap();
    let mut command = Command::new(program);
    without_admin(&mut command, config);
    let done = command.arg("--config").arg(path).output().unwrap();
    assert_eq!(done.status.code(), Some(code), "{done:?}");
    String::from_utf8(done.stderr).unwrap()
}

/// Whether a process is there, and none that only waits for somebody to take note of its end.
pub(crate) fn lives(pid: u32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    !stat.is_empty() && !stat.contains(") Z ")
}

/// What a process calls itself; nothing where it has ended.
pub(crate) fn title(pid: u32) -> String {
    let line = fs::read_to_string(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    line.split('\0').next().unwrap_or_default().to_owned()
}

/// Waits until something holds; fails after ten seconds.
#[track_caller]
pub(crate) fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let patience = Instant::now() + Duration::from_secs(10);
    while !holds() {
        assert!(Instant::now() < patience, "not within ten seconds: {what}");
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// Does the same with every item, several at once, and gives the outcomes in the items' order.
pub(crate) fn each<T: Sync, R: Send>(items: &[T], act: impl Fn(&T) -> R + Sync) -> Vec<R> {
    const AT_ONCE: usize = 4;
    let part = items.len().div_ceil(AT_ONCE).max(1);
    std::thread::scope(|scope| {
        let parts: Vec<_> =
            items.chunks(part).map(|part| scope.spawn(|| part.iter().map(&act).collect::<Vec<_>>())).collect();
        parts.into_iter().flat_map(|part| part.join().unwrap()).collect()
    })
}

impl Answer {
    /// The result of a program that must have succeeded.
    #[track_caller]
    pub(crate) fn result(&self) -> &Value {
        assert!(!self.is_error, "{}", self.text);
        &self.structured.as_ref().unwrap()["result"]
    }

    /// The text of an answer that must be an error without structured content.
    #[track_caller]
    pub(crate) fn error(&self) -> &str {
        assert!(self.is_error, "{self:?}");
        assert!(self.structured.is_none(), "{self:?}");
        &self.text
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        // It may have ended by itself, which the test has looked at.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
