//! A plugin that says who is calling: what it says counts, and nothing that goes wrong in it lets anybody in.

use std::fs;

use super::door::{note, was_reached};
use crate::harness::{Daemon, faulty, records, run};

fn config(plugin: &str, rest: &str) -> String {
    format!(
        "[server]\nlisten = \"127.0.0.1:0\"\n[identity]\nmode = \"plugin\"\nplugin = \"{plugin}\"\n\
         [limits]\nmax_call_time = \"500ms\"\n\
         [policy]\nmode = \"rego\"\nmodules = [\"p.rego\"]\nexecute = \"data.p.allow\"\n{rest}"
    )
}

fn start() -> Daemon {
    let policy = "package p\n\ndefault allow := false\n\nallow if \"ops\" in input.subject.claims.groups\n";
    Daemon::start_with(&config("faulty", &faulty()), |folder| fs::write(folder.join("p.rego"), policy).unwrap())
}

#[test]
fn a_plugin_names_the_subject_and_its_claims() {
    let daemon = start();
    assert_eq!(note(&daemon, &["authorization: Bearer ann"]).text(), "{\"result\":\"ann\"}");
    let twice = note(&daemon, &["authorization: Bearer ann", "authorization: Bearer bob"]);
    assert_eq!(twice.status, 401);
}

#[test]
fn what_goes_wrong_in_a_plugin_lets_nobody_in() {
    let daemon = start();
    let reply = note(&daemon, &[]);
    assert_eq!((reply.status, reply.body.as_str()), (401, "unauthenticated"));
    assert_eq!(reply.header("www-authenticate"), Some("Bearer realm=\"codemoded\""));
    let reply = note(&daemon, &["authorization: Bearer refuse"]);
    assert_eq!((reply.status, reply.body.as_str()), (401, "unauthenticated"));
    for fault in ["fail", "panic", "hang", "nobody", "huge", "list", "deep"] {
        let reply = note(&daemon, &[&format!("authorization: Bearer {fault}")]);
        assert_eq!(reply.status, 503, "{fault}: {reply:?}");
        assert_eq!(reply.json()["error"]["message"], "internal failure", "{fault}");
    }
    assert!(!was_reached(&daemon));
    assert_eq!(note(&daemon, &["authorization: Bearer ann"]).status, 200);
}

#[test]
fn a_plugin_that_cannot_say_who_is_calling_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("p.rego"), "package p\n\nallow := true\n").unwrap();
    let table = [("records", "is no authenticator"), ("nobody", "no plugin instance has the name `nobody`")];
    for (plugin, fault) in table {
        fs::write(folder.path().join("codemode.toml"), config(plugin, &records())).unwrap();
        let (code, _, err) = run(&["--config", "codemode.toml"], folder.path());
        assert_eq!(code, 78, "{err}");
        assert!(err.contains(fault), "{err}");
    }
}
