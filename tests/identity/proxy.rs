//! What a reverse proxy says counts once, whole, and with its proof.

use std::fs;

use super::door::{Reply, note, was_reached};
use crate::harness::{Daemon, allow_all, faulty};

const SECRET: &str = "x-codemode-secret: correct-horse-battery-staple-1234";
const ANN: &str = "x-user: ann";

fn start(peers: &str) -> Daemon {
    let identity = format!(
        "mode = \"proxy\"\nheader = \"x-user\"\ngroups_header = \"x-groups\"\npeers = [{peers}]\n\
         shared_secret_file = \"secret\""
    );
    let config = allow_all(&faulty()).replace("mode = \"static\"\nsubject = \"local\"", &identity);
    Daemon::start_with(&config, |folder| {
        fs::write(folder.join("secret"), "correct-horse-battery-staple-1234\n").unwrap();
    })
}

#[track_caller]
fn is_nobody(daemon: &Daemon, case: &str, reply: &Reply) {
    assert_eq!((reply.status, reply.body.as_str()), (401, "unauthenticated"), "{case}: {reply:?}");
    assert_eq!(reply.header("www-authenticate"), Some("Bearer realm=\"codemoded\""), "{case}");
    assert!(!was_reached(daemon), "{case}");
}

#[test]
fn a_subject_counts_once_and_whole_and_with_the_secret() {
    let daemon = start("\"127.0.0.1/32\"");
    let long = format!("x-user: {}", "a".repeat(257));
    let cases: [(&str, &[&str]); 22] = [
        ("nothing", &[]),
        ("no subject", &[SECRET]),
        ("no secret", &[ANN]),
        ("an empty secret", &[ANN, "x-codemode-secret:"]),
        ("a wrong secret", &[ANN, "x-codemode-secret: correct-horse-battery-staple-1235"]),
        ("a secret with more", &[ANN, "x-codemode-secret: correct-horse-battery-staple-12345"]),
        ("the secret twice", &[ANN, SECRET, SECRET]),
        ("the secret twice, in other case", &[ANN, SECRET, "X-Codemode-Secret: correct-horse-battery-staple-1234"]),
        ("the secret in the wrong place", &[ANN, "authorization: Bearer correct-horse-battery-staple-1234"]),
        ("a subject twice", &[SECRET, ANN, ANN]),
        ("another one first", &[SECRET, "x-user: bob", ANN]),
        ("a second copy in other case", &[SECRET, ANN, "X-USER: root"]),
        ("joined by a comma", &[SECRET, "x-user: ann,root"]),
        ("joined to nothing", &[SECRET, "x-user: ann,"]),
        ("an empty subject", &[SECRET, "x-user:"]),
        ("white space", &[SECRET, "x-user:   "]),
        ("257 bytes", &[SECRET, &long]),
        ("a tab inside", &[SECRET, "x-user: an\tn"]),
        ("a control character of Unicode", &[SECRET, "x-user: an\u{85}n"]),
        ("an underscore", &[SECRET, "x_user: ann"]),
        ("groups twice", &[SECRET, ANN, "x-groups: ops", "X-Groups: admin"]),
        ("groups with a tab", &[SECRET, ANN, "x-groups: ops\tadmin"]),
    ];
    for (case, headers) in cases {
        is_nobody(&daemon, case, &note(&daemon, headers));
    }
    let reply = note(&daemon, &[SECRET, ANN, "x_user: root", "x-remote-user: root", "x-forwarded-user: root"]);
    assert_eq!(reply.text(), "{\"result\":\"ann\"}");
}

#[test]
fn a_stranger_is_nobody_whatever_it_knows() {
    let daemon = start("\"10.0.0.1/32\", \"127.0.0.2/32\", \"uid:0\"");
    let forged = ["x-forwarded-for: 10.0.0.1", "forwarded: for=10.0.0.1", "x-real-ip: 10.0.0.1"];
    is_nobody(&daemon, "a stranger", &note(&daemon, &[&[SECRET, ANN], &forged[..]].concat()));
}
