//! HTTP by hand: what is sent is what stands in the test, and what comes back is read as far as the test asks.

use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::harness::{Daemon, program};

/// How long any single piece may take to come.
const PATIENCE: Duration = Duration::from_secs(30);

/// One connection.
pub(crate) struct Wire {
    socket: TcpStream,
    address: String,
    unread: Vec<u8>,
}

/// The head of an answer.
#[derive(Debug)]
pub(crate) struct Head {
    pub(crate) status: u16,
    text: String,
}

impl Wire {
    pub(crate) fn connect(daemon: &Daemon) -> Self {
        Self::connect_to(daemon.address(), daemon.address())
    }

    /// To an address, asking for this host.
    pub(crate) fn connect_to(address: &str, host: &str) -> Self {
        Self::over(TcpStream::connect(address).unwrap(), host)
    }

    /// Over a connection that is there, asking for this host.
    pub(crate) fn over(socket: TcpStream, host: &str) -> Self {
        socket.set_read_timeout(Some(PATIENCE)).unwrap();
        socket.set_nodelay(true).unwrap();
        Self { socket, address: host.to_owned(), unread: Vec::new() }
    }

    /// Sends bytes as they stand; a server that has hung up already is no fault of the test.
    pub(crate) fn send(&mut self, bytes: impl AsRef<[u8]>) {
        let _ = self.socket.write_all(bytes.as_ref());
    }

    /// Sends what goes without anybody reading.
    pub(crate) fn send_without_waiting(&mut self, bytes: &[u8]) {
        self.socket.set_write_timeout(Some(Duration::from_millis(500))).unwrap();
        self.send(bytes);
    }

    /// Tells the server that nothing more will come.
    pub(crate) fn finish(&mut self) {
        let _ = self.socket.shutdown(Shutdown::Write);
    }

    /// Posts a message with what an ordinary client says of itself, and these headers besides or instead.
    pub(crate) fn post(&mut self, message: &Value, headers: &[(&str, &str)]) {
        let body = message.to_string();
        self.request("POST", headers, body.as_bytes());
    }

    pub(crate) fn request(&mut self, method: &str, headers: &[(&str, &str)], body: &[u8]) {
        let bytes = request(method, &self.address, headers, body);
        self.send(bytes);
    }

    /// The status of the next answer, if there is one before the server closes.
    pub(crate) fn status(&mut self) -> Option<u16> {
        let bytes = self.until(b"\r\n\r\n")?;
        Some(Head::read(bytes).status)
    }

    pub(crate) fn head(&mut self) -> Head {
        Head::read(self.until(b"\r\n\r\n").expect("a head"))
    }

    /// The next piece of a body that is sent in pieces; nothing where it has ended.
    pub(crate) fn piece(&mut self) -> Option<String> {
        let size = String::from_utf8(self.until(b"\r\n")?).unwrap();
        let size = usize::from_str_radix(size.trim(), 16).unwrap_or_else(|_| panic!("{size}"));
        let mut bytes = self.exactly(size + 2)?;
        bytes.truncate(size);
        (size > 0).then(|| String::from_utf8(bytes).unwrap())
    }

    /// All of the body that goes with a head.
    pub(crate) fn body(&mut self, head: &Head) -> String {
        if head.value("transfer-encoding").is_some() {
            return std::iter::from_fn(|| self.piece()).collect();
        }
        let length = head.value("content-length").map_or(0, |length| length.parse().unwrap());
        String::from_utf8(self.exactly(length).expect("a body")).unwrap()
    }

    /// Head and body of one answer.
    pub(crate) fn answer(&mut self) -> (Head, String) {
        let head = self.head();
        let body = self.body(&head);
        (head, body)
    }

    /// The messages of an answer, whether it is JSON or a stream.
    pub(crate) fn messages(&mut self) -> Vec<Value> {
        let (head, body) = self.answer();
        let parse = |text: &str| serde_json::from_str(text).unwrap_or_else(|_| panic!("{head:?} {body}"));
        match head.value("content-type") {
            Some("text/event-stream") => {
                body.lines().filter_map(|line| line.strip_prefix("data: ")).map(parse).collect()
            }
            _ => vec![parse(&body)],
        }
    }

    /// Whether the server closes the connection without a further byte, and within this time.
    pub(crate) fn is_closed_within(&mut self, patience: Duration) -> bool {
        let sent = Instant::now();
        self.socket.set_read_timeout(Some(patience)).unwrap();
        match self.socket.read(&mut [0; 1]) {
            Ok(0) => true,
            Err(error) => error.kind() == ErrorKind::ConnectionReset && sent.elapsed() < patience,
            Ok(_) => false,
        }
    }

    fn until(&mut self, end: &[u8]) -> Option<Vec<u8>> {
        loop {
            if let Some(at) = self.unread.windows(end.len()).position(|window| window == end) {
                return Some(self.unread.drain(..at + end.len()).collect());
            }
            self.more()?;
        }
    }

    fn exactly(&mut self, length: usize) -> Option<Vec<u8>> {
        while self.unread.len() < length {
            self.more()?;
        }
        Some(self.unread.drain(..length).collect())
    }

    /// Reads on; nothing where the server has closed.
    fn more(&mut self) -> Option<()> {
        let mut piece = [0; 8192];
        let length = self.socket.read(&mut piece).expect("more to read");
        self.unread.extend(&piece[..length]);
        (length > 0).then_some(())
    }
}

impl Head {
    fn read(bytes: Vec<u8>) -> Self {
        let text = String::from_utf8(bytes).unwrap();
        let status = text.split(' ').nth(1).unwrap_or_else(|| panic!("{text}")).parse().unwrap();
        Self { status, text }
    }

    pub(crate) fn value(&self, name: &str) -> Option<&str> {
        let fields = self.text.lines().filter_map(|line| line.split_once(": "));
        fields.into_iter().find(|(field, _)| field.eq_ignore_ascii_case(name)).map(|(_, value)| value)
    }
}

/// A request as an ordinary client sends it. Given headers replace its own of the same name; an empty value leaves one
/// out.
pub(crate) fn request(method: &str, address: &str, headers: &[(&str, &str)], body: &[u8]) -> Vec<u8> {
    let length = body.len().to_string();
    let own = [
        ("host", address),
        ("content-type", "application/json"),
        ("accept", "application/json, text/event-stream"),
        ("mcp-protocol-version", "2025-11-25"),
        ("content-length", &length),
    ];
    let kept = own.iter().filter(|(name, _)| !headers.iter().any(|(given, _)| given.eq_ignore_ascii_case(name)));
    let lines = kept.chain(headers).filter(|(_, value)| !value.is_empty());
    let lines: String = lines.map(|(name, value)| format!("{name}: {value}\r\n")).collect();
    [format!("{method} /mcp HTTP/1.1\r\n{lines}\r\n").as_bytes(), body].concat()
}

/// A call that runs the body of a `main`.
pub(crate) fn execute(id: u32, body: &str) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call",
        "params": { "name": "execute", "arguments": { "source": program(body) } } })
}

/// The same call, asking to be told of its progress under this token.
pub(crate) fn execute_with_progress(id: u32, token: &Value, body: &str) -> Value {
    let mut message = execute(id, body);
    message["params"]["_meta"] = json!({ "progressToken": token });
    message
}

/// A message as the stateless era has it, and the headers that go with it.
pub(crate) fn stateless(mut message: Value) -> (Value, Vec<(&'static str, String)>) {
    let meta = &mut message["params"]["_meta"];
    meta["io.modelcontextprotocol/protocolVersion"] = json!("2026-07-28");
    meta["io.modelcontextprotocol/clientCapabilities"] = json!({});
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let headers = vec![
        ("mcp-protocol-version", "2026-07-28".to_owned()),
        ("mcp-method", text(&message["method"])),
        ("mcp-name", text(&message["params"]["name"])),
    ];
    (message, headers)
}

/// Headers that can be given to [`Wire::post`].
pub(crate) fn borrowed<'a>(headers: &'a [(&'static str, String)]) -> Vec<(&'static str, &'a str)> {
    headers.iter().map(|(name, value)| (*name, value.as_str())).collect()
}
