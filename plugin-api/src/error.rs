//! How a handler says that it failed.

use std::error::Error;
use std::fmt;

use crate::document::{ErrorDocument, ErrorKind};

/// A handler's failure: published to the caller, or private to the host's log.
///
/// Any [`std::error::Error`] becomes a private one by `?`, so that nothing reaches a caller by accident. Such an error
/// is logged with its causes; the caller reads `capability failed`.
///
/// ```
/// use codemode_plugin_api::CapabilityError;
///
/// fn half(text: &str) -> Result<i64, CapabilityError> {
///     let number: i64 = text.parse()?; // private
///     if number % 2 != 0 {
///         return Err(CapabilityError::published("the number is odd"));
///     }
///     Ok(number / 2)
/// }
/// assert_eq!(half("x").unwrap_err().to_string(), "invalid digit found in string");
/// ```
pub struct CapabilityError(ErrorDocument);

impl CapabilityError {
    /// A message that the caller (an agent) reads: say what it can do about it. Lowercase and without a full stop it
    /// reads well after `capability failed: `; the host cuts it at 256 bytes.
    pub fn published(message: impl Into<String>) -> Self {
        Self(ErrorDocument::new(ErrorKind::Published, message))
    }

    /// A message that only the host's log has.
    pub fn private(message: impl Into<String>) -> Self {
        Self(ErrorDocument::new(ErrorKind::Private, message))
    }

    /// Whether the caller will read the message.
    pub fn is_published(&self) -> bool {
        self.0.kind == ErrorKind::Published
    }

    pub(crate) fn into_document(self) -> ErrorDocument {
        self.0
    }
}

// This type is no `std::error::Error` itself: the conversion below would then overlap with that of a type to itself.
impl<E: Error> From<E> for CapabilityError {
    fn from(error: E) -> Self {
        Self::private(with_causes(&error))
    }
}

impl fmt::Display for CapabilityError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.message)
    }
}

impl fmt::Debug for CapabilityError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = if self.is_published() { "published" } else { "private" };
        f.debug_tuple(kind).field(&self.0.message).finish()
    }
}

/// The error's text and those of its causes, in one line.
pub(crate) fn with_causes(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(inner) = cause {
        text.push_str(": ");
        text.push_str(&inner.to_string());
        cause = inner.source();
    }
    text
}
