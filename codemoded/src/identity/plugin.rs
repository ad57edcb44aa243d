//! A plugin says who is calling. It alone sees the request's head, and nobody lets in whom it does not name.

use std::sync::Arc;
use std::time::{Duration, Instant};

use codemode_plugin_api::document::{AuthenticateAnswer, AuthenticateRequest};
use http::request::Parts;

use super::peer::Peer;
use super::{Refusal, Subject, SubjectId};
use crate::plugin::{CallError, Instance};
use crate::value::{Bounds, Map, Value, read};

/// Of what a plugin claims about a caller.
const BOUNDS: Bounds = Bounds { max_bytes: 64 << 10, max_depth: 16 };

/// An instance that is asked, and how long it may take.
#[derive(Clone, Debug)]
pub struct Authenticator {
    instance: Arc<Instance>,
    time: Duration,
}

/// What came of asking. What the plugin itself said of a failure is not among it, for it may hold the credential.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    #[error("the authenticator does not accept the credential")]
    BadCredential,
    #[error("the authenticator did not answer in time")]
    Late,
    #[error("the authenticator panicked")]
    Panicked,
    #[error("the authenticator failed")]
    Failed,
    #[error("the authenticator's answer cannot be read")]
    Answer,
}

/// The instance cannot say who is calling.
#[derive(Debug, thiserror::Error)]
#[error("the plugin instance `{0}` is no authenticator")]
pub struct NoAuthenticator(String);

impl Authenticator {
    pub fn new(instance: Arc<Instance>, time: Duration) -> Result<Self, NoAuthenticator> {
        match instance.authenticates() {
            true => Ok(Self { instance, time }),
            false => Err(NoAuthenticator(instance.name().to_string())),
        }
    }

    pub(super) async fn authenticate(&self, peer: &Peer, head: &Parts) -> Result<Subject, Refusal> {
        let request = serde_json::to_vec(&self.document(peer, head)).map_err(|_| Fault::Failed)?;
        let answer = self.instance.authenticate(request, Instant::now() + self.time).await;
        let answer = answer.map_err(|error| match error {
            CallError::TimedOut | CallError::Busy | CallError::Cancelled => Fault::Late,
            CallError::Panic(_) => Fault::Panicked,
            CallError::Published(_) | CallError::Private(_) | CallError::Malformed(_) => Fault::Failed,
        })?;
        match serde_json::from_slice(&answer).map_err(|_| Fault::Answer)? {
            AuthenticateAnswer::Caller { id, claims } => {
                let id = SubjectId::new(&id).map_err(|_| Fault::Answer)?;
                Ok(Subject { id, claims: Arc::new(read_claims(claims.get()).ok_or(Fault::Answer)?) })
            }
            AuthenticateAnswer::NoCredential => Err(Refusal::NoCredential),
            AuthenticateAnswer::BadCredential => Err(Fault::BadCredential.into()),
        }
    }

    fn document(&self, peer: &Peer, head: &Parts) -> AuthenticateRequest {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let headers = head.headers.iter().map(|(name, value)| (name.as_str().to_owned(), text(value.as_bytes())));
        AuthenticateRequest {
            method: head.method.as_str().to_owned(),
            target: head.uri.path_and_query().map(ToString::to_string).unwrap_or_default(),
            headers: headers.collect(),
            peer: peer.to_string(),
            deadline_ms: u64::try_from(self.time.as_millis()).unwrap_or(u64::MAX),
        }
    }
}

fn read_claims(json: &str) -> Option<Map> {
    match read(json.as_bytes(), BOUNDS) {
        Ok(Value::Map(claims)) => Some(claims),
        Ok(_) | Err(_) => None,
    }
}
