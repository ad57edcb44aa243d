//! At the most talkative level of the log, no credential is in it, nor anything of a token that policy may not see.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use serde_json::json;

use super::door::{note, note_at, search};
use super::issuer::{Key, KeyServer};
use super::jwt::{POLICY, but, claims, config};
use crate::collector::Collector;
use crate::harness::{Daemon, allow_all, executable, faulty, until};

const CANARY: &str = "canary-7f3a9c";

/// A daemon that logs everything.
fn start(config: &str, prepare: impl FnOnce(&Path)) -> Daemon {
    Daemon::start_by(Command::new(executable()), config, prepare, |command: &mut Command| {
        let libraries = ["h2", "hyper", "hyper_util", "rmcp", "rustls", "tower_http", "ureq", "ureq_proto"];
        let libraries: Vec<_> = libraries.iter().map(|library| format!(",{library}=trace")).collect();
        command.args(["--log", &format!("trace{}", libraries.concat())]).env("RUST_LOG", "trace");
    })
}

/// The log, once the daemon has said all that it has to say of the requests so far.
fn log(daemon: &Daemon, marker: &str) -> String {
    until("the log is written", || daemon.log().contains(marker));
    daemon.log()
}

#[track_caller]
fn is_silent(log: &str, secrets: &[&str]) {
    for secret in secrets {
        let line = log.lines().find(|line| line.contains(secret));
        assert_eq!(line, None, "`{secret}` is logged");
    }
}

#[test]
fn nothing_of_a_web_token_is_logged() {
    silent_about_a_web_token("human", " DEBUG ", " TRACE ", " codemoded::");
}

#[test]
fn nothing_of_a_web_token_is_logged_as_json_either() {
    silent_about_a_web_token("json", "\"level\":\"DEBUG\"", "\"level\":\"TRACE\"", "\"target\":\"codemoded::");
}

/// In this shape of the log, lines of these two levels say so, and lines of the daemon's own.
fn silent_about_a_web_token(format: &str, debug: &str, trace: &str, own: &str) {
    let key = Key::ec();
    let server = KeyServer::start(&[key.public("k")]);
    let collector = Collector::start();
    let kept = format!(
        "[log]\nformat = \"{format}\"\n[audit]\nto = \"file:audit.jsonl\"\narguments = \"full\"\n[traces]\nendpoint = \"{}\"\n",
        collector.url
    );
    let config = config(&format!("jwks_url = \"{}\"", server.url), "") + &kept;
    let daemon = start(&config, |folder| {
        fs::write(folder.join("p.rego"), POLICY).unwrap();
    });
    let head = json!({ "alg": "ES256", "kid": "k" });
    let good = key.sign(&head, &but("private", json!(CANARY)));
    let bad = Key::ec().sign(&head, &but("sub", json!(format!("{CANARY}-subject"))));
    let unknown = key.sign(&json!({ "alg": "ES256", "kid": format!("{CANARY}-key") }), &claims());
    assert_eq!(note(&daemon, &[&format!("authorization: Bearer {good}"), &format!("x-extra: {CANARY}")]).status, 200);
    for token in [&bad, &unknown] {
        assert_eq!(note(&daemon, &[&format!("authorization: Bearer {token}")]).status, 401);
    }
    let twice = format!("authorization: Bearer {good}");
    assert_eq!(note(&daemon, &[&twice, &twice]).status, 401);
    assert_eq!(note(&daemon, &[&format!("authorization: Basic {CANARY}"), &format!("cookie: {CANARY}")]).status, 401);
    assert_eq!(note_at(&daemon, &format!("/mcp?access_token={good}"), &[]).status, 401);
    let path = format!("/mcp?access_token={good}&x={CANARY}");
    assert_eq!(note_at(&daemon, &path, &[&twice]).status, 200);
    http_2(&daemon, &good);
    http_2(&daemon, &bad);
    let log = log(&daemon, "nobody could be made out");
    until("the spans are sent", || !collector.received().is_empty());
    let parts = [&good, &bad, &unknown].map(|token| token.split('.').skip(1).collect::<Vec<_>>());
    is_silent(&log, &parts.concat());
    is_silent(&log, &[CANARY]);
    let talkative = |line: &&str| line.contains(debug) || line.contains(trace);
    assert!(log.lines().any(|line| talkative(&line) && line.contains(own)), "the daemon says what it can: {log}");
    let below = log.lines().filter(talkative).find(|line| !line.contains(own));
    assert_eq!(below, None, "no library does");
    let kept = ["audit.jsonl", "calls.jsonl"].map(|name| fs::read_to_string(daemon.folder.path().join(name)).unwrap());
    is_silent(&(kept.concat() + &collector.received()), &[&parts.concat()[..], &[CANARY][..]].concat());
}

#[test]
fn no_other_credential_is_logged() {
    let secret = format!("{CANARY}-shared-secret");
    let identity = "mode = \"proxy\"\nheader = \"x-user\"\npeers = [\"127.0.0.1/32\"]\nshared_secret_file = \"secret\"";
    let config = allow_all(&faulty()).replace("mode = \"static\"\nsubject = \"local\"", identity);
    let daemon = start(&config, |folder| fs::write(folder.join("secret"), &secret).unwrap());
    let proof = format!("x-codemode-secret: {secret}");
    assert_eq!(note(&daemon, &[&proof, "x-user: ann"]).status, 200);
    for headers in [&[&*format!("{proof}x"), "x-user: ann"][..], &[&proof, &format!("x-user: {CANARY},x")]] {
        assert_eq!(search(&daemon, headers).status, 401);
    }
    is_silent(&log(&daemon, "nobody could be made out"), &[CANARY]);

    let token =
        allow_all("").replace("mode = \"static\"\nsubject = \"local\"", "mode = \"tokens\"\ntokens_file = \"t\"");
    let daemon = start(&token, |folder| fs::write(folder.join("t"), "").unwrap());
    assert_eq!(search(&daemon, &[&format!("authorization: Bearer cm_{CANARY}_{CANARY}")]).status, 401);
    is_silent(&log(&daemon, "nobody could be made out"), &[CANARY]);

    let plugin = allow_all(&faulty())
        .replace("mode = \"static\"\nsubject = \"local\"", "mode = \"plugin\"\nplugin = \"faulty\"");
    let daemon = start(&plugin, |_| {});
    let extra = format!("x-api-key: {CANARY}");
    assert_eq!(note(&daemon, &["authorization: Bearer ann", &extra]).status, 200);
    for token in ["refuse", "fail"] {
        let refused = search(&daemon, &[&format!("authorization: Bearer {token}"), &extra]);
        assert!([401, 503].contains(&refused.status), "{refused:?}");
    }
    is_silent(&log(&daemon, "nobody could be made out"), &[CANARY, "Bearer"]);
}

/// One request of HTTP/2 in clear text, for its library talks more than that of HTTP/1.1.
fn http_2(daemon: &Daemon, token: &str) {
    let host = daemon.url.trim_start_matches("http://").split('/').next().unwrap();
    let mut socket = TcpStream::connect(host).unwrap();
    socket.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    let mut block = Vec::new();
    let authorization = format!("Bearer {token}");
    let fields = [
        (":method", "POST"),
        (":scheme", "http"),
        (":path", "/mcp"),
        (":authority", host),
        ("authorization", &authorization),
        ("x-extra", CANARY),
    ];
    for (name, value) in fields {
        // A literal with a new name, not to be remembered.
        block.push(0);
        for text in [name, value] {
            length(&mut block, text.len());
            block.extend(text.as_bytes());
        }
    }
    let mut bytes = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_vec();
    bytes.extend([0, 0, 0, 4, 0, 0, 0, 0, 0]);
    bytes.extend(&u32::try_from(block.len()).unwrap().to_be_bytes()[1..]);
    // Headers, the end of both them and the request, on the first stream.
    bytes.extend([1, 0b101, 0, 0, 0, 1]);
    bytes.extend(block);
    socket.write_all(&bytes).unwrap();
    loop {
        let mut frame = [0; 9];
        socket.read_exact(&mut frame).unwrap();
        let mut payload = vec![0; u32::from_be_bytes([0, frame[0], frame[1], frame[2]]) as usize];
        socket.read_exact(&mut payload).unwrap();
        if frame[3] == 1 {
            return;
        }
    }
}

/// A length as HPACK writes it, in seven bits or more.
fn length(block: &mut Vec<u8>, bytes: usize) {
    if bytes < 127 {
        block.push(bytes as u8);
        return;
    }
    block.push(127);
    let mut rest = bytes - 127;
    while rest >= 128 {
        block.push((rest % 128) as u8 | 128);
        rest /= 128;
    }
    block.push(rest as u8);
}
