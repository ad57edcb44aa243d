//! What a string must look like: patterns on a linear-time engine, and the formats that JSON Schema defines.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock, Mutex, OnceLock, PoisonError};

use jsonschema::{Draft, Validator};
use regex::{Regex, RegexBuilder};
use serde_json::json;

/// The most bytes of a compiled pattern.
pub(super) const PATTERN_SIZE_LIMIT: usize = 1 << 20;

/// Bytes of a compiled pattern that takes well under a millisecond to build.
const CHEAP_PATTERN_SIZE: usize = 32 << 10;

/// The most bytes of a pattern's text.
const MAX_PATTERN_BYTES: usize = 4096;

/// How many patterns' verdicts are kept, and of patterns of which length.
const MAX_VERDICTS: usize = 10_000;
const MAX_VERDICT_BYTES: usize = 256;

/// Verdicts on patterns, for the capabilities of a large catalog repeat a few, and building automata is most of the
/// time that such a catalog takes to compile. Full, it keeps what it has.
static VERDICTS: LazyLock<Mutex<HashMap<Box<str>, Verdict>>> = LazyLock::new(Mutex::default);

type Verdict = Result<Cost, PatternError>;

/// A regular expression of ECMA 262, translated; it matches anywhere in the text.
#[derive(Clone, Debug)]
pub(super) struct Pattern {
    source: Arc<str>,
    /// Built at first use: most of a catalog's patterns are never run.
    regex: Arc<OnceLock<Option<Regex>>>,
}

/// How long a pattern took to build.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cost {
    Cheap,
    Dear,
}

/// Why a pattern cannot be honoured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PatternError {
    #[error("it is longer than 4,096 bytes")]
    TooLong,
    #[error("it needs look-around or back-references, or is no regular expression")]
    Unsupported,
    #[error("its automaton is too large")]
    TooLarge,
}

impl Pattern {
    pub(super) fn new(source: &str) -> Self {
        Self { source: source.into(), regex: Arc::default() }
    }

    /// Says whether the automaton can be built, and whether building it is dear.
    pub(super) fn check(source: &str) -> Verdict {
        let verdicts = || VERDICTS.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = verdicts().get(source).copied() {
            return known;
        }
        let verdict = Self::try_out(source);
        let mut verdicts = verdicts();
        if verdicts.len() < MAX_VERDICTS && source.len() <= MAX_VERDICT_BYTES {
            verdicts.insert(source.into(), verdict);
        }
        verdict
    }

    fn try_out(source: &str) -> Verdict {
        match build(source, CHEAP_PATTERN_SIZE) {
            Ok(_) => Ok(Cost::Cheap),
            Err(PatternError::TooLarge) => build(source, PATTERN_SIZE_LIMIT).map(|_| Cost::Dear),
            Err(error) => Err(error),
        }
    }

    pub(super) fn source(&self) -> &str {
        &self.source
    }

    pub(super) fn matches(&self, text: &str) -> bool {
        // A pattern that was never checked and cannot be built matches nothing.
        self.regex
            .get_or_init(|| build(&self.source, PATTERN_SIZE_LIMIT).ok())
            .as_ref()
            .is_some_and(|regex| regex.is_match(text))
    }
}

fn build(source: &str, size_limit: usize) -> Result<Regex, PatternError> {
    if source.len() > MAX_PATTERN_BYTES {
        return Err(PatternError::TooLong);
    }
    let translated = jsonschema_regex::to_rust_regex(source).map_err(|()| PatternError::Unsupported)?;
    RegexBuilder::new(&translated).size_limit(size_limit).dfa_size_limit(PATTERN_SIZE_LIMIT).build().map_err(|error| {
        match error {
            regex::Error::CompiledTooBig(_) => PatternError::TooLarge,
            _ => PatternError::Unsupported,
        }
    })
}

/// A format that is checked; others are annotations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Format(usize);

struct Checker {
    name: &'static str,
    /// A text in this format.
    example: &'static str,
}

const CHECKERS: [Checker; 17] = [
    Checker { name: "date", example: "2026-01-31" },
    Checker { name: "date-time", example: "2026-01-31T12:00:00Z" },
    Checker { name: "duration", example: "P1D" },
    Checker { name: "email", example: "ada@example.com" },
    Checker { name: "hostname", example: "example.com" },
    Checker { name: "idn-email", example: "ada@example.com" },
    Checker { name: "ipv4", example: "192.0.2.1" },
    Checker { name: "ipv6", example: "2001:db8::1" },
    Checker { name: "iri", example: "https://example.com/" },
    Checker { name: "iri-reference", example: "/page" },
    Checker { name: "json-pointer", example: "/a" },
    Checker { name: "regex", example: "^a+$" },
    Checker { name: "time", example: "12:00:00Z" },
    Checker { name: "uri", example: "https://example.com/" },
    Checker { name: "uri-reference", example: "/page" },
    Checker { name: "uri-template", example: "https://example.com/{id}" },
    Checker { name: "uuid", example: "123e4567-e89b-42d3-a456-426614174000" },
];

static VALIDATORS: [OnceLock<Option<Validator>>; CHECKERS.len()] = [const { OnceLock::new() }; CHECKERS.len()];

impl Format {
    /// The format of this name where it is one that is checked.
    pub(super) fn named(name: &str) -> Option<Self> {
        CHECKERS.iter().position(|checker| checker.name == name).map(Self)
    }

    pub(super) fn name(self) -> &'static str {
        CHECKERS.get(self.0).map_or("", |checker| checker.name)
    }

    pub(super) fn example(self) -> &'static str {
        CHECKERS.get(self.0).map_or("", |checker| checker.example)
    }

    pub(super) fn admits(self, text: &str) -> bool {
        let Some(validator) = VALIDATORS.get(self.0) else { return false };
        let validator = validator.get_or_init(|| {
            let options = jsonschema::options().with_draft(Draft::Draft202012).should_validate_formats(true).offline();
            options.build(&json!({"format": self.name()})).ok()
        });
        validator.as_ref().is_some_and(|validator| validator.is_valid(&serde_json::Value::String(text.to_owned())))
    }
}
