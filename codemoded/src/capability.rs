//! One capability: a typed native operation that a program can call.

pub mod catalog;
pub mod schema;
pub mod search;
pub mod signature;

use std::fmt;
use std::sync::Arc;

use schema::{Input, Output};

/// The dotted Starlark path, two or more identifier segments.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Name(Arc<str>);

/// The stable identity for policy and filters; the name where the author set none.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Id(Arc<str>);

/// What the author says of an operation's effects. Hints describe; they grant nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Hints {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub read_only: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub destructive: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub idempotent: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub open_world: Option<bool>,
}

/// One typed native operation, checked and compiled.
#[derive(Debug)]
pub struct Capability {
    pub id: Id,
    pub name: Name,
    pub summary: String,
    /// The summary where the author wrote none.
    pub description: String,
    pub search_terms: Vec<String>,
    pub hints: Hints,
    pub input: Input,
    pub output: Output,
    /// Which plugin instance serves it.
    pub plugin: Arc<str>,
}

/// The text is no dotted path of two or more Starlark identifiers.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{name}` is no capability name: {why}", name = .0, why = why_invalid(.0))]
pub struct InvalidName(pub String);

impl Name {
    /// Reads a dotted path of two or more ASCII identifiers, none of them a Starlark keyword.
    pub fn new(text: &str) -> Result<Self, InvalidName> {
        let is_identifier = |segment: &str| {
            !RESERVED_WORDS.contains(&segment)
                && segment.bytes().next().is_some_and(|first| first.is_ascii_alphabetic() || first == b'_')
                && segment.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
        };
        match text.contains('.') && text.split('.').all(is_identifier) {
            true => Ok(Self(text.into())),
            false => Err(InvalidName(text.to_owned())),
        }
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The first segment, a free name in every program.
    pub fn root(&self) -> &str {
        self.0.split('.').next().unwrap_or_default()
    }
}

fn why_invalid(name: &str) -> String {
    match name.split('.').find(|segment| RESERVED_WORDS.contains(segment)) {
        Some(word) => format!("`{word}` is a reserved word of the language"),
        None => "two or more identifiers joined by dots are needed".to_owned(),
    }
}

impl Id {
    pub fn new(text: &str) -> Self {
        Self(text.into())
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Starlark's keywords and the words that it reserves (Starlark specification, Lexical elements).
const RESERVED_WORDS: [&str; 36] = [
    "and", "as", "assert", "async", "await", "break", "class", "continue", "def", "del", "elif", "else", "except",
    "finally", "for", "from", "global", "if", "import", "in", "is", "lambda", "load", "nonlocal", "not", "or", "pass",
    "raise", "return", "try", "while", "with", "yield", "True", "False", "None",
];
