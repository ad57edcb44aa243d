//! Words of a text, as documents and queries both see them.

use super::MAX_QUERY_TOKENS;

/// One distinct word of a query.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct QueryToken {
    /// The word without its plural `s`; equal to a document's word it is an exact match.
    pub(super) stem: String,
    /// What a document's longer word may begin with; nothing where the word is too short for that.
    pub(super) prefix: Option<String>,
}

/// The query has more than [`MAX_QUERY_TOKENS`] distinct words.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("more than {MAX_QUERY_TOKENS} distinct words")]
pub(super) struct TooManyTokens;

/// Too common to tell one capability from another.
const STOP_WORDS: [&str; 13] = ["a", "an", "and", "by", "for", "from", "in", "of", "on", "or", "the", "to", "with"];

/// A shorter word begins too many others.
const MIN_PREFIX_CHARS: usize = 3;

/// The distinct words of a query, in order. Words that differ only by a plural `s` are one.
pub(super) fn query_tokens(query: &str) -> Result<Vec<QueryToken>, TooManyTokens> {
    let mut tokens: Vec<QueryToken> = Vec::new();
    each_word(query, |word| {
        let stem = without_plural(word);
        if tokens.len() <= MAX_QUERY_TOKENS && tokens.iter().all(|token| token.stem != stem) {
            let prefix = [stem, word].into_iter().find(|start| start.chars().count() >= MIN_PREFIX_CHARS);
            tokens.push(QueryToken { stem: stem.to_owned(), prefix: prefix.map(str::to_owned) });
        }
    });
    if tokens.len() > MAX_QUERY_TOKENS { Err(TooManyTokens) } else { Ok(tokens) }
}

/// Gives every word of a document's text, lower-case and without its plural `s`.
pub(super) fn each_token(text: &str, mut found: impl FnMut(&str)) {
    each_word(text, |word| found(without_plural(word)));
}

fn each_word(text: &str, mut found: impl FnMut(&str)) {
    let mut word = String::new();
    let mut previous = Class::Separator;
    let mut chars = text.chars();
    while let Some(char) = chars.next() {
        let class = Class::of(char);
        if splits(previous, class, chars.as_str()) {
            give(&mut word, &mut found);
        }
        match class {
            Class::Separator => {}
            // Almost all of it, and the general way takes several times as long.
            _ if char.is_ascii() => word.push(char.to_ascii_lowercase()),
            Class::Lower | Class::Upper | Class::Digit => word.extend(char.to_lowercase()),
        }
        previous = class;
    }
    give(&mut word, &mut found);
}

fn give(word: &mut String, found: &mut impl FnMut(&str)) {
    if !word.is_empty() && !STOP_WORDS.contains(&word.as_str()) {
        found(word);
    }
    word.clear();
}

/// A letter that is not upper-case is `Lower`, so that scripts without case form words.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Class {
    Separator,
    Lower,
    Upper,
    Digit,
}

impl Class {
    fn of(char: char) -> Self {
        if char.is_uppercase() {
            Self::Upper
        } else if char.is_alphabetic() {
            Self::Lower
        } else if char.is_numeric() {
            Self::Digit
        } else {
            Self::Separator
        }
    }
}

/// Whether a word ends between two characters, given what follows the second.
fn splits(previous: Class, current: Class, rest: &str) -> bool {
    match (previous, current) {
        (_, Class::Separator) => true,
        (Class::Separator, _) => false,
        (Class::Upper, Class::Upper) => begins_capitalised(rest),
        (Class::Lower, Class::Upper) => true,
        (Class::Upper | Class::Lower, Class::Lower) => false,
        (Class::Digit, Class::Digit) => false,
        (Class::Upper | Class::Lower, Class::Digit) | (Class::Digit, Class::Upper | Class::Lower) => true,
    }
}

/// Whether the upper-case letter before `rest` begins a word, as in `HTTPServer`, and is not the last of an acronym
/// in the plural, as in `PRs`.
fn begins_capitalised(rest: &str) -> bool {
    let mut following = rest.chars();
    let (next, after) = (following.next(), following.next());
    let is_lower = |char: Option<char>| char.is_some_and(|char| Class::of(char) == Class::Lower);
    is_lower(next) && (next != Some('s') || is_lower(after))
}

/// `issues` is `issue`; `ss` is no plural, and two letters stay.
fn without_plural(word: &str) -> &str {
    match word.strip_suffix('s') {
        Some(stem) if !stem.ends_with('s') && stem.chars().nth(1).is_some() => stem,
        Some(_) | None => word,
    }
}
