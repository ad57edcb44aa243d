//! A reverse proxy authenticates the caller and says who it is in a header.
//!
//! The header is worth what its sender is: it counts only from a listed peer. A peer on loopback could be any local
//! process, so it must also prove a shared secret; one on a Unix socket is told by its user. Header names are compared as HTTP does, so that a second copy in
//! other case is a second copy, and `X_Remote_User` is another header, which nobody reads.

use std::sync::Arc;

use http::{HeaderMap, HeaderName};
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

use super::header::{Repeated, only};
use super::peer::{Peer, PeerRule};
use super::{Refusal, Subject, SubjectId};
use crate::value::{Map, Value};

/// Where a loopback peer proves that it is the proxy.
pub const SECRET_HEADER: &str = "x-codemode-secret";

/// Whom to believe, and about what.
#[derive(Clone, Debug)]
pub struct Proxy {
    /// Holds exactly one subject.
    pub header: HeaderName,
    /// Holds the subject's groups, separated by commas; they become the claim `groups`.
    pub groups_header: Option<HeaderName>,
    /// Whose header counts.
    pub peers: Vec<PeerRule>,
    /// Without one, no loopback peer is believed.
    pub shared_secret: Option<SharedSecret>,
}

/// What the proxy and the daemon alone know. Only its digest is kept: comparing digests takes the same time whatever
/// is sent, its length included.
#[derive(Clone, Copy)]
pub struct SharedSecret([u8; 32]);

/// Not long enough to resist guessing, or not fit to be a header's value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the secret must be 16 to 256 visible ASCII characters, since the proxy sends it as a header")]
pub struct InvalidSecret;

impl Proxy {
    pub(super) fn authenticate(&self, peer: &Peer, headers: &HeaderMap) -> Result<Subject, Refusal> {
        if !self.peers.iter().any(|listed| listed.admits(peer)) {
            return Err(Refusal::UnlistedPeer);
        }
        let on_loopback = peer.address().is_some_and(|address| address.is_loopback());
        if on_loopback && !self.proves_the_secret(headers) {
            return Err(Refusal::Unproven);
        }
        Ok(Subject { id: self.subject(headers)?, claims: Arc::new(self.claims(headers)?) })
    }

    fn proves_the_secret(&self, headers: &HeaderMap) -> bool {
        match (self.shared_secret, only(headers, SECRET_HEADER)) {
            (Some(secret), Ok(Some(sent))) => secret.matches(sent.as_bytes()),
            (Some(_), Ok(None) | Err(Repeated)) | (None, _) => false,
        }
    }

    fn subject(&self, headers: &HeaderMap) -> Result<SubjectId, Refusal> {
        let value = only(headers, self.header.as_str())
            .map_err(|Repeated| Refusal::RepeatedSubject)?
            .ok_or(Refusal::NoSubject)?;
        let text = std::str::from_utf8(value.as_bytes()).map_err(|_| Refusal::InvalidSubject)?;
        // Proxies that merge two headers into one join them with a comma.
        if text.contains(',') {
            return Err(Refusal::InvalidSubject);
        }
        SubjectId::new(text).map_err(|_| Refusal::InvalidSubject)
    }

    /// `groups`, always there where a header for it is configured, so that a policy may rely on it.
    fn claims(&self, headers: &HeaderMap) -> Result<Map, Refusal> {
        let Some(name) = &self.groups_header else {
            return Ok(Map::new());
        };
        let value = only(headers, name.as_str()).map_err(|Repeated| Refusal::RepeatedGroups)?;
        let text = value.map_or(Ok(""), |value| std::str::from_utf8(value.as_bytes()));
        let text = text.map_err(|_| Refusal::InvalidGroups)?;
        if text.chars().any(char::is_control) {
            return Err(Refusal::InvalidGroups);
        }
        let groups = text.split(',').map(str::trim).filter(|group| !group.is_empty());
        Ok(Map::from([("groups".to_owned(), Value::List(groups.map(Value::from).collect()))]))
    }
}

impl SharedSecret {
    pub fn new(text: &str) -> Result<Self, InvalidSecret> {
        let sound = (16..=256).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_graphic());
        if sound { Ok(Self(Sha256::digest(text).into())) } else { Err(InvalidSecret) }
    }

    pub fn matches(&self, sent: &[u8]) -> bool {
        let sent: [u8; 32] = Sha256::digest(sent).into();
        self.0.ct_eq(&sent).into()
    }
}

impl std::fmt::Debug for SharedSecret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("***")
    }
}

#[cfg(test)]
mod tests;
