//! Sessions of the handshake revisions, where they are configured: whose they are, what they change, and how they end.

use std::fs;
use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};

use crate::harness::{Daemon, allow_all, faulty, run, until};
use crate::wire::{Head, Wire, borrowed, execute, stateless};

const SECRET: (&str, &str) = ("x-codemode-secret", "correct-horse-battery");
const ANN: [(&str, &str); 2] = [SECRET, ("x-remote-user", "ann")];
const BOB: [(&str, &str); 2] = [SECRET, ("x-remote-user", "bob")];

/// Two subjects, vouched for by a proxy, and sessions with these further settings.
fn start(settings: &str) -> Daemon {
    Daemon::start_with(&config(settings), keep_secret)
}

fn keep_secret(folder: &Path) {
    fs::write(folder.join("secret"), SECRET.1).unwrap();
}

fn config(settings: &str) -> String {
    format!(
        "[server]\nlisten = \"127.0.0.1:0\"\nsessions = true\n{settings}\n[identity]\nmode = \"proxy\"\n\
         header = \"x-remote-user\"\npeers = [\"127.0.0.1/32\"]\nshared_secret_file = \"secret\"\n\
         [policy]\nmode = \"allow-all\"\n[limits]\nmax_execution_time = \"30s\"\nmax_call_time = \"25s\"\n{}",
        faulty()
    )
}

fn hello() -> Value {
    json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": { "name": "t", "version": "1" } } })
}

fn ping() -> Value {
    json!({ "jsonrpc": "2.0", "id": 1, "method": "ping" })
}

fn cancelled(request: u32) -> Value {
    json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": request } })
}

fn send(daemon: &Daemon, message: &Value, headers: &[(&str, &str)]) -> (Head, String) {
    let mut wire = Wire::connect(daemon);
    wire.post(message, headers);
    wire.answer()
}

#[track_caller]
fn open(daemon: &Daemon, who: &[(&str, &str)]) -> String {
    let (head, body) = send(daemon, &hello(), who);
    assert_eq!(head.status, 200, "{body}");
    head.value("mcp-session-id").expect("a session").to_owned()
}

/// A subject's headers in a session.
fn within<'a>(who: [(&'a str, &'a str); 2], session: &'a str) -> [(&'a str, &'a str); 3] {
    let [secret, subject] = who;
    [secret, subject, ("mcp-session-id", session)]
}

/// Sends a run that would last, and waits until it is under way.
fn lasting(daemon: &Daemon, id: u32, note: &str, headers: &[(&str, &str)]) -> Wire {
    let mut wire = Wire::connect(daemon);
    wire.post(&execute(id, &format!("faulty.note(text = \"{note}\")\nfaulty.wait()")), headers);
    until("the run makes its call", || daemon.recorded(note));
    wire
}

// yantrikos/yantrikdb-mcp#28, homeassistant-ai/ha-mcp#495, last9/last9-mcp-server#174, mcp-use/mcp-use#153 and
// modelcontextprotocol/rust-sdk#733: sessions die with a restart or on another replica, and clients do not recover.
#[test]
fn without_the_setting_no_session_is_given_or_asked_for() {
    let daemon = Daemon::start(&allow_all(""));
    let (head, _) = send(&daemon, &hello(), &[]);
    assert_eq!((head.status, head.value("mcp-session-id")), (200, None));
    let (head, _) = send(&daemon, &ping(), &[("mcp-session-id", "of-another-replica")]);
    assert_eq!(head.status, 200);
    for method in ["GET", "DELETE"] {
        let mut wire = Wire::connect(&daemon);
        wire.request(method, &[("mcp-session-id", "x")], b"");
        let head = wire.head();
        assert_eq!((head.status, head.value("allow")), (405, Some("POST")), "{method}");
    }
}

#[test]
fn the_stateless_era_has_no_sessions_whatever_is_configured() {
    let daemon = start("");
    let list = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {} });
    let (message, headers) = stateless(list);
    let headers = [&borrowed(&headers)[..], &ANN, &[("mcp-session-id", "unknown")]].concat();
    let (head, body) = send(&daemon, &message, &headers);
    assert_eq!((head.status, head.value("mcp-session-id")), (200, None), "{body}");
    let mut wire = Wire::connect(&daemon);
    let session = open(&daemon, &ANN);
    let headers = [&within(ANN, &session)[..], &[("mcp-protocol-version", "2026-07-28")]].concat();
    wire.request("GET", &headers, b"");
    assert_eq!(wire.head().status, 405);
}

#[test]
fn a_handshake_that_fails_opens_none() {
    let daemon = start("");
    let mut broken = hello();
    broken["params"] = json!({});
    let (head, body) = send(&daemon, &broken, &ANN);
    assert!(body.contains("-32602"), "{body}");
    assert_eq!(head.value("mcp-session-id"), None);
}

// markmhendrickson/neotoma#1923: an unknown session answered with 503 is never replaced by the client.
#[test]
fn a_session_that_is_unknown_or_closed_or_somebody_elses_is_the_same_404() {
    let daemon = start("");
    let session = open(&daemon, &ANN);
    assert_eq!(send(&daemon, &ping(), &within(ANN, &session)).0.status, 200);
    let strangers = send(&daemon, &ping(), &within(BOB, &session));
    let unknown = send(&daemon, &ping(), &within(ANN, "unknown"));
    let twice = [&within(ANN, &session)[..], &[("mcp-session-id", &session)]].concat();
    let twice = send(&daemon, &ping(), &twice);
    let delete = |who| {
        let mut wire = Wire::connect(&daemon);
        wire.request("DELETE", &within(who, &session), b"");
        wire.answer()
    };
    assert_eq!(delete(BOB).0.status, 404);
    assert_eq!(send(&daemon, &ping(), &within(ANN, &session)).0.status, 200, "a stranger closes nothing");
    assert_eq!(delete(ANN).0.status, 204);
    let closed = send(&daemon, &ping(), &within(ANN, &session));
    for (head, body) in [&strangers, &unknown, &twice, &closed] {
        assert_eq!((head.status, body), (404, &unknown.1));
    }
    assert!(unknown.1.contains("initialize"), "{}", unknown.1);
}

// zereight/gitlab-mcp#697: a rate limit that comes first hides that the session is over, and the client never knows.
#[test]
fn a_session_that_is_over_is_told_even_to_whom_asks_too_often() {
    let daemon = Daemon::start_with(&(config("") + "[rates]\nrequests_per_minute = 2\n"), keep_secret);
    let session = open(&daemon, &ANN);
    assert_eq!(send(&daemon, &ping(), &within(ANN, &session)).0.status, 200);
    assert_eq!(send(&daemon, &ping(), &within(ANN, &session)).0.status, 429);
    assert_eq!(send(&daemon, &ping(), &within(ANN, "expired")).0.status, 404);
    assert_eq!(send(&daemon, &ping(), &[("mcp-session-id", "expired")]).0.status, 401, "but not to nobody");
}

// stacklok/toolhive#5306: a session that is tied to a token's bytes dies when the token is refreshed.
#[test]
fn a_session_outlives_the_token_that_it_was_opened_with() {
    let mint = || {
        let (_, out, _) = run(&["token", "new", "--subject", "ann"], Path::new("/"));
        let (token, line) = out.split_once('\n').unwrap();
        (format!("Bearer {token}"), line.to_owned())
    };
    let ((first, one), (second, other)) = (mint(), mint());
    let config = allow_all("")
        .replace("mode = \"static\"\nsubject = \"local\"", "mode = \"tokens\"\ntokens_file = \"tokens\"")
        .replace("[server]\n", "[server]\nsessions = true\n");
    let daemon = Daemon::start_with(&config, |folder| fs::write(folder.join("tokens"), one + "\n" + &other).unwrap());
    let session = open(&daemon, &[("authorization", &first)]);
    let refreshed = [("authorization", second.as_str()), ("mcp-session-id", &session)];
    assert_eq!(send(&daemon, &ping(), &refreshed).0.status, 200);
}

#[test]
fn a_session_ends_when_nothing_happens_in_it() {
    let daemon = start("session_timeout = \"300ms\"");
    let session = open(&daemon, &ANN);
    let mut wire = lasting(&daemon, 5, "begun", &within(ANN, &session));
    std::thread::sleep(Duration::from_millis(600));
    assert_eq!(send(&daemon, &ping(), &within(ANN, &session)).0.status, 200, "a run is going on in it");
    send(&daemon, &cancelled(5), &within(ANN, &session));
    wire.answer();
    std::thread::sleep(Duration::from_millis(600));
    assert_eq!(send(&daemon, &ping(), &within(ANN, &session)).0.status, 404);
}

#[test]
fn sessions_are_bounded_for_each_subject_and_for_all() {
    let daemon = start("max_sessions = 3\nmax_sessions_per_subject = 2");
    let first = open(&daemon, &ANN);
    let _listening = lasting(&daemon, 5, "begun", &within(ANN, &first));
    let second = open(&daemon, &ANN);
    let third = open(&daemon, &ANN);
    let status = |session: &str| send(&daemon, &ping(), &within(ANN, session)).0.status;
    assert_eq!([status(&first), status(&second), status(&third)], [200, 404, 200]);
    open(&daemon, &BOB);
    let (head, body) = send(&daemon, &hello(), &[SECRET, ("x-remote-user", "eve")]);
    assert_eq!(head.status, 503, "{body}");
    assert_eq!(send(&daemon, &ping(), &[SECRET, ("x-remote-user", "eve")]).0.status, 200, "she needs none");
}

#[test]
fn in_a_session_a_run_survives_its_listener() {
    let daemon = start("");
    let session = open(&daemon, &ANN);
    let mut wire = Wire::connect(&daemon);
    let body = "faulty.note(text = \"begun\")\nfaulty.sleep(milliseconds = 500)\nfaulty.note(text = \"ended\")";
    wire.post(&execute(5, body), &within(ANN, &session));
    until("the run makes its call", || daemon.recorded("begun"));
    drop(wire);
    until("the run goes on", || daemon.recorded("ended"));
    until("the run returns", || daemon.log().contains("run returned"));
}

#[test]
fn a_run_is_called_off_in_its_own_session_and_nowhere_else() {
    let daemon = start("");
    let (ann, also_ann, bob) = (open(&daemon, &ANN), open(&daemon, &ANN), open(&daemon, &BOB));
    let mut wire = lasting(&daemon, 5, "ann's", &within(ANN, &ann));
    let mut other = lasting(&daemon, 5, "bob's", &within(BOB, &bob));
    // Without a session, in another, for another request: accepted, and of no effect.
    for headers in [&ANN[..], &within(ANN, &also_ann), &within(ANN, &ann)] {
        let request = if headers.len() == 3 && headers[2].1 == ann { 6 } else { 5 };
        let (head, body) = send(&daemon, &cancelled(request), headers);
        assert_eq!((head.status, body.as_str()), (202, ""));
    }
    assert_eq!(send(&daemon, &ping(), &within(ANN, &ann)).0.status, 200);
    assert!(!daemon.log().contains("Cancelled"));
    assert_eq!(send(&daemon, &cancelled(5), &within(ANN, &ann)).0.status, 202);
    let (head, body) = wire.answer();
    assert_eq!((head.status, head.value("content-type")), (200, Some("text/event-stream")));
    assert!(!body.contains("data:"), "no answer to what was called off: {body}");
    until("the run has ended", || daemon.log().matches("Cancelled").count() == 1);
    assert_eq!(send(&daemon, &cancelled(5), &within(BOB, &bob)).0.status, 202);
    other.answer();
    until("the other has ended too", || daemon.log().matches("Cancelled").count() == 2);
}

#[test]
fn who_takes_no_streams_is_told_that_the_run_was_called_off() {
    let daemon = start("");
    let session = open(&daemon, &ANN);
    let headers = [&within(ANN, &session)[..], &[("accept", "application/json")]].concat();
    let mut wire = lasting(&daemon, 5, "begun", &headers);
    send(&daemon, &cancelled(5), &within(ANN, &session));
    assert_eq!(wire.messages()[0]["error"]["message"], "context canceled");
}

#[test]
fn closing_a_session_ends_what_goes_on_in_it() {
    let daemon = start("");
    let session = open(&daemon, &ANN);
    let mut listening = Wire::connect(&daemon);
    listening.request("GET", &within(ANN, &session), b"");
    assert_eq!(listening.head().status, 200);
    let mut wire = lasting(&daemon, 5, "begun", &within(ANN, &session));
    let mut closing = Wire::connect(&daemon);
    closing.request("DELETE", &within(ANN, &session), b"");
    assert_eq!(closing.head().status, 204);
    wire.answer();
    assert_eq!(listening.piece().as_deref(), Some(":\n\n"));
    assert_eq!(listening.piece(), None);
    until("the run has ended", || daemon.log().contains("Cancelled"));
}

#[test]
fn an_id_in_use_is_refused_within_its_session() {
    let daemon = start("");
    let session = open(&daemon, &ANN);
    let _wire = lasting(&daemon, 1, "begun", &within(ANN, &session));
    let (head, body) = send(&daemon, &ping(), &within(ANN, &session));
    assert!(head.status == 400 && body.contains("still being answered"), "{body}");
}

// modelcontextprotocol/typescript-sdk#2538: silent streams die after some minutes.
#[test]
fn whoever_listens_in_a_session_hears_a_comment_at_once_and_every_quarter_minute() {
    let daemon = start("idle_timeout = \"1s\"");
    let session = open(&daemon, &ANN);
    let listen = || {
        let mut wire = Wire::connect(&daemon);
        wire.request("GET", &within(ANN, &session), b"");
        let head = wire.head();
        assert_eq!((head.status, head.value("content-type")), (200, Some("text/event-stream")));
        assert_eq!(head.value("x-accel-buffering"), Some("no"));
        wire
    };
    let mut replaced = listen();
    assert_eq!(replaced.piece().as_deref(), Some(":\n\n"));
    let mut wire = listen();
    assert_eq!(replaced.piece(), None, "one listens at a time");
    assert_eq!(wire.piece().as_deref(), Some(":\n\n"));
    assert_eq!(wire.piece().as_deref(), Some(":\n\n"));
    let mut plain = Wire::connect(&daemon);
    plain.request("GET", &[&within(ANN, &session)[..], &[("accept", "application/json")]].concat(), b"");
    assert_eq!(plain.head().status, 406);
    let mut without = Wire::connect(&daemon);
    without.request("GET", &ANN, b"");
    assert_eq!(without.head().status, 400);
    daemon.terminate();
    assert_eq!(wire.piece(), None, "a daemon that stops lets go of its listeners");
}
