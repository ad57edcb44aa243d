//! The rules for an issuer's tokens.

use std::time::Duration;

use crate::config::fault::Problem;
use crate::config::place::KeyPath;
use crate::config::reading::Reading;
use crate::config::server::{Listen, Server};
use crate::config::{raw, reference};
use crate::identity::jwt::{KeysAt, Rules, Scopes};

const KEYS_MAX_AGE: Duration = Duration::from_secs(24 * 60 * 60);
const LEEWAY: Duration = Duration::from_secs(60);

/// Which tokens count, and where clients get them.
#[derive(Debug)]
pub struct Jwt {
    pub rules: Rules,
    /// Never empty.
    pub authorization_servers: Vec<String>,
}

pub(super) fn check(reading: &mut Reading, section: &KeyPath, server: &Server) -> Option<Jwt> {
    let raw: raw::JwtIdentity = reading.read(section);
    let keys = keys(reading, section, raw.jwks_url.clone().map(KeysAt::Url), raw.jwks_file.as_deref());
    let audiences = audiences(reading, section, raw.audiences, server);
    if server.public_url.is_none() && (server.listen.is_open() || !matches!(server.listen, Listen::Tcp(_))) {
        reading.missing(
            KeyPath::new(["server", "public_url"]),
            "set the URL that clients use: with `jwt` they are told where to get tokens for it",
        );
    }
    let required_scopes = texts(raw.required_scopes);
    for (index, scope) in required_scopes.iter().enumerate() {
        let sound = |byte: u8| byte.is_ascii_graphic() && byte != b'"' && byte != b'\\';
        if scope.is_empty() || !scope.bytes().all(sound) {
            reading.fault(section.key("required_scopes").index(index), Problem::NoScope { given: scope.clone() });
        }
    }
    let Some(issuer) = raw.issuer else {
        reading.missing(section.key("issuer"), "name the issuer, as the tokens' claim `iss` has it");
        return None;
    };
    let authorization_servers = texts(raw.authorization_servers);
    let authorization_servers =
        if authorization_servers.is_empty() { vec![issuer.clone()] } else { authorization_servers };
    let rules = Rules {
        issuer,
        audiences: audiences?,
        keys: keys?,
        keys_max_age: raw.jwks_max_age.map_or(KEYS_MAX_AGE, Into::into),
        leeway: raw.leeway.map_or(LEEWAY, Into::into),
        subject_claim: raw.subject_claim.unwrap_or_else(|| "sub".to_owned()),
        policy_claims: texts(raw.policy_claims),
        required_scopes: Scopes::new(required_scopes),
    };
    Some(Jwt { rules, authorization_servers })
}

fn keys(reading: &mut Reading, section: &KeyPath, url: Option<KeysAt>, file: Option<&str>) -> Option<KeysAt> {
    match (url, file) {
        (Some(_), Some(_)) => {
            reading.fault(section.key("jwks_file"), Problem::TwoKeySets);
            None
        }
        (Some(url), None) => Some(url),
        (None, Some(file)) => {
            let path = reading.absolute(file);
            let found = reference::check_file(&path).map(|()| KeysAt::File(path));
            found.map_err(|problem| reading.fault(section.key("jwks_file"), problem)).ok()
        }
        (None, None) => {
            reading.missing(section.key("jwks_url"), "say where the issuer's keys are: `jwks_url` or `jwks_file`");
            None
        }
    }
}

fn audiences(
    reading: &mut Reading,
    section: &KeyPath,
    given: raw::List<String>,
    server: &Server,
) -> Option<Vec<String>> {
    let given = texts(given);
    match (given.is_empty(), &server.public_url) {
        (false, _) => Some(given),
        (true, Some(url)) => Some(vec![url.to_string()]),
        (true, None) => {
            reading.missing(
                section.key("audiences"),
                "say for whom the tokens are, as their claim `aud` has it, or set `server.public_url`",
            );
            None
        }
    }
}

fn texts(list: raw::List<String>) -> Vec<String> {
    list.into_iter().flatten().collect()
}
