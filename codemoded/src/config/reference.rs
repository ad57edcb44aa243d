//! Files that a setting refers to: `{ file = "…" }` anywhere, and keys that name a file of a secret.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use super::fault::Problem;

const MAX_BYTES: u64 = 1 << 20;

/// The file's text without its last line break.
pub(super) fn read_text(path: &Path) -> Result<String, Problem> {
    let mut text = Vec::new();
    let read = File::open(path).and_then(|file| file.take(MAX_BYTES + 1).read_to_end(&mut text));
    read.map_err(|cause| unreadable(path, cause))?;
    let fits = u64::try_from(text.len()).is_ok_and(|bytes| bytes <= MAX_BYTES);
    let text = Some(text).filter(|_| fits).and_then(|text| String::from_utf8(text).ok());
    let mut text = text.ok_or_else(|| Problem::NoText { path: path.to_owned(), max_bytes: MAX_BYTES })?;
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
    match path.metadata() {
        Ok(found) if found.is_file() => Ok(()),
        Ok(_) => Err(Problem::NotFound { what: "file", path: path.to_owned() }),
        Err(cause) => Err(unreadable(path, cause)),
    }
}

fn unreadable(path: &Path, cause: io::Error) -> Problem {
    if cause.kind() == io::ErrorKind::NotFound {
        Problem::NotFound { what: "file", path: path.to_owned() }
    } else {
        Problem::Unreadable { path: path.to_owned(), source: cause }
    }
}
