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
        // Debugging shows no secret.
        let others = [
            ("log.format", self.log.format.to_string()),
            ("audit", format!("{:?}", self.audit)),
            ("traces", format!("{:?}", self.traces)),
            ("admin", format!("{:?}", self.admin)),
        ];
        let text = |(key, value)| Fixed { key, value: FixedValue::Text(value) };
        let secret = Fixed { key: "traces.headers", value: FixedValue::Digest(self.collectors_headers()) };
        settings.into_iter().chain(others).map(text).chain([secret]).collect()
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

/// The keys of those that differ.
pub fn changed(before: &[Fixed], after: &[Fixed]) -> Vec<&'static str> {
    before.iter().zip(after).filter(|(before, after)| before != after).map(|(before, _)| before.key).collect()
}
