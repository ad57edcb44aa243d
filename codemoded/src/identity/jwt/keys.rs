//! The issuer's keys as they are now: read again when a token names one that is not there, but not as often as tokens
//! can ask for it.

use std::sync::{Arc, PoisonError, RwLock};
use std::time::{Duration, Instant};

use jsonwebtoken::Header;
use tokio::sync::Mutex;

use super::Fault;
use super::key_set::{Found, Key, KeySet, KeySetFault};
use super::source::{KeysAt, ReadFault, Source};

/// Between two attempts to read the keys, whatever tokens name. Longer than an attempt can take, so that there is
/// never more than one.
const RETRY: Duration = Duration::from_secs(30);

/// After this, keys that still serve are read again, for the issuer may have withdrawn one.
const REFRESH: Duration = Duration::from_secs(600);

/// A handle; clones share the keys.
#[derive(Clone, Debug)]
pub(super) struct Keys(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    source: Source,
    max_age: Duration,
    held: RwLock<Held>,
    /// Held by whoever reads the keys anew; the others wait for the outcome.
    reading: Mutex<()>,
}

#[derive(Clone, Debug, Default)]
struct Held {
    set: Option<(Arc<KeySet>, Instant)>,
    /// When a token last had them read again.
    tried: Option<Instant>,
}

/// Why there are no keys to begin with.
#[derive(Debug, thiserror::Error)]
pub enum KeysFault {
    #[error("cannot read the issuer's keys")]
    Read(#[from] ReadFault),
    #[error("cannot use the issuer's keys")]
    Set(#[from] KeySetFault),
}

impl Keys {
    /// Reads the keys. An issuer that cannot be reached is asked again when tokens come; a file must be there.
    pub(super) async fn start(at: KeysAt, max_age: Duration) -> Result<Self, KeysFault> {
        let source = Source::new(at);
        let (held, reading) = (RwLock::default(), Mutex::default());
        let keys = Self(Arc::new(Shared { source, max_age, held, reading }));
        match keys.read().await {
            Err(fault) if !keys.0.source.is_remote() => Err(fault),
            Ok(()) | Err(_) => Ok(keys),
        }
    }

    /// How many keys there are to be had.
    pub(super) async fn count(at: KeysAt) -> Result<usize, KeysFault> {
        let count = move || Ok(KeySet::parse(&Source::new(at).read()?)?.len());
        tokio::task::spawn_blocking(count).await.unwrap_or(Ok(0))
    }

    /// The key that a token names, perhaps after reading the keys again.
    pub(super) async fn find(&self, header: &Header) -> Result<Key, Fault> {
        match self.look(header) {
            Err(Fault::UnknownKey | Fault::NoKeys) => {}
            known => return known,
        }
        self.read_again().await;
        self.look(header)
    }

    fn look(&self, header: &Header) -> Result<Key, Fault> {
        let (set, age) = match self.0.held().set {
            Some((set, since)) => (set, since.elapsed()),
            None => return Err(Fault::NoKeys),
        };
        if age > self.0.max_age {
            return Err(Fault::NoKeys);
        }
        if age > REFRESH && self.0.may_read() {
            let keys = self.clone();
            tokio::spawn(async move { keys.read_again().await });
        }
        match set.find(header) {
            Found::Key(key) => Ok(key.clone()),
            Found::OtherAlgorithm => Err(Fault::OtherAlgorithm),
            Found::Unknown => Err(Fault::UnknownKey),
        }
    }

    async fn read_again(&self) {
        let _only_one = self.0.reading.lock().await;
        if self.0.may_read() {
            self.0.held.write().unwrap_or_else(PoisonError::into_inner).tried = Some(Instant::now());
            // The outcome is held, and its fault is logged.
            drop(self.read().await);
        }
    }

    /// What is read is kept even where nobody waits for it any longer.
    async fn read(&self) -> Result<(), KeysFault> {
        let shared = Arc::clone(&self.0);
        tokio::task::spawn_blocking(move || shared.read()).await.unwrap_or(Ok(()))
    }
}

impl Shared {
    fn held(&self) -> Held {
        self.held.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn may_read(&self) -> bool {
        self.held().tried.is_none_or(|tried| tried.elapsed() > RETRY)
    }

    fn read(&self) -> Result<(), KeysFault> {
        let read = self.source.read().map_err(KeysFault::from);
        match read.and_then(|text| Ok(KeySet::parse(&text)?)) {
            Ok(set) => {
                tracing::debug!(keys = set.len(), "the issuer's keys were read");
                let mut held = self.held.write().unwrap_or_else(PoisonError::into_inner);
                held.set = Some((Arc::new(set), Instant::now()));
                Ok(())
            }
            Err(fault) => {
                let cause = std::error::Error::source(&fault).map(ToString::to_string).unwrap_or_default();
                tracing::warn!(%fault, cause, "the issuer's keys cannot be had; those that are held serve until they are too old");
                Err(fault)
            }
        }
    }
}
