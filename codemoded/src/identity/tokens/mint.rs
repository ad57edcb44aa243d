//! Making a token.

use std::fmt::Write as _;
use std::time::{Duration, SystemTime};

use ring::rand::{SecureRandom, SystemRandom};
use sha2::{Digest, Sha256};
use toml_edit::{Array, Value};

use super::{Expiry, PREFIX};
use crate::identity::SubjectId;

/// Tells tokens apart and is no secret.
const ID_BYTES: usize = 8;
const SECRET_BYTES: usize = 32;

/// A new token, to be shown once, and the line by which the daemon knows it.
pub struct Minted {
    pub token: String,
    pub line: String,
}

/// The kernel gives no random bytes.
#[derive(Debug, thiserror::Error)]
#[error("the system gives no random bytes")]
pub struct MintError;

/// Makes a token for a subject.
pub fn mint(subject: &SubjectId, groups: &[String], lifetime: Duration) -> Result<Minted, MintError> {
    let (id, secret) = (random::<ID_BYTES>()?, random::<SECRET_BYTES>()?);
    let digest = hex(&Sha256::digest(&secret));
    let groups = groups.iter().map(String::as_str).collect::<Array>();
    let expires = Expiry::after(SystemTime::now(), lifetime);
    let line = format!(
        "{id} = {{ sha256 = \"{digest}\", subject = {}, groups = {groups}, expires = {expires} }}",
        Value::from(subject.as_str())
    );
    Ok(Minted { token: format!("{PREFIX}{id}_{secret}"), line })
}

fn random<const BYTES: usize>() -> Result<String, MintError> {
    let mut bytes = [0; BYTES];
    SystemRandom::new().fill(&mut bytes).map_err(|_| MintError)?;
    Ok(hex(&bytes))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

impl std::fmt::Debug for Minted {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Minted").field("line", &self.line).finish_non_exhaustive()
    }
}
