//! The JSON documents that cross the boundary while an instance lives. Readers ignore the keys that they do not know.

use std::borrow::Cow;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

/// The operation that says who sent a request, where the descriptor lists it; its request is an [`AuthenticateRequest`]
/// and its answer an [`AuthenticateAnswer`].
pub const AUTHENTICATE: &str = "authenticate";

/// What the host tells a starting instance.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct HostDocument {
    /// The name of the instance.
    pub instance: String,
    /// The folder against which relative paths in the settings are meant.
    pub folder: PathBuf,
    /// The version of the host.
    #[serde(default)]
    pub version: String,
}

/// What the operation `call` is given.
#[derive(Debug, Serialize, Deserialize)]
pub struct CallRequest<'a> {
    /// The capability's name, as the descriptor has it.
    #[serde(borrow)]
    pub capability: Cow<'a, str>,
    /// On whose behalf, and for how long.
    #[serde(borrow)]
    pub context: CallContext<'a>,
    /// The arguments: an object that the host has checked against the capability's input schema.
    #[serde(borrow)]
    pub arguments: &'a RawValue,
}

/// The circumstances of a call.
#[derive(Debug, Serialize, Deserialize)]
pub struct CallContext<'a> {
    /// The ID of the run that the call belongs to.
    #[serde(borrow)]
    pub run: Cow<'a, str>,
    /// Who is calling.
    #[serde(borrow)]
    pub subject: CallSubject<'a>,
    /// Milliseconds that are left for the call.
    pub deadline_ms: u64,
    /// The call's place in a trace, as the header `traceparent` of W3C Trace Context has it; absent where there are no
    /// traces.
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    pub traceparent: Option<Cow<'a, str>>,
}

/// Who is calling.
#[derive(Debug, Serialize, Deserialize)]
pub struct CallSubject<'a> {
    /// A stable, non-secret name.
    #[serde(borrow)]
    pub id: Cow<'a, str>,
}

/// What the operation `authenticate` is given: the head of a request. Its body is not read yet.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AuthenticateRequest {
    /// The method, in capitals.
    pub method: String,
    /// Path and query.
    pub target: String,
    /// Names in small letters and values, in the order in which they came; a name may come several times.
    pub headers: Vec<(String, String)>,
    /// Who is connected: an address and port, or `uid:NUMBER` on a Unix socket.
    pub peer: String,
    /// Milliseconds that are left for the answer.
    pub deadline_ms: u64,
}

/// What the operation `authenticate` answers.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AuthenticateAnswer {
    /// Who is calling.
    Caller {
        /// A stable, non-secret name: 1 to 256 bytes without control characters.
        id: String,
        /// An object that the policy sees as the subject's claims.
        claims: Box<RawValue>,
    },
    /// The request holds no credential.
    NoCredential,
    /// The request holds a credential that does not count.
    BadCredential,
}

/// Why something failed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ErrorDocument {
    /// What may be done with the message.
    pub kind: ErrorKind,
    /// For a person.
    pub message: String,
}

/// What an error's message is, and for whom.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ErrorKind {
    /// Written for the caller.
    Published,
    /// For the host's log only.
    Private,
    /// The text of a panic, for the host's log only.
    Panic,
    /// A request or settings that the library cannot read, for the host's log only.
    Arguments,
    /// The call gave up because it was cancelled.
    Cancelled,
    /// The library has no such operation or capability.
    UnknownOperation,
    /// A kind that this version does not know: as private.
    #[serde(other)]
    Other,
}

impl ErrorDocument {
    /// An error of a kind.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into() }
    }

    /// Its JSON text.
    pub fn to_json(&self) -> Vec<u8> {
        // A struct of an enum and a string always serialises.
        serde_json::to_vec(self).unwrap_or_default()
    }
}
