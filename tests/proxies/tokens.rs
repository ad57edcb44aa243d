//! Proxies that leave it to the daemon to tell callers apart: by its own tokens, or by an issuer's.

use std::fs;
use std::net::Ipv4Addr;
use std::path::Path;

use serde_json::{Value, json};

use super::note;
use super::proxy::{By, KINDS, Proxy};
use crate::harness::{Daemon, allow_all, faulty, free_port, run};
use crate::wire::execute;

/// The public half of a key, as RFC 8037 shows one.
const KEYS: &str = r#"{"keys": [{"kid": "k", "kty": "OKP", "crv": "Ed25519",
    "x": "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}]}"#;

/// Each proxy in front of a daemon of its own, whose identity this is; `file` is beside its configuration.
fn each(test: &str, identity: &str, file: (&str, &str), check: impl Fn(&Proxy, &Daemon)) {
    for kind in KINDS {
        let port = free_port();
        let server = format!(
            "127.0.0.1:{port}\"\npublic_url = \"https://mcp.example.com/mcp\"\ntrusted_proxies = [\"127.0.0.1/32\"]"
        );
        let config = allow_all(&format!("[rates]\nfailures_per_minute = 1\n{}", faulty()))
            .replace("127.0.0.1:0\"", &server)
            .replace("mode = \"static\"\nsubject = \"local\"", identity);
        let daemon = Daemon::start_with(&config, |folder| fs::write(folder.join(file.0), file.1).unwrap());
        if let Some(proxy) = Proxy::start(kind, By::Daemon, port, test) {
            check(&proxy, &daemon);
        }
    }
}

#[test]
fn a_token_reaches_the_daemon_and_each_client_has_failures_of_its_own() {
    let (_, minted, _) = run(&["token", "new", "--subject", "ann"], Path::new("/"));
    let (token, line) = minted.split_once('\n').unwrap();
    let bearer = format!("Bearer {token}");
    let test = "a_token_reaches_the_daemon_and_each_client_has_failures_of_its_own";
    each(test, "mode = \"tokens\"\ntokens_file = \"tokens\"", ("tokens", line), |proxy, _daemon| {
        let mut wire = proxy.connect();
        wire.post(&execute(1, &format!("return {}", note("who"))), &[("authorization", &bearer)]);
        let answer = wire.messages().pop().unwrap();
        assert_eq!(answer["result"]["structuredContent"]["result"]["subject"], "ann", "{answer}");
        // What a client says of itself in `X-Forwarded-For` counts for nothing.
        let status = |client: u8, token: &str, forwarded: &str| {
            let mut wire = proxy.connect_from(Ipv4Addr::new(127, 0, 0, client));
            wire.post(&execute(1, "return 1"), &[("authorization", token), ("x-forwarded-for", forwarded)]);
            wire.head().status
        };
        assert_eq!((status(2, "Bearer x", "192.0.2.1"), status(2, "Bearer x", "192.0.2.2")), (401, 429));
        assert_eq!(status(3, "Bearer x", ""), 401, "another client");
        assert_eq!(status(2, &bearer, ""), 200, "and a good token counts all the same");
    });
}

#[test]
fn a_client_finds_the_issuer_through_the_proxy() {
    let identity = "mode = \"jwt\"\nissuer = \"https://id.example.com\"\njwks_file = \"keys\"";
    each("a_client_finds_the_issuer_through_the_proxy", identity, ("keys", KEYS), |proxy, _daemon| {
        let mut wire = proxy.connect();
        wire.post(&execute(1, "return 1"), &[]);
        let head = wire.head();
        let path = "/.well-known/oauth-protected-resource/mcp";
        let pointer = format!("resource_metadata=\"https://mcp.example.com{path}\"");
        assert_eq!(head.status, 401);
        assert!(head.value("www-authenticate").is_some_and(|value| value.contains(&pointer)), "{head:?}");
        for path in [path, "/.well-known/oauth-protected-resource"] {
            let mut wire = proxy.connect();
            wire.send(format!("GET {path} HTTP/1.1\r\nhost: mcp.example.com\r\n\r\n"));
            let (head, body) = wire.answer();
            assert_eq!(head.status, 200, "{path}: {body}");
            let document: Value = serde_json::from_str(&body).unwrap();
            assert_eq!(document["resource"], json!("https://mcp.example.com/mcp"));
        }
    });
}
