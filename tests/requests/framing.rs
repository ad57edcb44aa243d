//! Where a request ends: lengths, chunks, and requests sent all at once.

use super::{PING, Row, check, start};
use crate::harness::Daemon;
use crate::wire::{Wire, request};

/// An ordinary ping with these lines in the place of the one that tells its length, and this for its body.
fn framed(daemon: &Daemon, lines: &str, body: &str) -> Vec<u8> {
    let bytes = request("POST", daemon.address(), &[("content-length", "")], b"");
    let head = String::from_utf8(bytes).unwrap();
    format!("{}{lines}\r\n{body}", head.strip_suffix("\r\n").unwrap()).into_bytes()
}

fn chunked(pieces: &[&str]) -> String {
    let chunks: Vec<_> = pieces.iter().map(|piece| format!("{:x}\r\n{piece}\r\n", piece.len())).collect();
    chunks.concat() + "0\r\n\r\n"
}

#[test]
fn lengths_and_chunks() {
    let daemon = start();
    let row =
        |what, lines: &str, body: &str, status, code| Row { what, bytes: framed(&daemon, lines, body), status, code };
    let length = PING.len();
    let (front, back) = PING.split_at(9);
    let letters: Vec<String> = PING.chars().map(String::from).collect();
    let letters: Vec<&str> = letters.iter().map(String::as_str).collect();
    let large = "x".repeat(70_000);
    let rows = vec![
        row("a length", &format!("content-length: {length}\r\n"), PING, 200, None),
        row("a length with zeros before it", &format!("content-length: 00{length}\r\n"), PING, 200, None),
        row("no length", "", "", 400, Some(-32700)),
        row("a length that is negative", "content-length: -1\r\n", PING, 400, None),
        row("a length that is none", "content-length: many\r\n", PING, 400, None),
        row("two lengths", &format!("content-length: {length}\r\ncontent-length: 1\r\n"), PING, 400, None),
        row("a length that is too large", "content-length: 99999999\r\n", "", 413, Some(-32600)),
        row("a length beyond all numbers", "content-length: 99999999999999999999999\r\n", "", 400, None),
        row("chunks", "transfer-encoding: chunked\r\n", &chunked(&[front, back]), 200, None),
        row("a chunk for each letter", "transfer-encoding: chunked\r\n", &chunked(&letters), 200, None),
        row(
            "chunks with extensions",
            "transfer-encoding: chunked\r\n",
            &format!("{length:x};a=b\r\n{PING}\r\n0\r\n\r\n"),
            200,
            None,
        ),
        row(
            "chunks and a trailer",
            "transfer-encoding: chunked\r\n",
            &format!("{length:x}\r\n{PING}\r\n0\r\nx: y\r\n\r\n"),
            200,
            None,
        ),
        row("no chunk", "transfer-encoding: chunked\r\n", "0\r\n\r\n", 400, Some(-32700)),
        row("a chunk of no size", "transfer-encoding: chunked\r\n", "zz\r\n{}\r\n0\r\n\r\n", 400, Some(-32600)),
        row(
            "chunks that are too large together",
            "transfer-encoding: chunked\r\n",
            &chunked(&[&large]),
            413,
            Some(-32600),
        ),
        row("another encoding", "transfer-encoding: gzip\r\n", PING, 400, None),
        row("chunks that are not last", "transfer-encoding: chunked, gzip\r\n", PING, 400, None),
        row("a field over two lines", "x-a: b\r\n c\r\n", "", 400, None),
        row("a field with a space in its name", "x a: b\r\n", "", 400, None),
        row("a field without a name", ": b\r\n", "", 400, None),
        row("a field that holds a zero", "x-a: b\0c\r\n", "", 400, None),
        row("too many fields", &"x-a: b\r\n".repeat(150), "", 431, None),
        row("too long a field", &format!("x-a: {}\r\n", "b".repeat(1 << 20)), "", 431, None),
        row("a promise to go on", &format!("content-length: {length}\r\nexpect: 100-continue\r\n"), PING, 100, None),
    ];
    check(&daemon, rows);
}

/// Whoever reads another length than a proxy before it can be made to take one caller's bytes for another's request.
#[test]
fn two_ways_to_tell_the_length_end_the_connection() {
    let daemon = start();
    let hidden = request("DELETE", daemon.address(), &[], b"");
    let lines = format!("content-length: {}\r\ntransfer-encoding: chunked\r\n", PING.len());
    let mut wire = Wire::connect(&daemon);
    wire.send([framed(&daemon, &lines, &chunked(&[PING])), hidden].concat());
    let (head, body) = wire.answer();
    assert!(head.status == 400 || head.value("connection") == Some("close"), "{head:?} {body}");
}

#[test]
fn what_is_no_http_is_no_request() {
    let daemon = start();
    for bytes in [
        &b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"[..],
        b"GET\r\n\r\n",
        b"\0\0\0\0\r\n\r\n",
        b"SSH-2.0-x\r\n\r\n",
    ] {
        let mut wire = Wire::connect(&daemon);
        wire.send(bytes);
        wire.send(b"\r\n\r\n");
        assert_eq!(wire.head().status, 400);
    }
}

#[test]
fn requests_sent_at_once_are_answered_in_order() {
    let daemon = start();
    let numbered = |id: u32| {
        let body = PING.replace("\"id\":1", &format!("\"id\":{id}"));
        request("POST", daemon.address(), &[], body.as_bytes())
    };
    let mut wire = Wire::connect(&daemon);
    wire.send((1..=20).flat_map(numbered).collect::<Vec<u8>>());
    for id in 1..=20 {
        assert_eq!(wire.messages()[0]["id"], id);
    }
}

#[test]
fn a_body_that_breaks_off_is_no_request() {
    let daemon = start();
    let mut wire = Wire::connect(&daemon);
    wire.send(framed(&daemon, "content-length: 500\r\n", PING));
    wire.finish();
    // There may be nobody left to answer.
    let status = wire.status();
    assert!(matches!(status, None | Some(400)), "{status:?}");
    let mut wire = Wire::connect(&daemon);
    wire.request("POST", &[], PING.as_bytes());
    assert_eq!(wire.head().status, 200);
}
