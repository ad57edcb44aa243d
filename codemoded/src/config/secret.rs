//! A text that is shown to nobody.

use std::fmt;

/// Held in one place: neither printed nor cloned.
pub struct Secret(Box<str>);

/// Not long enough to resist guessing, or not fit to be a header's value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unfit;

impl Secret {
    pub const MIN_BYTES: usize = 16;
    pub const MAX_BYTES: usize = 256;

    pub fn new(text: String) -> Result<Self, Unfit> {
        let fit = (Self::MIN_BYTES..=Self::MAX_BYTES).contains(&text.len())
            && text.bytes().all(|byte| byte.is_ascii_graphic());
        if fit { Ok(Self(text.into_boxed_str())) } else { Err(Unfit) }
    }

    /// For the one that checks it, and for no message.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}

impl fmt::Display for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}
