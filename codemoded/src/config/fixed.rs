//! The settings that hold from the start of the process to its end.

use std::fmt::Debug;

use sha2::{Digest as _, Sha256};

use super::{Config, Transport};
use crate::value::Value;

/// A setting that a reload leaves as it was.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fixed {
    pub key: &'static str,
    pub value: FixedValue,
}

/// For comparing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FixedValue {
    Text(String),
    /// Of what may be a secret.
    Digest([u8; 32]),
}

impl Config {
    /// Each of them, in the same order for every configuration of one transport.
    pub fn fixed(&self, transport: Transport) -> Vec<Fixed> {
        let server = &self.server;
        let settings = match transport {
            Transport::Http => vec![
                ("server.listen", server.listen.to_string()),
                ("server.path", server.path.as_str().to_owned()),
                ("server.header_timeout", format!("{:?}", server.times.head)),
                ("server.body_timeout", format!("{:?}", server.times.body)),
                ("server.idle_timeout", format!("{:?}", server.times.idle)),
                ("server.max_connections", server.max_connections.to_string()),
                ("server.sessions", server.sessions.is_some().to_string()),
                ("server.session_timeout", text(server.sessions.map(|bounds| bounds.idle))),
                ("server.max_sessions", text(server.sessions.map(|bounds| bounds.max_sessions))),
                (
                    "server.max_sessions_per_subject",
                    text(server.sessions.map(|bounds| bounds.max_sessions_per_subject)),
                ),
                ("server.socket_mode", format!("{:o}", server.socket.mode)),
                ("server.socket_group", text(server.socket.group)),
            ],
            Transport::Stdio => vec![("identity", self.only_subject())],
        };
        let (audit, admin, traces) = (&self.audit, &self.admin, self.traces.as_ref());
        let of_single = audit.arguments.of.iter().map(|(id, keep)| format!("{id} {keep}"));
        let others = [
            ("log.format", self.log.format.to_string()),
            ("audit.to", audit.to.to_string()),
            ("audit.arguments", audit.arguments.of_others.to_string()),
            ("audit.arguments_of", list(of_single)),
            ("audit.overflow", audit.overflow.to_string()),
            ("audit.max_queued", audit.max_queued.to_string()),
            ("traces.endpoint", traces.map_or_else(|| "none".to_owned(), |traces| traces.collector.to_string())),
            ("traces.sample", traces.map_or_else(|| "none".to_owned(), |traces| traces.sampling.to_string())),
            ("admin.listen", list(admin.listen.iter())),
            ("admin.allowed_hosts", list(admin.allowed_hosts.iter())),
            ("admin.trusted_origins", list(admin.trusted_origins.iter())),
            ("admin.socket_mode", format!("{:o}", admin.socket.mode)),
            ("admin.socket_group", text(admin.socket.group)),
        ];
        let text = |(key, value)| Fixed { key, value: FixedValue::Text(value) };
        let secrets = [("audit.key_file", self.hashes_key()), ("traces.headers", self.collectors_headers())];
        let secret = |(key, value)| Fixed { key, value: FixedValue::Digest(value) };
        settings.into_iter().chain(others).map(text).chain(secrets.map(secret)).collect()
    }

    fn hashes_key(&self) -> [u8; 32] {
        Sha256::digest(self.audit.arguments.key.as_ref().map_or("", |key| key.text())).into()
    }

    fn collectors_headers(&self) -> [u8; 32] {
        let mut digest = Sha256::new();
        for (name, value) in self.traces.iter().flat_map(|traces| &traces.headers) {
            digest.update(name);
            digest.update([0]);
            digest.update(value);
            digest.update([0]);
        }
        digest.finalize().into()
    }

    fn only_subject(&self) -> String {
        match &self.identity {
            super::Identity::Static(one) => {
                format!("{} {}", one.subject.id, Value::Map((*one.subject.claims).clone()).to_json())
            }
            other => other.to_string(),
        }
    }
}

fn text<T: Debug>(value: Option<T>) -> String {
    value.map_or_else(|| "none".to_owned(), |value| format!("{value:?}"))
}

fn list<T: ToString>(values: impl Iterator<Item = T>) -> String {
    let values: Vec<_> = values.map(|value| value.to_string()).collect();
    if values.is_empty() { "none".to_owned() } else { values.join(", ") }
}

/// The keys of those that differ.
pub fn changed(before: &[Fixed], after: &[Fixed]) -> Vec<&'static str> {
    before.iter().zip(after).filter(|(before, after)| before != after).map(|(before, _)| before.key).collect()
}
