//! Through a real socket, with hand-written requests.

use std::io::{Read, Write};
use std::net::TcpStream as Socket;
use std::time::Duration;

use tokio::net::TcpListener;

use super::*;
use crate::identity::proxy::{Proxy, SharedSecret};
use crate::identity::{Identity, Subject, SubjectId};
use crate::limits::Limits;
use crate::mcp::guard::Names;
use crate::mcp::tests::server_without_workers;
use crate::rate::{self, Rates};

const LEGACY: &str = "2025-11-25";

struct Daemon {
    http: Option<Http>,
    address: SocketAddr,
    _runtime: tokio::runtime::Runtime,
}

#[derive(Debug)]
struct Reply {
    status: u16,
    head: String,
    body: String,
}

fn subject() -> Identity {
    Identity::Static(Subject::new(SubjectId::new("local").unwrap()))
}

fn start(identity: Identity) -> Daemon {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let limits = Limits { max_request_bytes: 300_000, ..Limits::default() };
    let times = Times { head: Duration::from_secs(15), body: Duration::from_secs(30), idle: Duration::from_secs(75) };
    let rates = Arc::new(Rates::new(rate::Settings::plenty()));
    let http = runtime.block_on(async {
        let listener = Listener::from(TcpListener::bind("127.0.0.1:0").await.unwrap());
        let reached = Reached::through(&listener, "/mcp");
        let settings = DoorSettings { names: Names::default(), identity, protection: None, rates };
        let server = server_without_workers(limits, Door::new(&reached, settings));
        Http::start(
            listener,
            Settings { reached, times, max_connections: 100, metrics: Metrics::default(), sessions: None },
            server,
        )
    });
    Daemon { address: http.address().unwrap(), http: Some(http), _runtime: runtime }
}

impl Daemon {
    fn connect(&self) -> Socket {
        let socket = Socket::connect(self.address).unwrap();
        socket.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
        socket
    }

    /// Sends one request as it stands and reads the whole answer.
    fn raw(&self, request: &[u8]) -> Reply {
        let mut socket = self.connect();
        socket.write_all(request).unwrap();
        read_reply(&mut socket)
    }

    fn send(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &[u8]) -> Reply {
        self.raw(&request(method, path, &self.address.to_string(), headers, body))
    }

    fn post(&self, body: &str) -> Reply {
        self.send("POST", "/mcp", &[], body.as_bytes())
    }

    fn call(&self, tool: &str, arguments: &str) -> serde_json::Value {
        let params = format!(r#"{{"name":"{tool}","arguments":{arguments}}}"#);
        let reply = self.post(&rpc("tools/call", &params));
        assert_eq!(reply.status, 200, "{reply:?}");
        reply.json()
    }
}

impl Reply {
    fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.body).unwrap_or_else(|_| panic!("no JSON: {self:?}"))
    }

    fn has_header(&self, line: &str) -> bool {
        self.head.lines().any(|head| head.eq_ignore_ascii_case(line))
    }
}

fn rpc(method: &str, params: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{params}}}"#)
}

/// Given headers replace the usual ones; an empty value leaves one out.
fn request(method: &str, path: &str, host: &str, headers: &[(&str, &str)], body: &[u8]) -> Vec<u8> {
    let mut text = format!("{method} {path} HTTP/1.1\r\n");
    let usual = [
        ("host", host),
        ("content-type", "application/json"),
        ("accept", "application/json, text/event-stream"),
        ("mcp-protocol-version", LEGACY),
    ];
    let replaced = |name: &str| headers.iter().any(|(given, _)| *given == name);
    for (name, value) in usual.iter().filter(|(name, _)| !replaced(name)).chain(headers) {
        if !value.is_empty() {
            text += &format!("{name}: {value}\r\n");
        }
    }
    text += &format!("content-length: {}\r\n\r\n", body.len());
    [text.as_bytes(), body].concat()
}

fn read_reply(socket: &mut Socket) -> Reply {
    let mut bytes = Vec::new();
    let end = loop {
        if let Some(at) = bytes.windows(4).position(|window| window == b"\r\n\r\n") {
            break at + 4;
        }
        let mut part = [0; 4096];
        let count = socket.read(&mut part).unwrap();
        assert!(count > 0, "closed after {:?}", String::from_utf8_lossy(&bytes));
        bytes.extend(&part[..count]);
    };
    let head = String::from_utf8(bytes[..end].to_vec()).unwrap();
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    let length = head.lines().find_map(|line| line.to_ascii_lowercase().strip_prefix("content-length: ")?.parse().ok());
    let mut body = bytes[end..].to_vec();
    let length: usize = length.unwrap_or(0);
    let have = body.len();
    body.resize(length.max(have), 0);
    socket.read_exact(&mut body[have..]).unwrap();
    Reply { status, head, body: String::from_utf8(body).unwrap() }
}

#[track_caller]
fn check_error(reply: &Reply, status: u16, code: i64, message: &str) {
    let json = reply.json();
    let found = (reply.status, json["error"]["code"].as_i64(), json["error"]["message"].as_str());
    assert_eq!(found, (status, Some(code), Some(message)), "{reply:?}");
    assert!(reply.has_header("content-type: application/json"), "{reply:?}");
}

#[test]
fn the_handshake_echoes_a_served_revision() {
    let daemon = start(subject());
    for version in ["2025-03-26", "2025-06-18", "2025-11-25"] {
        let params = format!(
            r#"{{"protocolVersion":"{version}","capabilities":{{}},"clientInfo":{{"name":"t","version":"1"}}}}"#
        );
        let reply = daemon.send("POST", "/mcp", &[("mcp-protocol-version", "")], rpc("initialize", &params).as_bytes());
        let result = &reply.json()["result"];
        assert_eq!(result["protocolVersion"], version, "{reply:?}");
        assert_eq!(result["serverInfo"]["name"], "codemoded");
        assert!(!reply.head.to_ascii_lowercase().contains("mcp-session-id"));
    }
    assert_eq!(daemon.post(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#).status, 202);
    assert_eq!(daemon.post(&rpc("ping", "{}")).json()["result"], serde_json::json!({}));
}

#[test]
fn lists_are_answered_in_both_eras() {
    let daemon = start(subject());
    let tools = daemon.post(&rpc("tools/list", "{}")).json()["result"].clone();
    let names: Vec<_> = tools["tools"].as_array().unwrap().iter().map(|tool| tool["name"].clone()).collect();
    assert_eq!(names, ["search_api", "describe_api", "execute"]);
    assert_eq!(tools.get("ttlMs"), None);
    for (method, key) in [
        ("prompts/list", "prompts"),
        ("resources/list", "resources"),
        ("resources/templates/list", "resourceTemplates"),
    ] {
        assert_eq!(daemon.post(&rpc(method, "{}")).json()["result"], serde_json::json!({ key: [] }), "{method}");
        let modern = modern(&daemon, method, "").json()["result"].clone();
        assert_eq!((&modern["cacheScope"], modern["ttlMs"].is_u64()), (&"private".into(), true), "{method}");
    }
    let modern = modern(&daemon, "tools/list", "").json()["result"].clone();
    assert_eq!((&modern["resultType"], &modern["cacheScope"]), (&"complete".into(), &"private".into()));
}

fn modern(daemon: &Daemon, method: &str, params: &str) -> Reply {
    let meta = r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}"#;
    let headers = [("mcp-protocol-version", "2026-07-28"), ("mcp-method", method)];
    daemon.send("POST", "/mcp", &headers, rpc(method, &format!("{{{meta}{params}}}")).as_bytes())
}

#[test]
fn the_stateless_era_has_discovery_and_no_handshake() {
    let daemon = start(subject());
    let found = modern(&daemon, "server/discover", "").json()["result"].clone();
    assert!(found["supportedVersions"].as_array().unwrap().contains(&"2026-07-28".into()), "{found}");
    let initialize = r#","protocolVersion":"2026-07-28","capabilities":{},"clientInfo":{"name":"t","version":"1"}"#;
    for (method, params) in [("initialize", initialize), ("initialize", ""), ("ping", ""), ("unknown/method", "")] {
        let reply = modern(&daemon, method, params);
        assert_eq!((reply.status, &reply.json()["error"]["code"]), (404, &(-32601).into()), "{method}: {reply:?}");
    }
}

#[test]
fn a_failure_is_one_text_without_structured_content() {
    let daemon = start(subject());
    let check = |tool: &str, arguments: &str, text: &str| {
        let result = daemon.call(tool, arguments)["result"].clone();
        assert_eq!(result["isError"], true, "{result}");
        assert_eq!(result["content"], serde_json::json!([{ "type": "text", "text": text }]));
        assert_eq!(result.get("structuredContent"), None);
    };
    check("execute", "{}", "invalid tool arguments: missing required argument \"source\"");
    check("search_api", r#"{"query":7}"#, "invalid tool arguments: argument \"query\" must be a string");
    check("describe_api", r#"{"name":"records.nope"}"#, "capability not found");
}

#[test]
fn discovery_answers_mirror_their_text() {
    let daemon = start(subject());
    for (tool, arguments) in
        [("search_api", r#"{"query":"records"}"#), ("describe_api", r#"{"name":"records.lookup"}"#)]
    {
        let result = daemon.call(tool, arguments)["result"].clone();
        assert_eq!(result["content"][0]["text"], result["structuredContent"].to_string());
    }
}

#[test]
fn an_unknown_tool_is_a_protocol_error() {
    let daemon = start(subject());
    let call = |name| daemon.post(&rpc("tools/call", &format!(r#"{{"name":"{name}","arguments":{{}}}}"#)));
    let capability = "unknown tool `records.lookup`: it is a capability, so call it inside `execute`";
    check_error(&call("records.lookup"), 200, -32602, capability);
    let unknown = "unknown tool `a b`: the tools are `search_api`, `describe_api` and `execute`";
    check_error(&call(r"a\nb"), 200, -32602, unknown);
}

#[test]
fn methods_are_told_from_parameters() {
    let daemon = start(subject());
    check_error(&daemon.post(&rpc("nope", "{}")), 200, -32601, "unknown method `nope`");
    let wrong = "invalid params: not what the method takes";
    check_error(&daemon.post(&rpc("initialize", "{}")), 200, -32602, wrong);
    check_error(&daemon.post(&rpc("resources/read", "{}")), 200, -32602, wrong);
    check_error(&daemon.post(&rpc("tools/call", "{}")), 400, -32602, "invalid params: `name` is missing");
}

#[test]
fn bodies_are_checked_before_the_library_reads_them() {
    let daemon = start(subject());
    check_error(&daemon.post("{"), 400, -32700, "parse error: not valid JSON");
    let batch = "invalid request: batches are not supported; send one message at a time";
    check_error(&daemon.post(&format!("[{}]", rpc("ping", "{}"))), 400, -32600, batch);
    let id = "invalid request: `id` must be a string or an integer of 64 bits";
    check_error(&daemon.post(r#"{"jsonrpc":"2.0","id":1.5,"method":"ping"}"#), 400, -32600, id);
    let deep = rpc("ping", &format!(r#"{{"a":{}{}}}"#, "[".repeat(62), "]".repeat(62)));
    assert_eq!(daemon.post(&deep).json()["result"], serde_json::json!({}));
}

#[test]
fn exact_numbers_pass_unchanged() {
    let daemon = start(subject());
    let result =
        daemon.post(&rpc("tools/call", r#"{"name":"execute","arguments":{"source":"x"},"n":12345678901234567890123}"#));
    assert_eq!(result.status, 200);
}

#[test]
fn host_and_origin_come_first() {
    let identity = Identity::Proxy(Proxy {
        header: "x-remote-user".parse().unwrap(),
        groups_header: None,
        peers: Vec::new(),
        shared_secret: None,
    });
    let daemon = start(identity);
    let own = daemon.address.to_string();
    let host = "forbidden: this host is not one of the server's; see the setting `server.allowed_hosts`";
    let origin = "forbidden: this origin is not trusted; see the setting `server.trusted_origins`";
    for method in ["POST", "GET", "DELETE", "OPTIONS", "PUT"] {
        let evil = daemon.send(method, "/mcp", &[("host", "evil.example.com")], b"{");
        check_error(&evil, 403, -32600, host);
        let page = daemon.send(method, "/mcp", &[("origin", "http://evil.example.com")], b"{");
        check_error(&page, 403, -32600, origin);
    }
    // What passes the guard meets the identity layer, whatever the rest is like.
    let own_page = format!("http://{own}");
    assert_eq!(daemon.send("POST", "/mcp", &[("origin", &own_page)], b"{").status, 401);
    check_error(&daemon.send("POST", "/elsewhere", &[("host", "evil.example.com")], b""), 403, -32600, host);
}

#[test]
fn nobody_is_told_why_they_are_nobody() {
    let identity = Identity::Proxy(Proxy {
        header: "x-remote-user".parse().unwrap(),
        groups_header: None,
        peers: vec!["127.0.0.1/32".to_owned().try_into().unwrap()],
        shared_secret: Some(SharedSecret::new("correct-horse-battery").unwrap()),
    });
    let daemon = start(identity);
    let secret = ("x-codemode-secret", "correct-horse-battery");
    let refused: [&[(&str, &str)]; 6] = [
        &[],
        &[("x-remote-user", "ann")],
        &[("x-remote-user", "ann"), ("x-codemode-secret", "wrong")],
        &[secret, ("x_remote_user", "ann")],
        &[secret, ("x-remote-user", "ann,bob")],
        &[secret, ("x-remote-user", "ann"), ("X-Remote-User", "ann")],
    ];
    for headers in refused {
        let reply = daemon.send("POST", "/mcp", headers, b"{");
        assert_eq!((reply.status, reply.body.as_str()), (401, "unauthenticated"), "{headers:?}");
        assert!(reply.has_header("www-authenticate: Bearer realm=\"codemoded\""), "{reply:?}");
    }
    let call = rpc("tools/call", r#"{"name":"search_api","arguments":{"query":"records"}}"#);
    let reply = daemon.send("POST", "/mcp", &[secret, ("x-remote-user", "ann")], call.as_bytes());
    assert_eq!(reply.json()["result"]["structuredContent"]["total"], 1);
}

#[test]
fn paths_methods_and_media_types() {
    let daemon = start(subject());
    check_error(&daemon.send("POST", "/", &[], b""), 404, -32600, "not found: nothing is served at this path");
    check_error(&daemon.send("POST", "/mcp/", &[], b""), 404, -32600, "not found: nothing is served at this path");
    for method in ["GET", "DELETE", "PUT", "OPTIONS"] {
        let reply = daemon.send(method, "/mcp", &[], b"");
        check_error(&reply, 405, -32600, "method not allowed: send messages with POST");
        assert!(reply.has_header("allow: POST"), "{reply:?}");
    }
    let ping = rpc("ping", "{}");
    let accept = |value: &str| daemon.send("POST", "/mcp", &[("accept", value)], ping.as_bytes());
    for value in ["*/*", "application/json", "application/*", ""] {
        assert_eq!(accept(value).status, 200, "{value}");
    }
    let message = "not acceptable: `Accept` must include `application/json`";
    check_error(&accept("text/event-stream"), 406, -32600, message);
    let message = "unsupported media type: send `application/json`, not compressed";
    check_error(&daemon.send("POST", "/mcp", &[("content-type", "text/plain")], ping.as_bytes()), 415, -32600, message);
    check_error(&daemon.send("POST", "/mcp", &[("content-type", "")], ping.as_bytes()), 415, -32600, message);
}

#[test]
fn an_unknown_revision_is_refused() {
    let daemon = start(subject());
    let ping = rpc("ping", "{}");
    let version = |value: &str| daemon.send("POST", "/mcp", &[("mcp-protocol-version", value)], ping.as_bytes());
    assert_eq!(version("").status, 200);
    check_error(&version("2024-01-01"), 400, -32600, "invalid request: unsupported `MCP-Protocol-Version`");
    let twice = [("mcp-protocol-version", LEGACY), ("Mcp-Protocol-Version", LEGACY)];
    assert_eq!(daemon.send("POST", "/mcp", &twice, ping.as_bytes()).status, 400);
}

#[test]
fn an_oversized_body_is_refused_before_it_is_parsed() {
    let daemon = start(subject());
    let pad = |bytes: usize| {
        let ping = rpc("ping", "{}");
        format!("{ping}{}", " ".repeat(bytes - ping.len()))
    };
    assert_eq!(daemon.post(&pad(300_000)).status, 200);
    let too_large = "resource limit exceeded: max_request_bytes";
    check_error(&daemon.post(&pad(300_001)), 413, -32600, too_large);
    // Without a length the size shows only while reading.
    let mut socket = daemon.connect();
    let head = request("POST", "/mcp", &daemon.address.to_string(), &[("transfer-encoding", "chunked")], b"");
    let head = String::from_utf8(head).unwrap().replace("content-length: 0\r\n", "");
    socket.write_all(head.as_bytes()).unwrap();
    let chunk = format!("{:x}\r\n{}\r\n", 350_000, "x".repeat(350_000));
    let _ = socket.write_all(chunk.as_bytes());
    check_error(&read_reply(&mut socket), 413, -32600, too_large);
}

#[test]
fn a_connection_serves_many_requests_in_order() {
    let daemon = start(subject());
    let mut socket = daemon.connect();
    let host = daemon.address.to_string();
    let ping = request("POST", "/mcp", &host, &[], rpc("ping", "{}").as_bytes());
    let search = rpc("tools/call", r#"{"name":"search_api","arguments":{"query":"x"}}"#);
    socket.write_all(&ping).unwrap();
    assert_eq!(read_reply(&mut socket).status, 200);
    socket.write_all(&request("POST", "/mcp", &host, &[], search.as_bytes())).unwrap();
    assert_eq!(read_reply(&mut socket).json()["result"]["structuredContent"]["total"], 0);
}

#[test]
fn http_2_is_spoken_in_clear_text() {
    let daemon = start(subject());
    let mut socket = daemon.connect();
    socket.write_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0").unwrap();
    let mut frame = [0; 9];
    socket.read_exact(&mut frame).unwrap();
    assert_eq!(frame[3], 4, "the server's settings come first: {frame:?}");
}

#[test]
fn dropping_the_handle_closes_everything() {
    let mut daemon = start(subject());
    let mut socket = daemon.connect();
    socket.write_all(b"POST /mcp HTTP/1.1\r\n").unwrap();
    drop(daemon.http.take());
    assert!(matches!(socket.read(&mut [0; 1]), Ok(0) | Err(_)));
}
