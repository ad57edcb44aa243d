//! Bearer tokens that this project makes: `cm_ID_SECRET`. A file says whose they are and until when.
//!
//! The file holds a digest of each secret. A secret has 256 random bits, so one plain SHA-256 is enough. A lookup costs
//! the same whether or not there is such an ID: one digest and one comparison that does not tell where it ends.

mod expiry;
mod file;
mod mint;

pub use expiry::Expiry;
pub use file::TokenFileError;
pub use mint::{MintError, Minted, mint};

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, PoisonError, RwLock, RwLockWriteGuard};
use std::time::{Duration, Instant, SystemTime};

use http::HeaderMap;
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

use super::header::bearer;
use super::{Refusal, Subject, SubjectId};
use file::Stamp;

/// What every token begins with, so that scanners find one that has leaked.
const PREFIX: &str = "cm_";

/// For how long a changed file may go unnoticed.
const LOOK: Duration = Duration::from_secs(1);

/// The tokens of a file, read again when it changes. A handle; clones share the tokens.
#[derive(Clone, Debug)]
pub struct Tokens(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    path: PathBuf,
    held: RwLock<Held>,
}

#[derive(Clone, Debug)]
struct Held {
    table: Arc<Table>,
    stamp: Stamp,
    looked: Instant,
    /// As which the file was told last that it cannot be used.
    told: Option<Stamp>,
}

/// Entries by the tokens' IDs.
type Table = HashMap<String, Entry>;

/// One token, as the file tells it.
#[derive(Clone, Debug)]
struct Entry {
    digest: [u8; 32],
    subject: Subject,
    expires: Expiry,
}

/// How many tokens a file has, and until when they are good.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Census {
    pub all: usize,
    pub expired: usize,
    /// When the next of the others ends.
    pub next: Option<Expiry>,
}

/// What is wrong with a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    #[error("the token is none of this daemon's")]
    Malformed,
    #[error("no token in the file has this ID")]
    Unknown,
    #[error("the token in the file that has this ID has another secret")]
    WrongSecret,
    #[error("the token has expired")]
    Expired,
}

impl Tokens {
    /// Reads the file; blocks meanwhile.
    pub fn open(path: PathBuf) -> Result<Self, TokenFileError> {
        let stamp = Stamp::of(&path);
        let table = Arc::new(file::read(&path)?);
        Ok(Self(Arc::new(Shared { path, held: RwLock::new(Held::new(table, stamp)) })))
    }

    /// Reads the file again, changed or not. Where it cannot be used, what was read before goes on serving.
    pub fn reload(&self) -> Result<(), TokenFileError> {
        self.0.read(Stamp::of(&self.0.path))
    }

    pub fn census(&self, now: SystemTime) -> Census {
        let table = self.0.held().table;
        let (past, good): (Vec<_>, Vec<_>) =
            table.values().map(|entry| entry.expires).partition(|end| end.is_past(now));
        Census { all: table.len(), expired: past.len(), next: good.into_iter().min() }
    }

    /// The subject as its tokens say; nothing where it has none, or where they differ.
    pub fn subject(&self, id: &SubjectId) -> Option<Subject> {
        let table = self.0.held().table;
        let mut claims = table.values().map(|entry| &entry.subject).filter(|subject| subject.id == *id);
        let first = claims.next()?;
        claims.all(|other| other.claims == first.claims).then(|| first.clone())
    }

    pub(super) async fn authenticate(&self, headers: &HeaderMap) -> Result<Subject, Refusal> {
        let token = bearer(headers)?;
        Ok(check(&*self.table().await, token, SystemTime::now())?)
    }

    async fn table(&self) -> Arc<Table> {
        let held = self.0.held();
        if held.looked.elapsed() < LOOK {
            return held.table;
        }
        let shared = Arc::clone(&self.0);
        // A thread that panicked has changed nothing.
        drop(tokio::task::spawn_blocking(move || shared.look()).await);
        self.0.held().table
    }
}

impl Held {
    fn new(table: Arc<Table>, stamp: Stamp) -> Self {
        Self { table, stamp, looked: Instant::now(), told: None }
    }
}

impl Shared {
    fn held(&self) -> Held {
        self.held.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn held_to_write(&self) -> RwLockWriteGuard<'_, Held> {
        self.held.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads the file again if it is no longer the one that was read.
    fn look(&self) {
        let before = {
            let mut held = self.held_to_write();
            if held.looked.elapsed() < LOOK {
                return;
            }
            held.looked = Instant::now();
            held.stamp
        };
        let stamp = Stamp::of(&self.path);
        if stamp == before {
            return;
        }
        match self.read(stamp) {
            Ok(()) => tracing::info!("the file of tokens has changed and was read again"),
            Err(error) => {
                let mut held = self.held_to_write();
                // What could not be read this time may be read the next; what it says stays as it is.
                if !matches!(error, TokenFileError::File(_)) {
                    held.stamp = stamp;
                }
                if held.told.replace(stamp) == Some(stamp) {
                    return;
                }
                drop(held);
                let cause = std::error::Error::source(&error).map(ToString::to_string).unwrap_or_default();
                tracing::error!(%error, cause, "the file of tokens has changed and cannot be used; the tokens from before go on serving");
            }
        }
    }

    fn read(&self, stamp: Stamp) -> Result<(), TokenFileError> {
        let table = Arc::new(file::read(&self.path)?);
        *self.held_to_write() = Held::new(table, stamp);
        Ok(())
    }
}

fn check(table: &Table, token: &str, now: SystemTime) -> Result<Subject, Fault> {
    let parts = token.strip_prefix(PREFIX).and_then(|rest| rest.split_once('_'));
    let (id, secret) = parts.ok_or(Fault::Malformed)?;
    let sent: [u8; 32] = Sha256::digest(secret).into();
    let entry = table.get(id);
    let expected = entry.map_or([0; 32], |entry| entry.digest);
    let same: bool = expected.ct_eq(&sent).into();
    match entry {
        Some(entry) if same && entry.expires.is_past(now) => Err(Fault::Expired),
        Some(entry) if same => Ok(entry.subject.clone()),
        Some(_) => Err(Fault::WrongSecret),
        None => Err(Fault::Unknown),
    }
}

#[cfg(test)]
mod tests;
