//! Tokens of an issuer: which count, and how often the issuer is asked for its keys.

use std::fs;
use std::process::Command;

use serde_json::{Value, json};

use super::door::{Reply, note, note_at, was_reached};
use super::issuer::{Key, KeyServer, message, now, sign_with_secret};
use crate::harness::{Daemon, executable, faulty, until};

pub(super) const ISSUER: &str = "https://id.example.com";
pub(super) const AUDIENCE: &str = "https://mcp.example.com/mcp";

/// Only members of `ops` may do anything.
pub(super) const POLICY: &str = "package p\n\ndefault allow := false\n\nallow if \"ops\" in input.subject.claims.groups\n\n\
allow if input.subject.claims.secret_claim\n";

pub(super) fn config(keys: &str, more: &str) -> String {
    format!(
        "[server]\nlisten = \"127.0.0.1:0\"\npublic_url = \"{AUDIENCE}\"\n\
         [rates]\nfailures_per_minute = 10000\n[identity]\nmode = \"jwt\"\nissuer = \"{ISSUER}\"\n{keys}\npolicy_claims = [\"groups\"]\n{more}\n\
         [policy]\nmode = \"rego\"\nmodules = [\"p.rego\"]\nexecute = \"data.p.allow\"\n{}",
        faulty()
    )
}

pub(super) fn start(server: &KeyServer, more: &str) -> Daemon {
    let keys = format!("jwks_url = \"{}\"", server.url);
    Daemon::start_with(&config(&keys, more), |folder| fs::write(folder.join("p.rego"), POLICY).unwrap())
}

/// The claims of a good token.
pub(super) fn claims() -> Value {
    json!({ "iss": ISSUER, "aud": AUDIENCE, "sub": "ann", "exp": now(600), "groups": ["ops"], "secret_claim": true })
}

/// The claims of a good token, with one changed; null takes it out.
pub(super) fn but(name: &str, value: Value) -> Value {
    let mut claims = claims();
    if value.is_null() {
        claims.as_object_mut().unwrap().remove(name);
    } else {
        claims[name] = value;
    }
    claims
}

pub(super) fn bearer(daemon: &Daemon, token: &str) -> Reply {
    note(daemon, &[&format!("authorization: Bearer {token}")])
}

#[track_caller]
pub(super) fn is_nobody(daemon: &Daemon, case: &str, reply: &Reply) {
    assert_eq!((reply.status, reply.body.as_str()), (401, "unauthenticated"), "{case}: {reply:?}");
    assert!(!was_reached(daemon), "{case}");
}

#[test]
fn a_token_of_the_issuer_counts_whatever_its_key() {
    let (rsa, ec, ed) = (Key::rsa(), Key::ec(), Key::ed());
    let mut pss = rsa.public("pss");
    pss["alg"] = json!("PS256");
    let server = KeyServer::start(&[rsa.public("rsa"), ec.public("ec"), ed.public("ed"), pss]);
    let daemon = start(&server, "");
    for (key, id, alg) in [(&rsa, "rsa", "RS256"), (&ec, "ec", "ES256"), (&ed, "ed", "EdDSA"), (&rsa, "pss", "PS256")] {
        let token = key.sign(&json!({ "alg": alg, "kid": id, "typ": "at+jwt" }), &claims());
        assert_eq!(bearer(&daemon, &token).text(), "{\"result\":\"ann\"}", "{alg}");
    }
    assert_eq!(server.asked(), 1);
}

#[test]
fn policy_sees_the_claims_that_it_may_see_and_no_others() {
    let key = Key::ec();
    let server = KeyServer::start(&[key.public("k")]);
    let daemon = start(&server, "");
    let token = key.sign(&json!({ "alg": "ES256", "kid": "k" }), &but("groups", json!(["dev"])));
    // The claim `secret_claim` would allow it.
    assert_eq!(bearer(&daemon, &token).text(), "permission denied");
}

#[test]
fn no_other_token_counts() {
    let (rsa, ec, other) = (Key::rsa(), Key::ec(), Key::ec());
    let (rsa_public, ec_public) = (rsa.public("rsa"), ec.public("ec"));
    let server = KeyServer::start(&[rsa_public.clone(), ec_public.clone()]);
    let daemon = start(&server, "leeway = \"1s\"\nsubject_claim = \"sub\"");
    let head = json!({ "alg": "ES256", "kid": "ec" });
    let good = ec.sign(&head, &claims());
    let es = |claims: &Value| ec.sign(&head, claims);
    let with = |name: &str, value: Value| {
        let mut head = head.clone();
        head[name] = value;
        other.sign(&head, &claims())
    };
    let modulus = rsa_public["n"].as_str().unwrap();
    let none = message(&json!({ "alg": "none", "kid": "ec" }), &claims());
    let none_without_key = message(&json!({ "alg": "none" }), &claims());
    let hs = json!({ "alg": "HS256", "kid": "rsa" });
    let tokens = [
        ("alg none", format!("{none}.")),
        ("alg none, no key", format!("{none_without_key}.")),
        ("alg none with a signature", format!("{none}.{}", good.rsplit_once('.').unwrap().1)),
        ("alg None", format!("{}.", message(&json!({ "alg": "None", "kid": "ec" }), &claims()))),
        ("key confusion: the modulus", sign_with_secret(modulus.as_bytes(), &hs, &claims())),
        ("key confusion: the key as JSON", sign_with_secret(rsa_public.to_string().as_bytes(), &hs, &claims())),
        ("key confusion: the key as PEM", sign_with_secret(&rsa.pem(), &hs, &claims())),
        ("key confusion: the key as DER", sign_with_secret(&rsa.der(), &hs, &claims())),
        ("key confusion: an empty secret", sign_with_secret(b"", &hs, &claims())),
        ("the key's other algorithm", rsa.sign(&json!({ "alg": "PS256", "kid": "rsa" }), &claims())),
        ("the other key's algorithm", rsa.sign(&json!({ "alg": "RS256", "kid": "ec" }), &claims())),
        ("no key named among two", ec.sign(&json!({ "alg": "ES256" }), &claims())),
        ("signed by somebody else", other.sign(&head, &claims())),
        ("its own key", with("jwk", other.public("ec"))),
        ("the address of its own key", with("jku", json!(server.url))),
        ("the address of its own certificate", with("x5u", json!("https://evil.example.com/"))),
        ("its own certificate", with("x5c", json!(["MIIB"]))),
        ("an extension", ec.sign(&json!({ "alg": "ES256", "kid": "ec", "crit": ["exp"] }), &claims())),
        ("another type", ec.sign(&json!({ "alg": "ES256", "kid": "ec", "typ": "logout+jwt" }), &claims())),
        ("expired", es(&but("exp", json!(now(-60))))),
        ("no expiry", es(&but("exp", Value::Null))),
        ("expiry as a text", es(&but("exp", json!("2099-01-01")))),
        ("not valid yet", es(&but("nbf", json!(now(60))))),
        ("valid from a text", es(&but("nbf", json!("2000-01-01")))),
        ("another audience", es(&but("aud", json!("https://other.example.com/mcp")))),
        ("the audience but for a slash", es(&but("aud", json!(format!("{AUDIENCE}/"))))),
        ("no audience", es(&but("aud", Value::Null))),
        ("an empty list of audiences", es(&but("aud", json!([])))),
        ("another issuer", es(&but("iss", json!("https://evil.example.com")))),
        ("a list of issuers", es(&but("iss", json!([ISSUER, "https://evil.example.com"])))),
        ("no issuer", es(&but("iss", Value::Null))),
        ("no subject", es(&but("sub", Value::Null))),
        ("an empty subject", es(&but("sub", json!("")))),
        ("a number as subject", es(&but("sub", json!(7)))),
        ("a subject over 256 bytes", es(&but("sub", json!("a".repeat(257))))),
        (
            "claims too deep",
            es(&but("deep", serde_json::from_str(&format!("{}{}", "[".repeat(20), "]".repeat(20))).unwrap())),
        ),
        ("a changed claim", good.replace('.', ".e").replacen(".e", ".", 1)),
        ("no signature", format!("{}.", good.rsplit_once('.').unwrap().0)),
        ("two parts", good.rsplit_once('.').unwrap().0.to_owned()),
        ("four parts", format!("{good}.{}", good.rsplit_once('.').unwrap().1)),
        ("no token", "x".to_owned()),
        ("a huge token", format!("{good}{}", "A".repeat(20_000))),
    ];
    for (case, token) in &tokens {
        let reply = bearer(&daemon, token);
        is_nobody(&daemon, case, &reply);
        let challenge = reply.header("www-authenticate").unwrap();
        assert!(challenge.starts_with("Bearer realm=\"codemoded\", error=\"invalid_token\", "), "{case}: {challenge}");
    }
    // What they were all made from counts.
    assert_eq!(bearer(&daemon, &good).text(), "{\"result\":\"ann\"}");
    assert!(was_reached(&daemon));
}

#[test]
fn a_credential_comes_once_and_in_its_place() {
    let key = Key::ec();
    let server = KeyServer::start(&[key.public("k")]);
    let daemon = start(&server, "");
    let good = key.sign(&json!({ "alg": "ES256", "kid": "k" }), &claims());
    let line = format!("authorization: Bearer {good}");
    let tables: [(&str, &[&str]); 11] = [
        ("nothing", &[]),
        ("twice", &[&line, &line]),
        ("a second copy in other case", &[&line, &format!("AUTHORIZATION: Bearer {good}")]),
        ("another one first", &["authorization: Bearer x", &line]),
        ("joined by a comma", &[&format!("{line}, Bearer {good}")]),
        ("joined by a comma to nothing", &[&format!("{line},")]),
        ("two tokens", &[&format!("{line} {good}")]),
        ("another scheme", &[&format!("authorization: Basic {good}")]),
        ("no scheme", &[&format!("authorization: {good}")]),
        ("an underscore", &[&format!("author_ization: Bearer {good}"), &format!("x_authorization: Bearer {good}")]),
        (
            "other headers",
            &[
                &format!("x-forwarded-authorization: Bearer {good}"),
                "x-remote-user: ann",
                &format!("cookie: access_token={good}"),
            ],
        ),
    ];
    for (case, headers) in tables {
        is_nobody(&daemon, case, &note(&daemon, headers));
    }
    is_nobody(&daemon, "in the query", &note_at(&daemon, &format!("/mcp?access_token={good}"), &[]));
    assert_eq!(note(&daemon, &[&format!("Authorization: bearer {good}")]).text(), "{\"result\":\"ann\"}");
}

#[test]
fn a_thousand_unknown_keys_ask_the_issuer_once_more() {
    let key = Key::ec();
    let server = KeyServer::start(&[key.public("k")]);
    let daemon = start(&server, "");
    for number in 0..1_000 {
        let token = key.sign(&json!({ "alg": "ES256", "kid": format!("k{number}") }), &claims());
        is_nobody(&daemon, "an unknown key", &bearer(&daemon, &token));
    }
    assert_eq!(server.asked(), 2, "once at the start and once for all of them");
    let token = key.sign(&json!({ "alg": "ES256", "kid": "k" }), &claims());
    assert_eq!(bearer(&daemon, &token).status, 200);
}

#[test]
fn a_new_key_counts_at_once_and_a_withdrawn_one_no_longer() {
    let (old, new) = (Key::ec(), Key::ec());
    let server = KeyServer::start(&[old.public("old")]);
    let daemon = start(&server, "");
    let of_old = old.sign(&json!({ "alg": "ES256", "kid": "old" }), &claims());
    let of_new = new.sign(&json!({ "alg": "ES256", "kid": "new" }), &claims());
    assert_eq!(bearer(&daemon, &of_old).status, 200);
    server.replace(&[new.public("new")]);
    assert_eq!(bearer(&daemon, &of_new).status, 200);
    fs::remove_file(daemon.folder.path().join("calls.jsonl")).unwrap();
    is_nobody(&daemon, "a withdrawn key", &bearer(&daemon, &of_old));
}

#[test]
fn old_keys_serve_while_the_issuer_is_away_until_they_are_too_old() {
    let key = Key::ec();
    let server = KeyServer::start(&[key.public("k")]);
    let daemon = start(&server, "jwks_max_age = \"3s\"");
    let known = key.sign(&json!({ "alg": "ES256", "kid": "k" }), &claims());
    server.fail();
    let unknown = key.sign(&json!({ "alg": "ES256", "kid": "x" }), &claims());
    assert_eq!(bearer(&daemon, &unknown).status, 401);
    assert_eq!(bearer(&daemon, &known).status, 200);
    until("the keys are too old", || {
        let reply = bearer(&daemon, &known);
        assert!([200, 503].contains(&reply.status), "{reply:?}");
        reply.status == 503
    });
    let reply = bearer(&daemon, &known);
    assert_eq!(reply.json()["error"]["message"], "internal failure");
    assert!(reply.header("retry-after").is_some());
}

#[test]
fn keys_come_from_nowhere_but_their_address() {
    let key = Key::ec();
    let elsewhere = KeyServer::start(&[key.public("k")]);
    let redirect = format!("HTTP/1.1 302 Found\r\nlocation: {}\r\ncontent-length: 0\r\n\r\n", elsewhere.url);
    let padded = format!("{}{}", json!({ "keys": [key.public("k")] }), " ".repeat(1 << 20));
    let huge = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{padded}", padded.len());
    for (case, answer) in [("a redirect", redirect), ("over a mebibyte", huge), ("nonsense", "x".to_owned())] {
        let server = KeyServer::with_answer(&answer);
        let daemon = start(&server, "");
        let token = key.sign(&json!({ "alg": "ES256", "kid": "k" }), &claims());
        assert_eq!(bearer(&daemon, &token).status, 503, "{case}");
        assert!(!was_reached(&daemon) && server.asked() == 2, "{case}");
    }
    assert_eq!(elsewhere.asked(), 0);
}

#[test]
fn an_address_of_keys_is_believed_by_its_certificate() {
    let key = Key::ec();
    let server = KeyServer::with_tls(&[key.public("k")]);
    let token = key.sign(&json!({ "alg": "ES256", "kid": "k" }), &claims());
    let start = |trust: &str| {
        let config = config(&format!("jwks_url = \"{}\"", server.url), "");
        let authority = format!("{}/../tests/identity/tls/{trust}", env!("CARGO_MANIFEST_DIR"));
        let prepare = |folder: &std::path::Path| fs::write(folder.join("p.rego"), POLICY).unwrap();
        Daemon::start_by(Command::new(executable()), &config, prepare, |command| {
            command.env("SSL_CERT_FILE", authority);
        })
    };
    assert_eq!(bearer(&start("ca.pem"), &token).status, 200);
    assert_eq!(bearer(&start("none.pem"), &token).status, 503);
}

#[test]
fn keys_come_from_a_file_too() {
    let (key, new) = (Key::ec(), Key::ed());
    let set = |keys: &[Value]| json!({ "keys": keys }).to_string();
    let daemon = Daemon::start_with(&config("jwks_file = \"keys.json\"", ""), |folder| {
        fs::write(folder.join("p.rego"), POLICY).unwrap();
        fs::write(
            folder.join("keys.json"),
            set(&[key.public("k"), json!({ "kty": "oct", "kid": "s", "k": "c2VjcmV0" })]),
        )
        .unwrap();
    });
    let token = key.sign(&json!({ "alg": "ES256", "kid": "k" }), &claims());
    assert_eq!(bearer(&daemon, &token).status, 200);
    let shared = sign_with_secret(b"secret", &json!({ "alg": "HS256", "kid": "s" }), &claims());
    assert_eq!(bearer(&daemon, &shared).status, 401);
    fs::write(daemon.folder.path().join("keys.json"), set(&[new.public("n")])).unwrap();
    let token = new.sign(&json!({ "alg": "EdDSA", "kid": "n" }), &claims());
    // The unknown shared secret has had the file read, and it is not read for each unknown key.
    assert_eq!(bearer(&daemon, &token).status, 401);
}
