//! What a client learns of where to get a token, and for what.

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use super::door::{note, send, was_reached};
use super::issuer::{Key, KeyServer, now};
use super::jwt::{AUDIENCE, ISSUER, POLICY, bearer, but, config, start};
use crate::harness::{Daemon, free_port, node};

// microsoft/vscode#268210, InsForge/insforge-mcp#69, cloudflareers-oauth-provider#138: a 401 that names no metadata leaves
// clients guessing. chmonitor/chmonitor#1388: `resource` must be the URL that the client used, path included.
// Serviceware/Dibix#128: the challenge points at the document, not at the resource.
#[test]
fn clients_learn_where_to_get_a_token_and_for_what() {
    let key = Key::ec();
    let server = KeyServer::start(&[key.public("k")]);
    let daemon = start(&server, "required_scopes = [\"mcp:use\", \"mcp:run\"]");
    let pointer = "resource_metadata=\"https://mcp.example.com/.well-known/oauth-protected-resource/mcp\", \
                   scope=\"mcp:use mcp:run\"";
    let reply = note(&daemon, &[]);
    assert_eq!(reply.header("www-authenticate"), Some(&*format!("Bearer realm=\"codemoded\", {pointer}")));
    for path in ["/.well-known/oauth-protected-resource", "/.well-known/oauth-protected-resource/mcp"] {
        let reply = send(&daemon, "GET", path, &[], "");
        let expected = json!({ "resource": AUDIENCE, "authorization_servers": [ISSUER], "resource_name": "codemoded",
            "bearer_methods_supported": ["header"], "scopes_supported": ["mcp:use", "mcp:run"] });
        assert_eq!((reply.status, reply.json()), (200, expected));
    }
    let sign = |scope: Value| key.sign(&json!({ "alg": "ES256", "kid": "k" }), &but("scope", scope));
    let reply = bearer(&daemon, &sign(json!("mcp:use mcp:runs")));
    assert_eq!(reply.status, 403);
    let challenge = format!("Bearer realm=\"codemoded\", error=\"insufficient_scope\", {pointer}");
    assert_eq!(reply.header("www-authenticate"), Some(&*challenge));
    assert!(!was_reached(&daemon));
    assert_eq!(bearer(&daemon, &sign(json!("openid mcp:run mcp:use"))).status, 200);
}

// Serviceware/Dibix#128 and chmonitor/chmonitor#1388, the whole way: a client that knows the URL and nothing else.
#[test]
fn a_client_finds_its_way_from_a_challenge_to_a_call() {
    let key = Key::ec();
    let server = KeyServer::start(&[key.public("k")]);
    let (daemon, url) = at_its_own_address(&server);
    let reply = note(&daemon, &[]);
    let challenge = reply.header("www-authenticate").unwrap();
    let pointer = challenge.split("resource_metadata=\"").nth(1).unwrap().split('"').next().unwrap();
    let path = pointer.strip_prefix(&format!("http://{}", daemon.address())).unwrap();
    let document = send(&daemon, "GET", path, &[], "").json();
    assert_eq!(document["resource"], url);
    let claims = json!({ "iss": document["authorization_servers"][0], "aud": document["resource"], "sub": "ann",
        "exp": now(600), "groups": ["ops"] });
    let token = key.sign(&json!({ "alg": "ES256", "kid": "k" }), &claims);
    assert_eq!(bearer(&daemon, &token).text(), "{\"result\":\"ann\"}");
}

/// The TypeScript SDK's own reading, which discards a document whose `resource` is not what it asked.
#[test]
fn a_strict_client_accepts_the_metadata() {
    let Some((node, modules)) = node("a_strict_client_accepts_the_metadata") else { return };
    let server = KeyServer::start(&[Key::ec().public("k")]);
    let (_daemon, url) = at_its_own_address(&server);
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/node/metadata.mjs");
    let done = Command::new(node).arg(script).arg(&url).env("CODEMODE_NODE_MODULES", modules).output().unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    let found: Value = serde_json::from_slice(&done.stdout).unwrap();
    let origin = url.strip_suffix("/mcp").unwrap();
    let pointer = format!("{origin}/.well-known/oauth-protected-resource/mcp");
    assert_eq!(found, json!({ "pointer": pointer, "resource": url, "servers": [ISSUER], "same": true }));
}

/// A daemon that no proxy stands before, and its URL.
fn at_its_own_address(server: &KeyServer) -> (Daemon, String) {
    let address = format!("127.0.0.1:{}", free_port());
    let url = format!("http://{address}/mcp");
    let config = config(&format!("jwks_url = \"{}\"", server.url), "");
    let config = config.replace(AUDIENCE, &url).replace("127.0.0.1:0", &address);
    let daemon = Daemon::start_with(&config, |folder| fs::write(folder.join("p.rego"), POLICY).unwrap());
    (daemon, url)
}
