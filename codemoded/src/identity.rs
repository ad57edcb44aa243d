//! Who is calling.

mod header;
pub mod jwt;
pub mod peer;
pub mod plugin;
pub mod proxy;
pub mod tokens;

use std::fmt;
use std::sync::Arc;

use http::request::Parts;

use crate::value::Map;
use jwt::Jwt;
use peer::Peer;
use plugin::Authenticator;
use proxy::Proxy;
use tokens::Tokens;

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
    /// An issuer has signed a bearer token.
    Jwt(Jwt),
    /// A file knows the bearer token.
    Tokens(Tokens),
    /// A plugin is asked.
    Plugin(Authenticator),
    /// There are no callers, as for a command.
    Nobody,
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
    #[error("there is no bearer token")]
    NoCredential,
    #[error("the header `authorization` came more than once")]
    RepeatedCredential,
    #[error("the header `authorization` holds no bearer token")]
    InvalidCredential,
    #[error(transparent)]
    Jwt(#[from] jwt::Fault),
    #[error(transparent)]
    Tokens(#[from] tokens::Fault),
    #[error(transparent)]
    Plugin(#[from] plugin::Fault),
}

/// What a client may know of a refusal: what to do next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Come back with a credential.
    Anonymous,
    /// Come back with another credential.
    Invalid,
    /// Come back with a credential that is good for more.
    Insufficient,
    /// Come back later: nobody can tell at the moment.
    Unavailable,
}

/// The text cannot name a caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a subject is 1 to 256 bytes without control characters or surrounding white space")]
pub struct InvalidSubject;

impl Identity {
    /// Who sent a request with this head from this peer.
    pub async fn authenticate(&self, peer: &Peer, head: &Parts) -> Result<Subject, Refusal> {
        match self {
            Self::Static(subject) => Ok(subject.clone()),
            Self::Proxy(proxy) => proxy.authenticate(peer, &head.headers),
            Self::Jwt(jwt) => jwt.authenticate(&head.headers).await,
            Self::Tokens(tokens) => tokens.authenticate(&head.headers).await,
            Self::Plugin(authenticator) => authenticator.authenticate(peer, head).await,
            Self::Nobody => Err(Refusal::NoCredential),
        }
    }
}

impl Identity {
    /// The same issuer's keys under other rules, where they are kept over a reload.
    pub fn with_rules(&self, rules: &jwt::Rules) -> Option<Self> {
        match self {
            Self::Jwt(held) => held.with_rules(rules).map(Self::Jwt),
            Self::Static(_) | Self::Proxy(_) | Self::Tokens(_) | Self::Plugin(_) | Self::Nobody => None,
        }
    }
}

impl Refusal {
    pub fn verdict(&self) -> Verdict {
        match self {
            // A proxy's headers are no credential of the client's.
            Self::NoCredential
            | Self::UnlistedPeer
            | Self::Unproven
            | Self::NoSubject
            | Self::RepeatedSubject
            | Self::InvalidSubject
            | Self::RepeatedGroups
            | Self::InvalidGroups => Verdict::Anonymous,
            Self::Jwt(jwt::Fault::Scope) => Verdict::Insufficient,
            Self::Jwt(jwt::Fault::NoKeys) => Verdict::Unavailable,
            Self::Plugin(plugin::Fault::BadCredential) => Verdict::Invalid,
            Self::Plugin(_) => Verdict::Unavailable,
            Self::RepeatedCredential | Self::InvalidCredential | Self::Jwt(_) | Self::Tokens(_) => Verdict::Invalid,
        }
    }

    /// Whether somebody tried to be somebody and failed, as opposed to not having tried, or to nobody's being able to
    /// tell.
    pub fn is_failure(&self) -> bool {
        match self.verdict() {
            Verdict::Anonymous => !matches!(self, Self::NoCredential | Self::NoSubject),
            Verdict::Invalid => true,
            Verdict::Insufficient | Verdict::Unavailable => false,
        }
    }
}

/// Takes out what may prove an identity, so that nothing behind the identity layer can log it or pass it on: every
/// header that the layers behind have no use for, and the query, in which nothing has been looked for.
pub fn remove_credentials(head: &mut Parts) {
    for (name, value) in &std::mem::take(&mut head.headers) {
        if is_of_the_protocol(name.as_str()) {
            head.headers.append(name.clone(), value.clone());
        }
    }
    if head.uri.query().is_some() {
        head.uri = head.uri.path().parse().unwrap_or_default();
    }
}

fn is_of_the_protocol(name: &str) -> bool {
    const OF_HTTP: [&str; 8] = [
        "accept",
        "content-encoding",
        "content-length",
        "content-type",
        "host",
        "last-event-id",
        "origin",
        "user-agent",
    ];
    const OF_TRACES: [&str; 3] = ["traceparent", "tracestate", "baggage"];
    OF_HTTP.contains(&name) || OF_TRACES.contains(&name) || name.starts_with("mcp-")
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
