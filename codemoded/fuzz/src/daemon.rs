//! A daemon with one slot, and programs sent to it over HTTP.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// A running daemon; it ends with this process.
#[derive(Debug)]
pub struct Daemon {
    address: String,
    connection: Mutex<BufReader<TcpStream>>,
}

/// What `execute` answered.
#[derive(Debug)]
pub struct Answer {
    pub text: String,
    pub took: Duration,
}

impl Daemon {
    /// An answer that takes longer than this is late, on however slow a machine: the deadline is a second.
    pub const OVERRUN: Duration = Duration::from_secs(6);

    /// Starts the daemon whose executable `CODEMODED` names, with the plugins built beside it, in a new folder.
    pub fn start() -> Self {
        let executable = PathBuf::from(std::env::var_os("CODEMODED").expect("CODEMODED names the executable"));
        let folder = std::env::temp_dir().join(format!("codemoded-fuzz-{}", std::process::id()));
        fs::create_dir_all(&folder).expect("a folder for the daemon");
        let config = folder.join("codemode.toml");
        fs::write(&config, configuration(executable.parent().expect("a file has a folder"))).expect("a configuration");
        let mut command = Command::new(&executable);
        let log = fs::File::create(folder.join("log")).expect("a log");
        command.arg("--config").arg(&config).arg("--log").arg("error").stdout(Stdio::piped()).stderr(log);
        // SAFETY: the hook makes one system call and touches no memory.
        unsafe {
            command.pre_exec(|| match libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) {
                0 => Ok(()),
                _ => Err(std::io::Error::last_os_error()),
            })
        };
        let mut child = command.spawn().expect("the daemon starts");
        let mut line = String::new();
        BufReader::new(child.stdout.take().expect("a pipe")).read_line(&mut line).expect("a first line");
        let address = line.trim().strip_prefix("listening http://").expect("the daemon listens");
        let address = address.strip_suffix("/mcp").expect("the default path").to_owned();
        let connection = Mutex::new(connect(&address));
        Self { address, connection }
    }

    /// Runs a program.
    pub fn execute(&self, source: &str) -> Answer {
        let call = serde_json::json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call",
            "params": { "name": "execute", "arguments": { "source": source } } });
        let sent = Instant::now();
        let answer: serde_json::Value = serde_json::from_slice(&self.post(&call.to_string())).expect("a JSON answer");
        let took = sent.elapsed();
        let text = answer["result"]["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{answer}")).to_owned();
        Answer { text, took }
    }

    fn post(&self, body: &str) -> Vec<u8> {
        let mut connection = self.connection.lock().expect("one thread");
        let request = format!(
            "POST /mcp HTTP/1.1\r\nhost: {}\r\ncontent-type: application/json\r\n\
             accept: application/json, text/event-stream\r\ncontent-length: {}\r\n\r\n{body}",
            self.address,
            body.len()
        );
        connection.get_mut().write_all(request.as_bytes()).expect("the daemon is there");
        let mut length = 0;
        loop {
            let mut line = String::new();
            connection.read_line(&mut line).expect("the daemon answers");
            assert!(!line.is_empty(), "the daemon hung up");
            if line == "\r\n" {
                break;
            }
            if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
                length = value.trim().parse().expect("a number");
            }
        }
        let mut body = vec![0; length];
        connection.read_exact(&mut body).expect("the whole answer");
        body
    }
}

fn connect(address: &str) -> BufReader<TcpStream> {
    let stream = TcpStream::connect(address).expect("the daemon listens");
    stream.set_nodelay(true).expect("a TCP connection");
    // Far beyond any deadline: a daemon that hangs is a finding, too.
    stream.set_read_timeout(Some(Duration::from_secs(60))).expect("a TCP connection");
    BufReader::new(stream)
}

/// One slot, so that a lost one is seen. What a handler may do to the daemon, or to its own slots, is left out.
fn configuration(libraries: &Path) -> String {
    const DISABLED: [&str; 8] = ["crash", "hang", "hang_async", "print", "sleep", "sleep_async", "wait", "wait_async"];
    let libraries = libraries.display();
    format!(
        "[server]\nlisten = \"127.0.0.1:0\"\n[admin]\nlisten = \"off\"\n[identity]\nmode = \"static\"\nsubject = \"fuzz\"\n\
         [policy]\nmode = \"allow-all\"\n[workers]\nready = 2\nstart = \"fork\"\n\
         [catalog]\ndisabled = {:?}\n\
         [rates]\nrequests_per_minute = 1000000\n[limits]\nmax_concurrent_executions = 1\nmax_execution_time = \"1s\"\nmax_worker_memory = \"64MiB\"\n\
         [[plugins]]\nname = \"records\"\nlibrary = \"{libraries}/libcodemode_records.so\"\n\
         config = {{ database = \"records.db\" }}\n\
         [[plugins]]\nname = \"faulty\"\nlibrary = \"{libraries}/libcodemode_faulty.so\"\n",
        DISABLED.map(|name| format!("faulty.{name}"))
    )
}
