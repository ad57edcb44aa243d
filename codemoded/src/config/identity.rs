//! Which identity mode is configured, and that it cannot be had by everyone who reaches the daemon.

mod jwt;

pub use jwt::Jwt;

use std::path::PathBuf;
use std::sync::Arc;

use super::fault::Problem;
use super::place::KeyPath;
use super::reading::Reading;
use super::server::{Listen, Server};
use super::{Transport, json, raw, reference};
use crate::identity::peer::PeerRule;
use crate::identity::proxy::{Proxy, SharedSecret};
use crate::identity::{Subject, SubjectId};
use crate::value::{Map, Value};

/// Exactly one way to know the caller.
#[derive(Debug)]
pub enum Identity {
    /// Every request is one subject's.
    Static(Static),
    Proxy(Proxy),
    Jwt(Jwt),
    /// The file of the tokens.
    Tokens(PathBuf),
    /// The name of the instance that is asked.
    Plugin(String),
}

/// The one subject.
#[derive(Debug)]
pub struct Static {
    pub subject: Subject,
    /// Whether everyone who can connect may be the subject, from wherever.
    pub danger_allow_non_loopback: bool,
}

impl Identity {
    pub(super) fn check(reading: &mut Reading, given: raw::Moded, server: &Server, by: Transport) -> Option<Self> {
        let section = KeyPath::new(["identity"]);
        if given.is_none() {
            reading.missing(section, "say who the callers are in an `[identity]` section, such as `mode = \"static\"`");
            return None;
        }
        let head: raw::IdentityHead = reading.read(&section);
        let Some(mode) = head.mode else {
            reading
                .missing(section.key("mode"), "set `mode` to \"static\", \"proxy\", \"jwt\", \"tokens\" or \"plugin\"");
            return None;
        };
        if by == Transport::Stdio && mode != raw::IdentityMode::Static {
            reading.fault(section.key("mode"), Problem::StdioNeedsStatic);
        }
        match mode {
            raw::IdentityMode::Static => static_subject(reading, &section, &server.listen, by).map(Self::Static),
            raw::IdentityMode::Proxy => proxy(reading, &section).map(Self::Proxy),
            raw::IdentityMode::Jwt => jwt::check(reading, &section, server).map(Self::Jwt),
            raw::IdentityMode::Tokens => tokens(reading, &section).map(Self::Tokens),
            raw::IdentityMode::Plugin => plugin(reading, &section).map(Self::Plugin),
        }
    }
}

fn static_subject(reading: &mut Reading, section: &KeyPath, listen: &Listen, by: Transport) -> Option<Static> {
    let raw: raw::StaticIdentity = reading.read(section);
    let claims = claims(reading, &section.key("claims"), raw.claims);
    let Some(id) = raw.subject else {
        reading.missing(section.key("subject"), "set the name that every caller has, such as `subject = \"local\"`");
        return None;
    };
    let exposed = by == Transport::Http && listen.is_open();
    if exposed && !raw.danger_allow_non_loopback {
        reading.fault(section.key("mode"), open_to_all(listen, &id));
    }
    let subject = Subject { id, claims: Arc::new(claims) };
    Some(Static { subject, danger_allow_non_loopback: raw.danger_allow_non_loopback })
}

fn open_to_all(listen: &Listen, id: &SubjectId) -> Problem {
    Problem::OpenToAll { listen: listen.to_string(), subject: id.to_string() }
}

fn claims(reading: &mut Reading, key: &KeyPath, table: json::Table) -> Map {
    let json = json::table(reading, key, table);
    let mut claims = Map::new();
    for (name, member) in json {
        match Value::from_serde(&member) {
            Ok(value) => drop(claims.insert(name, value)),
            Err(_) => reading.fault(key.key(&name), Problem::NotFinite),
        }
    }
    claims
}

fn proxy(reading: &mut Reading, section: &KeyPath) -> Option<Proxy> {
    let raw: raw::ProxyIdentity = reading.read(section);
    let peers = peers(reading, &section.key("peers"), &raw.peers);
    let secret_key = section.key("shared_secret_file");
    let shared_secret = raw.shared_secret_file.as_ref().and_then(|file| shared_secret(reading, &secret_key, file));
    let on_loopback = peers.iter().find(|peer| peer.meets_loopback());
    if let (Some(peer), None) = (on_loopback, &raw.shared_secret_file) {
        reading.fault(section.key("peers"), Problem::NeedsSecret { peer: peer.to_string() });
    }
    let Some(header) = raw.header else {
        reading.missing(section.key("header"), "name the header in which the proxy sends the subject");
        return None;
    };
    Some(Proxy { header, groups_header: raw.groups_header, peers, shared_secret })
}

fn peers(reading: &mut Reading, key: &KeyPath, list: &raw::List<PeerRule>) -> Vec<PeerRule> {
    if list.is_empty() {
        reading.missing(key.clone(), "list the networks of the proxy, such as `peers = [\"10.0.0.7/32\"]`");
    }
    list.iter().flatten().copied().collect()
}

fn shared_secret(reading: &mut Reading, key: &KeyPath, file: &str) -> Option<SharedSecret> {
    let path = reading.absolute(file);
    reading.note_secret_file(path.clone());
    let read = reference::read_text(&path)
        .and_then(|text| SharedSecret::new(&text).map_err(|cause| Problem::Refused(cause.to_string())));
    read.map_err(|problem| reading.fault(key.clone(), problem)).ok()
}

fn tokens(reading: &mut Reading, section: &KeyPath) -> Option<PathBuf> {
    let raw: raw::TokensIdentity = reading.read(section);
    let key = section.key("tokens_file");
    let Some(file) = raw.tokens_file else {
        reading.missing(key, "name the file of the tokens, such as `tokens_file = \"tokens.toml\"`");
        return None;
    };
    let path = reading.absolute(file);
    reference::check_file(&path).map(|()| path).map_err(|problem| reading.fault(key, problem)).ok()
}

fn plugin(reading: &mut Reading, section: &KeyPath) -> Option<String> {
    let raw: raw::PluginIdentity = reading.read(section);
    if raw.plugin.is_none() {
        reading.missing(section.key("plugin"), "name the plugin instance that is asked, such as `plugin = \"keys\"`");
    }
    raw.plugin
}

impl std::fmt::Display for Identity {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Static(one) => write!(f, "static: {}", one.subject.id),
            Self::Proxy(proxy) => {
                let peers: Vec<_> = proxy.peers.iter().map(ToString::to_string).collect();
                write!(f, "proxy: {} from {}", proxy.header, peers.join(", "))
            }
            Self::Jwt(jwt) => {
                write!(f, "jwt: {} of {}, keys from {}", jwt.rules.subject_claim, jwt.rules.issuer, jwt.rules.keys)
            }
            Self::Plugin(instance) => write!(f, "plugin: {instance}"),
            Self::Tokens(path) => write!(f, "tokens: {}", path.display()),
        }
    }
}
