//! What the audit keeps of a call's arguments: nothing, a keyed hash of each value, or all of them.
//!
//! Equal values have equal hashes under one key, so that calls on the same thing can be found without knowing the thing.
//! Without a key an attacker could hash guesses, so there always is one; where the configuration names none, it lasts
//! until the next start.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use indexmap::IndexMap;
use ring::hmac;
use ring::rand::SystemRandom;
use serde_json::value::RawValue;

use crate::capability::Id;

/// Bytes of a hash that are kept: enough that two values never meet by chance.
const HASH_BYTES: usize = 16;

/// How much is kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Keep {
    #[default]
    Off,
    Hashed,
    Full,
}

/// How much is kept of each capability's arguments.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Arguments {
    pub of_others: Keep,
    pub of: BTreeMap<Id, Keep>,
    pub key: Option<Key>,
}

/// What hashes are keyed with.
#[derive(Clone, PartialEq, Eq)]
pub struct Key(Arc<str>);

/// The text is too easily guessed to be a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a key must be 16 characters or more")]
pub struct ShortKey;

/// Makes of canonical arguments what is written.
#[derive(Debug)]
pub(super) struct Hasher {
    arguments: Arguments,
    key: Result<hmac::Key, NoKey>,
}

/// The system gave no random bytes.
#[derive(Clone, Copy, Debug)]
struct NoKey;

impl Arguments {
    pub fn of(&self, capability: &Id) -> Keep {
        self.of.get(capability).copied().unwrap_or(self.of_others)
    }

    pub(super) fn hasher(&self) -> Hasher {
        let key = match &self.key {
            Some(Key(text)) => Ok(hmac::Key::new(hmac::HMAC_SHA256, text.as_bytes())),
            None => hmac::Key::generate(hmac::HMAC_SHA256, &SystemRandom::new()).map_err(|_| NoKey),
        };
        Hasher { arguments: self.clone(), key }
    }
}

impl Key {
    pub fn new(text: &str) -> Result<Self, ShortKey> {
        if text.chars().count() < 16 {
            return Err(ShortKey);
        }
        Ok(Self(text.into()))
    }

    /// The secret itself.
    pub fn text(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Keep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Off => "off",
            Self::Hashed => "hashed",
            Self::Full => "full",
        })
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}

impl Hasher {
    /// The JSON that stands in the line; nothing where nothing is kept, or nothing can be.
    pub(super) fn kept(&self, capability: &Id, canonical: &str) -> Option<Box<RawValue>> {
        match self.arguments.of(capability) {
            Keep::Off => None,
            Keep::Full => RawValue::from_string(canonical.to_owned()).ok(),
            Keep::Hashed => {
                let key = self.key.as_ref().ok()?;
                let values: IndexMap<String, &RawValue> = serde_json::from_str(canonical).ok()?;
                let hashed = values.into_iter().map(|(name, value)| (name, hash(key, value.get())));
                serde_json::value::to_raw_value(&hashed.collect::<IndexMap<_, _>>()).ok()
            }
        }
    }
}

fn hash(key: &hmac::Key, value: &str) -> String {
    let tag = hmac::sign(key, value.as_bytes());
    let bytes = tag.as_ref().iter().take(HASH_BYTES);
    bytes.fold("hmac:".to_owned(), |text, byte| text + &format!("{byte:02x}"))
}
