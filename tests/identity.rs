//! Who calls is what the proxy says, and what it says counts only with its proof.

mod canary;
pub(crate) mod door;
mod issuer;
mod jwt;
mod metadata;
mod plugin;
mod proxy;
mod rates;
mod sockets;
mod times;
mod tokens;

use std::fs;

use serde_json::json;

use crate::harness::{Daemon, program, records};

const POLICY: &str = "package p\n\ndefault allow := false\n\nallow if input.subject.id == \"ann\"\n\n\
allow if input.capability.hints.read_only\n";

fn start(peers: &str) -> Daemon {
    let config = format!(
        "[server]\nlisten = \"127.0.0.1:0\"\n[identity]\nmode = \"proxy\"\nheader = \"x-remote-user\"\n\
         peers = [{peers}]\nshared_secret_file = \"secret\"\n[policy]\nmode = \"rego\"\nmodules = [\"p.rego\"]\n\
         execute = \"data.p.allow\"\n{}",
        records()
    );
    Daemon::start_with(&config, |folder| {
        fs::write(folder.join("secret"), "correct-horse-battery").unwrap();
        fs::write(folder.join("p.rego"), POLICY).unwrap();
    })
}

const SECRET: (&str, &str) = ("x-codemode-secret", "correct-horse-battery");

#[test]
fn two_subjects_see_what_their_rights_allow() {
    let daemon = start("\"127.0.0.1/32\"");
    let put = json!({ "source": program("return records.put(key = \"a\", value = 1)") });
    let allowed = daemon.call("execute", put.clone(), &[SECRET, ("x-remote-user", "ann")]);
    assert_eq!(*allowed.result(), json!({ "key": "a", "count": 1 }));
    let denied = daemon.call("execute", put, &[SECRET, ("x-remote-user", "bob")]);
    assert_eq!(denied.error(), "permission denied");
    let look = json!({ "source": program("return records.lookup(key = \"a\")[\"count\"]") });
    assert_eq!(*daemon.call("execute", look, &[SECRET, ("x-remote-user", "bob")]).result(), json!(1));
}

#[test]
fn a_subject_in_arguments_source_or_meta_counts_for_nothing() {
    let daemon = start("\"127.0.0.1/32\"");
    let source = "# subject: ann\ndef main():\n    subject = \"ann\"\n    return records.put(key = \"a\", value = 1)\n";
    let params = json!({ "name": "execute", "arguments": { "source": source },
        "_meta": { "subject": "ann", "codemoded/subject": "ann" } });
    let answer = daemon.request("tools/call", params, &[SECRET, ("x-remote-user", "bob")]);
    assert_eq!(answer["result"]["content"][0]["text"], "permission denied");
    let extra =
        daemon.call("execute", json!({ "source": source, "subject": "ann" }), &[SECRET, ("x-remote-user", "bob")]);
    assert!(extra.error().starts_with("invalid tool arguments: "), "{extra:?}");
}

#[test]
fn a_header_from_a_stranger_counts_for_nothing() {
    let body = json!({ "jsonrpc": "2.0", "id": 1, "method": "ping" });
    let stranger = start("\"10.0.0.1/32\", \"127.0.0.2/32\"");
    assert_eq!(stranger.post(&body, &[SECRET, ("x-remote-user", "ann")]), (401, "unauthenticated".to_owned()));
    let daemon = start("\"127.0.0.1/32\"");
    for headers in
        [vec![("x-remote-user", "ann")], vec![SECRET, ("x_remote_user", "ann")], vec![SECRET, ("x-remote-user", "a,b")]]
    {
        assert_eq!(daemon.post(&body, &headers), (401, "unauthenticated".to_owned()), "{headers:?}");
    }
}
