//! Where the issuer's keys come from: a file, or an address of the issuer's.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use http::Uri;
use serde::Deserialize;

use crate::file::{self, FileFault};
use crate::outgoing;

/// From the first packet to the last.
const FETCH_TIME: Duration = Duration::from_secs(5);
const MAX_BYTES: u64 = 1 << 20;

/// Where to read the keys.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeysAt {
    File(PathBuf),
    Url(KeysUrl),
}

/// An `https` URL, or an `http` one of this machine.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct KeysUrl(String);

/// The text is no address that keys may come from.
#[derive(Debug, thiserror::Error)]
#[error("`{0}` is no https URL; write one such as \"https://id.example.com/jwks.json\"")]
pub struct InvalidUrl(String);

/// Why the keys could not be read.
#[derive(Debug, thiserror::Error)]
pub enum ReadFault {
    #[error(transparent)]
    File(#[from] FileFault),
    #[error("cannot fetch `{url}`")]
    Fetch { url: KeysUrl, source: Box<ureq::Error> },
    #[error("`{url}` was answered with status {status}")]
    Status { url: KeysUrl, status: u16 },
}

/// Reads the keys, and blocks meanwhile.
#[derive(Debug)]
pub(super) struct Source {
    at: KeysAt,
    client: ureq::Agent,
}

impl Source {
    pub(super) fn new(at: KeysAt) -> Self {
        Self { at, client: outgoing::client(FETCH_TIME, 0) }
    }

    pub(super) fn is_remote(&self) -> bool {
        matches!(self.at, KeysAt::Url(_))
    }

    pub(super) fn read(&self) -> Result<Vec<u8>, ReadFault> {
        match &self.at {
            KeysAt::File(path) => Ok(file::read(path, MAX_BYTES)?),
            KeysAt::Url(url) => self.fetch(url),
        }
    }

    fn fetch(&self, url: &KeysUrl) -> Result<Vec<u8>, ReadFault> {
        let failed = |source| ReadFault::Fetch { url: url.clone(), source: Box::new(source) };
        let mut response = self.client.get(&url.0).header("accept", "application/json").call().map_err(failed)?;
        if response.status() != http::StatusCode::OK {
            return Err(ReadFault::Status { url: url.clone(), status: response.status().as_u16() });
        }
        response.body_mut().with_config().limit(MAX_BYTES).read_to_vec().map_err(failed)
    }
}

impl TryFrom<String> for KeysUrl {
    type Error = InvalidUrl;

    fn try_from(text: String) -> Result<Self, InvalidUrl> {
        let sound = text.parse::<Uri>().is_ok_and(|uri| {
            let of_this_machine = uri.host().is_some_and(|host| ["127.0.0.1", "[::1]", "localhost"].contains(&host));
            let plain = uri.authority().is_some_and(|authority| !authority.as_str().contains('@'));
            plain && (uri.scheme_str() == Some("https") || uri.scheme_str() == Some("http") && of_this_machine)
        });
        if sound { Ok(Self(text)) } else { Err(InvalidUrl(text)) }
    }
}

impl fmt::Display for KeysUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Display for KeysAt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(path) => path.display().fmt(f),
            Self::Url(url) => url.fmt(f),
        }
    }
}
