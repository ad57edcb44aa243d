//! Who is calling.

pub mod proxy;

use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;

use http::HeaderMap;
use http::header::{AUTHORIZATION, COOKIE, PROXY_AUTHORIZATION};

use crate::value::Map;
use proxy::Proxy;

/// The authenticated caller, as policy sees it. Holds no credential.
#[derive(Clone, Debug, PartialEq)]
pub struct Subject {
    pub id: SubjectId,
    /// What the identity layer vouches for and policy may see.
    pub claims: Arc<Map>,
}

/// A stable, non-secret name of a caller.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SubjectId(Arc<str>);

/// How callers are told apart; exactly one way serves at a time.
#[derive(Clone, Debug)]
pub enum Identity {
    /// Everyone is this one subject.
    Static(Subject),
    /// A reverse proxy vouches for the caller in a header.
    Proxy(Proxy),
}

/// Why nobody could be made out, for the host's log. Holds nothing that the request carried: the client hears the
/// same `unauthenticated` whatever it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    #[error("the peer is not a listed proxy")]
    UnlistedPeer,
    #[error("a loopback peer must send the shared secret exactly once, in `{header}`", header = proxy::SECRET_HEADER)]
    Unproven,
    #[error("the subject header is missing")]
    NoSubject,
    #[error("the subject header came more than once")]
    RepeatedSubject,
    #[error("the subject header names no subject: {InvalidSubject}, and no comma")]
    InvalidSubject,
    #[error("the groups header came more than once")]
    RepeatedGroups,
    #[error("the groups header holds control characters or is not UTF-8")]
    InvalidGroups,
}

/// The text cannot name a caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a subject is 1 to 256 bytes without control characters or surrounding white space")]
pub struct InvalidSubject;

impl Identity {
    /// Who sent a request with these headers from this peer.
    pub fn authenticate(&self, peer: SocketAddr, headers: &HeaderMap) -> Result<Subject, Refusal> {
        match self {
            Self::Static(subject) => Ok(subject.clone()),
            Self::Proxy(proxy) => proxy.authenticate(peer, headers),
        }
    }
}

/// Takes out what proves an identity, so that nothing behind the identity layer can log or pass it on.
pub fn remove_credentials(headers: &mut HeaderMap) {
    for name in [AUTHORIZATION, PROXY_AUTHORIZATION, COOKIE] {
        headers.remove(name);
    }
    headers.remove(proxy::SECRET_HEADER);
}

impl SubjectId {
    /// The most bytes of a subject's ID.
    pub const MAX_BYTES: usize = 256;

    pub fn new(text: &str) -> Result<Self, InvalidSubject> {
        let sound =
            (1..=Self::MAX_BYTES).contains(&text.len()) && text.trim() == text && !text.chars().any(char::is_control);
        if sound { Ok(Self(text.into())) } else { Err(InvalidSubject) }
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Subject {
    /// A caller about whom nothing but the ID is known.
    pub fn new(id: SubjectId) -> Self {
        Self { id, claims: Arc::default() }
    }
}

impl fmt::Display for SubjectId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
