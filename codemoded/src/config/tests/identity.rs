//! Identities that others vouch for: what their rules default to, and what is refused.

use std::time::Duration;

use super::Folder;
use crate::config::Identity;
use crate::identity::jwt::Scopes;

/// A file with these keys in the section, from line 5.
fn identity(mode: &str, keys: &str) -> Folder {
    Folder::new(&format!("[policy]\nmode = \"allow-all\"\n[identity]\nmode = \"{mode}\"\n{keys}\n"))
}

const ISSUER: &str = "issuer = \"https://id.example.com\"\n";
const AUDIENCES: &str = "audiences = [\"https://mcp.example.com/mcp\"]\n";
const KEYS: &str = "jwks_url = \"https://id.example.com/jwks.json\"\n";

#[track_caller]
fn jwt_is_refused(keys: &[&str], fault: &str) {
    identity("jwt", &keys.concat()).is_refused(&format!("codemode.toml:{fault}"));
}

#[test]
fn the_rules_for_tokens_have_safe_defaults() {
    let Identity::Jwt(jwt) = identity("jwt", &[ISSUER, AUDIENCES, KEYS].concat()).loads().identity else {
        panic!("not jwt")
    };
    let rules = jwt.rules;
    assert_eq!((rules.keys_max_age, rules.leeway), (Duration::from_hours(24), Duration::from_secs(60)));
    assert_eq!(
        (rules.subject_claim.as_str(), rules.policy_claims, rules.required_scopes),
        ("sub", vec![], Scopes::default())
    );
    assert_eq!(jwt.authorization_servers, ["https://id.example.com"]);
}

#[test]
fn tokens_are_for_the_public_url_where_nothing_else_is_said() {
    let url = "[server]\npublic_url = \"https://mcp.example.com\"\nlisten = \"0.0.0.0:1\"\n";
    let Identity::Jwt(jwt) = identity("jwt", &[ISSUER, KEYS, url].concat()).loads().identity else { panic!("not jwt") };
    assert_eq!(jwt.rules.audiences, ["https://mcp.example.com"]);
}

#[test]
fn an_issuer_is_configured_completely_or_refused() {
    jwt_is_refused(
        &[AUDIENCES, KEYS],
        "3:2: identity.issuer: missing; name the issuer, as the tokens' claim `iss` has it",
    );
    jwt_is_refused(
        &[ISSUER, KEYS],
        "3:2: identity.audiences: missing; say for whom the tokens are, as their claim `aud` has it, or set \
         `server.public_url`",
    );
    jwt_is_refused(
        &[ISSUER, AUDIENCES],
        "3:2: identity.jwks_url: missing; say where the issuer's keys are: `jwks_url` or `jwks_file`",
    );
    jwt_is_refused(
        &[ISSUER, AUDIENCES, KEYS, "jwks_file = \"secret\"\n"],
        "8:13: identity.jwks_file: the keys come from one place: set either `jwks_url` or `jwks_file`",
    );
    jwt_is_refused(&[ISSUER, AUDIENCES, "jwks_file = \"nowhere\"\n"], "7:13: identity.jwks_file: no file at `nowhere`");
    for url in ["http://id.example.com/jwks.json", "https://u:p@id.example.com/", "id.example.com", "file:///keys"] {
        jwt_is_refused(
            &[ISSUER, AUDIENCES, &format!("jwks_url = \"{url}\"\n")],
            &format!(
                "7:12: identity.jwks_url: `{url}` is no https URL; write one such as \
                 \"https://id.example.com/jwks.json\""
            ),
        );
    }
    jwt_is_refused(
        &[ISSUER, AUDIENCES, KEYS, "required_scopes = [\"a b\"]\n"],
        "8:20: identity.required_scopes[0]: `a b` is no scope: one word of visible ASCII without `\"` and `\\`",
    );
    jwt_is_refused(
        &[ISSUER, AUDIENCES, KEYS, "[server]\nlisten = \"unix:mcp.sock\"\n"],
        "8:2: server.public_url: missing; set the URL that clients use: with `jwt` they are told where to get tokens for it",
    );
}

#[test]
fn tokens_and_plugins_are_named_or_refused() {
    identity("tokens", "").is_refused(
        "codemode.toml:3:2: identity.tokens_file: missing; name the file of the tokens, such as `tokens_file = \
         \"tokens.toml\"`",
    );
    identity("tokens", "tokens_file = \"nowhere\"")
        .is_refused("codemode.toml:5:15: identity.tokens_file: no file at `nowhere`");
    identity("plugin", "").is_refused(
        "codemode.toml:3:2: identity.plugin: missing; name the plugin instance that is asked, such as `plugin = \"keys\"`",
    );
    identity("plugin", "plugin = \"keys\"").stdio().is_refused(
        "codemode.toml:4:8: identity.mode: standard input has no peers; with `--stdio` only `mode = \"static\"` works",
    );
}

#[test]
fn a_user_of_a_unix_socket_is_a_peer_without_a_secret() {
    let proxy = |peer: &str| identity("proxy", &format!("header = \"x-user\"\npeers = [\"{peer}\"]"));
    proxy("uid:33").loads();
    for peer in ["uid:", "uid:www-data", "uid:-1", "uid:4294967296"] {
        proxy(peer).is_refused(&format!(
            "codemode.toml:6:10: identity.peers[0]: `{peer}` is no network; write an address and its bits, such as \
             \"127.0.0.1/32\", or the user of a process on the Unix socket, such as \"uid:33\""
        ));
    }
}

#[test]
fn a_group_of_a_socket_is_there_or_refused() {
    let server = |group: &str| super::least_and(&format!("[server]\nsocket_group = \"{group}\"\n"));
    assert_eq!(server("root").loads().server.socket.group, Some(0));
    assert_eq!(server("4711").loads().server.socket.group, Some(4711));
    server("nobody's group").is_refused(
        "codemode.toml:4:16: server.socket_group: no group `nobody's group` in /etc/group; write its number if it is \
         defined elsewhere",
    );
}
