//! The file of tokens: TOML, one line a token, as `codemoded token new` prints it.

use std::collections::HashMap;
use std::ops::Range;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use toml_edit::{Document, Item, Key, TableLike};

use super::{Entry, Expiry, Table};
use crate::file::{self, FileFault};
use crate::identity::{InvalidSubject, Subject, SubjectId};
use crate::position::Position;
use crate::value::Value;

const MAX_BYTES: u64 = 16 << 20;

/// Tells whether a file is still the one that was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stamp {
    Absent,
    Present { inode: u64, bytes: u64, changed: (i64, i64) },
}

/// Why a file of tokens cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum TokenFileError {
    #[error(transparent)]
    File(#[from] FileFault),
    /// What the parser says would quote the file, and whoever pastes a token into it has its secret there.
    #[error("{}:{at}: no line of a token; put there what `codemoded token new` prints for the file", path.display())]
    Syntax { path: PathBuf, at: Position },
    #[error("{}:{at}", path.display())]
    Token { path: PathBuf, at: Position, source: TokenFault },
}

/// What is wrong with one token's line.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TokenFault {
    #[error("must be a table: paste the line that `codemoded token new` printed")]
    NoTable,
    #[error("unknown key; known here: `expires`, `groups`, `sha256`, `subject`")]
    UnknownKey,
    #[error("`sha256` must be 64 hexadecimal digits")]
    Digest,
    #[error("`subject` must be a text")]
    NoSubject,
    #[error("`subject`: {0}")]
    Subject(InvalidSubject),
    #[error("`groups` must be a list of texts")]
    Groups,
    #[error("`expires` must be a date, or a date and time with an offset, such as 2027-02-28T00:00:00Z")]
    Expiry,
}

impl Stamp {
    pub(super) fn of(path: &Path) -> Self {
        path.metadata().map_or(Self::Absent, |found| Self::Present {
            inode: found.ino(),
            bytes: found.len(),
            changed: (found.ctime(), found.ctime_nsec()),
        })
    }
}

pub(super) fn read(path: &Path) -> Result<Table, TokenFileError> {
    let text = file::read_text(path, MAX_BYTES)?;
    let at = |span: Option<Range<usize>>| Position::of(&text, span.map_or(0, |span| span.start));
    let document = Document::parse(text.as_str())
        .map_err(|error| TokenFileError::Syntax { path: path.to_owned(), at: at(error.span()) })?;
    let mut table = HashMap::new();
    for (id, item) in document.iter() {
        let entry = entry(item).map_err(|source| {
            let key = document.as_table().key(id).and_then(Key::span);
            TokenFileError::Token { path: path.to_owned(), at: at(key), source }
        })?;
        table.insert(id.to_owned(), entry);
    }
    Ok(table)
}

fn entry(item: &Item) -> Result<Entry, TokenFault> {
    let fields = item.as_table_like().ok_or(TokenFault::NoTable)?;
    if fields.iter().any(|(key, _)| !["expires", "groups", "sha256", "subject"].contains(&key)) {
        return Err(TokenFault::UnknownKey);
    }
    let text = |key: &str| fields.get(key).and_then(Item::as_str);
    let digest = text("sha256").and_then(digest).ok_or(TokenFault::Digest)?;
    let id = SubjectId::new(text("subject").ok_or(TokenFault::NoSubject)?).map_err(TokenFault::Subject)?;
    let groups = ("groups".to_owned(), Value::List(groups(fields).ok_or(TokenFault::Groups)?));
    let expires = fields.get("expires").and_then(Item::as_datetime).and_then(Expiry::read).ok_or(TokenFault::Expiry)?;
    Ok(Entry { digest, subject: Subject { id, claims: Arc::new([groups].into_iter().collect()) }, expires })
}

fn groups(fields: &dyn TableLike) -> Option<Vec<Value>> {
    match fields.get("groups") {
        None => Some(Vec::new()),
        Some(list) => list.as_array()?.iter().map(|item| item.as_str().map(Value::from)).collect(),
    }
}

fn digest(hex: &str) -> Option<[u8; 32]> {
    if !hex.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return None;
    }
    let pairs = hex.as_bytes().chunks(2).map(|pair| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok());
    pairs.collect::<Option<Vec<u8>>>()?.try_into().ok()
}
