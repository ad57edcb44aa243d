//! Hosts, origins, methods, paths and headers.

use super::{PING, Row, check, start, start_with_names, with};
use crate::harness::{Daemon, SECRET, by_header};
use crate::wire::{Wire, request};

const REFUSED: Option<i64> = Some(-32600);

// modelcontextprotocol/rust-sdk#764 and GHSA-89vp-x53w-74fx: without a check of hosts, a page that rebinds its name
// could call local tools. genomoncology/biomcp#240: with one that cannot be set, a proxied server blocks everybody.
#[test]
fn hosts() {
    let daemon = start_with_names();
    let port = daemon.address().rsplit(':').next().unwrap();
    let host =
        |what, value: &str, status| with(what, &daemon, &[("host", value)], status, (status == 403).then_some(-32600));
    let mut rows = vec![
        host("own address", daemon.address(), 200),
        host("own name", &format!("localhost:{port}"), 200),
        host("own name in capitals", &format!("LOCALHOST:{port}"), 200),
        host("own address without its port", "127.0.0.1", 403),
        host("own address on another port", "127.0.0.1:1", 403),
        host("another loopback address", &format!("[::1]:{port}"), 403),
        host("unspecified address", &format!("0.0.0.0:{port}"), 403),
        host("rebound name", "evil.example.com", 403),
        host("rebound name on the port", &format!("evil.example.com:{port}"), 403),
        host("name that begins like an own one", &format!("localhost.evil.example.com:{port}"), 403),
        host("own name behind a user", &format!("evil@localhost:{port}"), 403),
        host("public name", "mcp.example.com", 200),
        host("public name with its port", "mcp.example.com:443", 200),
        host("public name on another port", "mcp.example.com:444", 403),
        host("allowed name", "mcp.internal", 200),
        host("allowed name on any port", "mcp.internal:9999", 200),
        host("allowed name on its port", "gate.internal:8443", 200),
        host("allowed name without its port", "gate.internal", 403),
        host("two names in one", "mcp.internal, mcp.internal", 403),
        host("nonsense", "a b", 403),
        host("none", "", 403),
        with("two hosts", &daemon, &[("host", daemon.address()), ("Host", daemon.address())], 403, REFUSED),
        with(
            "forwarded host",
            &daemon,
            &[("host", "evil.example.com"), ("x-forwarded-host", "mcp.internal")],
            403,
            REFUSED,
        ),
    ];
    let target = |what, target: &str, status| Row {
        what,
        bytes: with_target(&daemon, target),
        status,
        code: (status == 403).then_some(-32600),
    };
    rows.push(target("absolute target", &format!("http://{}/mcp", daemon.address()), 200));
    rows.push(target("absolute target elsewhere", "http://evil.example.com/mcp", 403));
    check(&daemon, rows);
}

fn with_target(daemon: &Daemon, target: &str) -> Vec<u8> {
    let text = String::from_utf8(request("POST", daemon.address(), &[], PING.as_bytes())).unwrap();
    text.replacen("/mcp", target, 1).into_bytes()
}

#[test]
fn origins() {
    let daemon = start_with_names();
    let own = format!("http://{}", daemon.address());
    let origin = |what, value: &str, status| {
        with(what, &daemon, &[("origin", value)], status, (status == 403).then_some(-32600))
    };
    let rows = vec![
        origin("none", "", 200),
        origin("own", &own, 200),
        origin("own by name", &own.replace("127.0.0.1", "localhost"), 200),
        origin("own on another port", "http://127.0.0.1:1", 403),
        origin("own with another scheme", &own.replace("http", "https"), 403),
        origin("public", "https://mcp.example.com", 200),
        origin("public with another scheme", "http://mcp.example.com", 403),
        origin("trusted", "https://console.example.com", 200),
        origin("trusted with its port", "https://console.example.com:443", 200),
        origin("trusted in capitals", "HTTPS://CONSOLE.example.com", 200),
        origin("trusted on another port", "https://console.example.com:444", 403),
        origin("trusted with a tail", "https://console.example.com.evil.example.com", 403),
        origin("foreign", "https://evil.example.com", 403),
        origin("opaque", "null", 403),
        origin("nonsense", "console.example.com", 403),
        origin("two in one", "https://console.example.com https://evil.example.com", 403),
        with("two origins", &daemon, &[("origin", &own), ("Origin", "https://evil.example.com")], 403, REFUSED),
        with(
            "host taken for origin",
            &daemon,
            &[("host", "evil.example.com"), ("origin", "http://evil.example.com")],
            403,
            REFUSED,
        ),
    ];
    check(&daemon, rows);
}

// zereight/gitlab-mcp#555 and fiberplane/mcp-lite#98: hosts and origins come before everything else, and the refusal is
// a JSON-RPC error.
#[test]
fn a_foreign_origin_is_refused_before_anything_else_is_looked_at() {
    let daemon = start();
    let evil = [("origin", "https://evil.example.com"), ("content-type", "text/plain"), ("accept", "text/html")];
    let rows = ["POST", "GET", "DELETE", "OPTIONS", "BREW"].map(|method| Row {
        what: method,
        bytes: request(method, daemon.address(), &evil, b"{"),
        status: 403,
        code: REFUSED,
    });
    check(&daemon, rows.into());
}

/// The same where callers are told apart and have asked all that they may; the answer names what to set.
#[test]
fn a_foreign_host_or_origin_is_refused_before_identity_and_rates() {
    let daemon = by_header("[rates]\nrequests_per_minute = 1\nfailures_per_minute = 1\n");
    let ask = |secret: &str, more: &[(&str, &str)]| {
        let mut wire = Wire::connect(&daemon);
        wire.request("POST", &[&[("x-user", "ann"), ("x-codemode-secret", secret)], more].concat(), PING.as_bytes());
        let (head, body) = wire.answer();
        (head.status, body)
    };
    let (good, bad) = (SECRET, "a guess of 16 letters");
    assert_eq!([ask(good, &[]).0, ask(bad, &[]).0], [200, 401]);
    assert_eq!([ask(good, &[]).0, ask(bad, &[]).0], [429, 429]);
    for (foreign, setting) in [
        (("host", "evil.example.com"), "`server.allowed_hosts`"),
        (("origin", "https://evil.example.com"), "`server.trusted_origins`"),
    ] {
        for secret in [good, bad] {
            let (status, body) = ask(secret, &[foreign]);
            assert!(status == 403 && body.contains(setting), "{foreign:?}: {status} {body}");
        }
    }
}

#[test]
fn methods_and_paths() {
    let daemon = start();
    let mut rows: Vec<Row> = ["GET", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "BREW", "post"]
        .map(|method| Row {
            what: method,
            bytes: request(method, daemon.address(), &[], b""),
            status: 405,
            code: REFUSED,
        })
        .into();
    for (target, status) in [
        ("/", 404),
        ("/mcp/", 404),
        ("/MCP", 404),
        ("//mcp", 404),
        ("/%6dcp", 404),
        ("/x/../mcp", 404),
        ("/mcp?a=b", 200),
    ] {
        rows.push(Row {
            what: target,
            bytes: with_target(&daemon, target),
            status,
            code: (status == 404).then_some(-32600),
        });
    }
    check(&daemon, rows);
}

#[test]
fn headers() {
    let daemon = start();
    let header = |what, name: &str, value: &str, status| {
        with(what, &daemon, &[(name, value)], status, (status != 200).then_some(-32600))
    };
    let rows = vec![
        header("json with a charset", "content-type", "application/json; charset=utf-8", 200),
        header("json in capitals", "content-type", "Application/JSON", 200),
        header("text", "content-type", "text/plain", 415),
        header("form", "content-type", "application/x-www-form-urlencoded", 415),
        header("no type", "content-type", "", 415),
        header("packed", "content-encoding", "gzip", 415),
        header("anything goes", "accept", "*/*", 200),
        header("json goes", "accept", "application/json", 200),
        header("no word of what goes", "accept", "", 200),
        header("streams only", "accept", "text/event-stream", 406),
        header("pages only", "accept", "text/html", 406),
        header("anything but json", "accept", "text/event-stream, application/json;q=0", 406),
        header("first revision", "mcp-protocol-version", "2025-03-26", 200),
        header("no revision", "mcp-protocol-version", "", 200),
        header("unknown revision", "mcp-protocol-version", "2999-01-01", 400),
        header("no revision at all", "mcp-protocol-version", "latest", 400),
        header("session of elsewhere", "mcp-session-id", "0123456789", 200),
        header("event of elsewhere", "last-event-id", "7", 200),
        with(
            "two types",
            &daemon,
            &[("content-type", "application/json"), ("Content-Type", "text/plain")],
            415,
            REFUSED,
        ),
        with(
            "two revisions",
            &daemon,
            &[("mcp-protocol-version", "2025-11-25"), ("Mcp-Protocol-Version", "2025-11-25")],
            400,
            REFUSED,
        ),
    ];
    check(&daemon, rows);
}
