//! The file of tokens: TOML, one line a token, as `codemoded token new` prints it.

use std::collections::HashMap;
use std::fmt;
use std::fs::File;
use std::io::{self, Read};
use std::ops::Range;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use toml_edit::{Document, Item, Key, TableLike};

use super::{Entry, Expiry, Table};
use crate::identity::{InvalidSubject, Subject, SubjectId};
use crate::value::Value;

const MAX_BYTES: u64 = 16 << 20;

/// Tells whether a file is still the one that was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stamp {
    inode: u64,
    bytes: u64,
    changed: (i64, i64),
}

/// Why a file of tokens cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum TokenFileError {
    #[error("cannot read `{}`", path.display())]
    Unreadable { path: PathBuf, source: io::Error },
    #[error("`{}` holds more than {MAX_BYTES} bytes", .0.display())]
    TooLarge(PathBuf),
    /// What the parser says would quote the file, and whoever pastes a token into it has its secret there.
    #[error("{}:{at}: no line of a token; put there what `codemoded token new` prints for the file", path.display())]
    Syntax { path: PathBuf, at: Place },
    #[error("{}:{at}", path.display())]
    Token { path: PathBuf, at: Place, source: TokenFault },
}

/// A line and a column in characters, from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    line: usize,
    column: usize,
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
    /// Nothing where there is no such file.
    pub(super) fn of(path: &Path) -> Option<Self> {
        let found = path.metadata().ok()?;
        Some(Self { inode: found.ino(), bytes: found.len(), changed: (found.ctime(), found.ctime_nsec()) })
    }
}

pub(super) fn read(path: &Path) -> Result<Table, TokenFileError> {
    let unreadable = |source| TokenFileError::Unreadable { path: path.to_owned(), source };
    let mut text = String::new();
    File::open(path).and_then(|file| file.take(MAX_BYTES + 1).read_to_string(&mut text)).map_err(unreadable)?;
    if text.len() as u64 > MAX_BYTES {
        return Err(TokenFileError::TooLarge(path.to_owned()));
    }
    let at = |span: Option<Range<usize>>| Place::of(&text, span.map_or(0, |span| span.start));
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

impl Place {
    fn of(text: &str, byte: usize) -> Self {
        let before = text.get(..byte).unwrap_or(text);
        let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
        Self { line: before.matches('\n').count() + 1, column }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.line, self.column)
    }
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
