//! Who is calling.

use std::fmt;
use std::sync::Arc;

use crate::value::Map;

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

/// The text cannot name a caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a subject is 1 to 256 bytes without control characters or surrounding white space")]
pub struct InvalidSubject;

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
