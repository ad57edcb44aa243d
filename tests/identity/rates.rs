//! How often a subject may ask and an address may fail, and that neither keeps others out.

use std::fs;

use super::door::search;
use crate::harness::{Daemon, allow_all, run};

const SECRET: &str = "x-codemode-secret: correct-horse-battery-staple-1234";

/// A daemon behind a proxy on this machine.
fn behind_proxy(rates: &str) -> Daemon {
    let identity = "mode = \"proxy\"\nheader = \"x-user\"\npeers = [\"127.0.0.1/32\"]\nshared_secret_file = \"secret\"";
    let config = allow_all(&format!("[rates]\n{rates}\n")).replace("mode = \"static\"\nsubject = \"local\"", identity);
    Daemon::start_with(&config, |folder| {
        fs::write(folder.join("secret"), "correct-horse-battery-staple-1234").unwrap();
    })
}

/// A daemon with one token, `cm_…`.
fn with_token(server: &str, rates: &str) -> (Daemon, String) {
    let (_, out, _) = run(&["token", "new", "--subject", "ann"], std::path::Path::new("/"));
    let (token, line) = out.split_once('\n').unwrap();
    let config = allow_all(&format!("[rates]\n{rates}\n"))
        .replace("mode = \"static\"\nsubject = \"local\"", "mode = \"tokens\"\ntokens_file = \"tokens\"")
        .replace("[server]\n", &format!("[server]\n{server}\n"));
    let daemon = Daemon::start_with(&config, |folder| fs::write(folder.join("tokens"), line).unwrap());
    (daemon, format!("authorization: Bearer {token}"))
}

#[test]
fn a_subject_that_asks_too_often_is_told_when_to_come_back() {
    let daemon = behind_proxy("requests_per_minute = 3");
    for _ in 0..3 {
        assert_eq!(search(&daemon, &[SECRET, "x-user: ann"]).status, 200);
    }
    let reply = search(&daemon, &[SECRET, "x-user: ann"]);
    assert_eq!(reply.status, 429, "{reply:?}");
    let error = &reply.json()["error"];
    assert_eq!(error["message"], "too many requests: come back after `Retry-After`");
    let wait: u64 = reply.header("retry-after").unwrap().parse().unwrap();
    assert!((1..=21).contains(&wait), "{wait}");
    assert_eq!(search(&daemon, &[SECRET, "x-user: bob"]).status, 200);
}

#[test]
fn failures_are_counted_and_a_good_credential_passes_all_the_same() {
    let (daemon, good) = with_token("", "failures_per_minute = 3");
    for _ in 0..3 {
        assert_eq!(search(&daemon, &["authorization: Bearer x"]).status, 401);
    }
    let reply = search(&daemon, &["authorization: Bearer x"]);
    assert_eq!(reply.status, 429);
    assert!(reply.header("retry-after").is_some());
    // Who has none yet is told to get one.
    assert_eq!(search(&daemon, &[]).status, 401);
    assert_eq!(search(&daemon, &[&good]).status, 200);
}

#[test]
fn behind_a_proxy_each_client_has_failures_of_its_own() {
    let (daemon, _) = with_token("trusted_proxies = [\"127.0.0.1/32\", \"10.0.0.0/8\"]", "failures_per_minute = 1");
    let from = |forwarded: &str| {
        search(&daemon, &["authorization: Bearer x", &format!("x-forwarded-for: {forwarded}")]).status
    };
    assert_eq!((from("192.0.2.1"), from("192.0.2.1")), (401, 429));
    assert_eq!(from("192.0.2.2"), 401, "another client");
    assert_eq!(from("192.0.2.3, 192.0.2.2"), 429, "what the client wrote itself counts for nothing");
    assert_eq!(from("192.0.2.2, 10.1.1.1"), 429, "listed proxies are no clients");
    assert_eq!((from("2001:db8::1"), from("2001:db8::2")), (401, 429), "one network of IPv6");
}

#[test]
fn a_stranger_cannot_pass_for_many() {
    let (daemon, _) = with_token("", "failures_per_minute = 1");
    let from = |forwarded: &str| {
        search(&daemon, &["authorization: Bearer x", &format!("x-forwarded-for: {forwarded}")]).status
    };
    assert_eq!((from("192.0.2.1"), from("192.0.2.2")), (401, 429));
}
