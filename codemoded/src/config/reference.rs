//! Files that a setting refers to: `{ file = "…" }` anywhere, and keys that name a file of a secret.

use std::path::Path;

use super::fault::Problem;
use crate::file;

const MAX_BYTES: u64 = 1 << 20;

/// The file's text without its last line break.
pub(super) fn read_text(path: &Path) -> Result<String, Problem> {
    let mut text = file::read_text(path, MAX_BYTES)?;
    if text.ends_with('\n') {
        text.pop();
        if text.ends_with('\r') {
            text.pop();
        }
    }
    Ok(text)
}

/// A file that must be there.
pub(super) fn check_file(path: &Path) -> Result<(), Problem> {
    Ok(file::check(path)?)
}
