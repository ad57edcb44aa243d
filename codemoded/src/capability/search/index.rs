//! The inverted index: for every word of a catalog, the documents that have it and in which of their fields.

use std::collections::HashMap;
use std::ops::Range;

use super::rank::{Level, Match, Matches};
use super::token::{self, QueryToken};
use crate::capability::Name;
use crate::failure::Failure;
use crate::limits::{Limit, Limits};

/// The searchable text of one capability.
#[derive(Clone, Copy, Debug)]
pub struct Document<'a> {
    pub name: &'a Name,
    pub terms: &'a [String],
    pub summary: &'a str,
    pub description: &'a str,
}

/// Every searchable word of a catalog. A document is known by its place in the order in which they were given.
#[derive(Debug, Default)]
pub struct Index {
    names: Vec<Name>,
    /// Distinct words in each name.
    name_words: Vec<u8>,
    /// Sorted, so that the words with one beginning stand together.
    words: Vec<Box<str>>,
    /// Where each word's postings end; they begin where the previous word's end.
    ends: Vec<u32>,
    postings: Vec<Posting>,
}

/// A document in the upper 24 bits, the fields that have the word in the lower 8.
#[derive(Clone, Copy, Debug)]
struct Posting(u32);

/// A set of fields; a lower bit weighs more.
type Fields = u8;

const NAME: Fields = 1;
const TERMS: Fields = 2;
const SUMMARY: Fields = 4;
const DESCRIPTION: Fields = 8;

impl Posting {
    fn new(document: u32, fields: Fields) -> Self {
        Self(document << 8 | u32::from(fields))
    }

    fn document(self) -> usize {
        (self.0 >> 8) as usize
    }

    fn best_field(self) -> usize {
        self.0.trailing_zeros() as usize
    }
}

impl Index {
    /// Indexes the documents, which come in name order.
    pub fn build<'a>(documents: impl IntoIterator<Item = Document<'a>>) -> Self {
        let mut builder = Builder::default();
        for document in documents {
            builder.add(document);
        }
        builder.finish()
    }

    /// The documents that match `query`, each judged by itself alone.
    pub fn matching(&self, query: &str, limits: &Limits) -> Result<Matches<'_>, Failure> {
        if query.len() > limits.max_search_query_bytes {
            return Err(Failure::Limit(Limit::MaxSearchQueryBytes));
        }
        let query = query.trim();
        let tokens =
            token::query_tokens(query).map_err(|token::TooManyTokens| Failure::Limit(Limit::MaxSearchQueryTokens))?;
        if tokens.is_empty() {
            return Ok(self.named(query));
        }
        let levels = self.levels(&tokens);
        let needed = needed_tokens(tokens.len());
        let mut matches = Matches::new(tokens.len());
        for (document, row) in self.documents(query).zip(levels.chunks_exact(tokens.len())) {
            if row.iter().filter(|&&level| level != Level::NONE).count() >= needed {
                matches.push(document, row);
            }
        }
        Ok(matches)
    }

    /// A name may consist of words that are not searched for; it is still found by itself.
    fn named(&self, query: &str) -> Matches<'_> {
        let mut matches = Matches::new(0);
        self.documents(query).filter(|document| document.exact).for_each(|document| matches.push(document, &[]));
        matches
    }

    fn documents<'a, 'q>(&'a self, query: &'q str) -> impl Iterator<Item = Match<'a>> + use<'a, 'q> {
        let names = self.names.iter().zip(&self.name_words);
        (0..).zip(names).map(move |(document, (name, &name_words))| Match {
            document,
            name,
            name_words,
            exact: name.as_str().eq_ignore_ascii_case(query),
        })
    }

    /// How well each token matches each document: a row per document, a column per token.
    fn levels(&self, tokens: &[QueryToken]) -> Vec<Level> {
        let mut levels = vec![Level::NONE; self.names.len() * tokens.len()];
        for (column, token) in tokens.iter().enumerate() {
            let mut raise = |posting: &Posting, table: &[Level; 4]| {
                let place = posting.document() * tokens.len() + column;
                if let (Some(held), Some(&level)) = (levels.get_mut(place), table.get(posting.best_field())) {
                    *held = level.max(*held);
                }
            };
            if let Some(prefix) = &token.prefix {
                let begun = self.words_beginning_with(prefix);
                self.postings_of(begun).iter().for_each(|posting| raise(posting, &Level::PREFIX));
            }
            if let Ok(word) = self.words.binary_search_by(|word| (**word).cmp(token.stem.as_str())) {
                self.postings_of(word..word + 1).iter().for_each(|posting| raise(posting, &Level::EXACT));
            }
        }
        levels
    }

    fn words_beginning_with(&self, prefix: &str) -> Range<usize> {
        let start = self.words.partition_point(|word| **word < *prefix);
        let rest = self.words.get(start..).unwrap_or_default();
        start..start + rest.partition_point(|word| word.starts_with(prefix))
    }

    /// The postings of neighbouring words stand together.
    fn postings_of(&self, words: Range<usize>) -> &[Posting] {
        let end_of = |word: usize| self.ends.get(word).map_or(0, |&end| end as usize);
        match (words.start.checked_sub(1), words.end.checked_sub(1)) {
            (before, Some(last)) if !words.is_empty() => {
                self.postings.get(before.map_or(0, end_of)..end_of(last)).unwrap_or_default()
            }
            (_, _) => &[],
        }
    }
}

/// How many of `count` distinct words a document must match.
fn needed_tokens(count: usize) -> usize {
    if count < 3 { count } else { (2 * count).div_ceil(3) }
}

/// Collects words in the order in which they appear, and sorts them once at the end.
#[derive(Default)]
struct Builder {
    names: Vec<Name>,
    name_words: Vec<u8>,
    /// Each word's number, in order of appearance.
    numbers: HashMap<Box<str>, u32>,
    /// A word's number and where it stands.
    occurrences: Vec<(u32, Posting)>,
    /// The words of the document being added, kept for its allocation.
    seen: Vec<(u32, Fields)>,
}

impl Builder {
    fn add(&mut self, document: Document<'_>) {
        self.seen.clear();
        self.note(document.name.as_str(), NAME);
        self.seen.sort_unstable();
        self.seen.dedup();
        self.name_words.push(u8::try_from(self.seen.len()).unwrap_or(u8::MAX));
        document.terms.iter().for_each(|term| self.note(term, TERMS));
        self.note(document.summary, SUMMARY);
        self.note(document.description, DESCRIPTION);
        self.seen.sort_unstable();

        let number = self.names.len() as u32;
        for same in self.seen.chunk_by(|(left, _), (right, _)| left == right) {
            let fields = same.iter().fold(0, |fields, (_, field)| fields | field);
            if let Some(&(word, _)) = same.first() {
                self.occurrences.push((word, Posting::new(number, fields)));
            }
        }
        self.names.push(document.name.clone());
    }

    fn note(&mut self, text: &str, field: Fields) {
        let Self { numbers, seen, .. } = self;
        token::each_token(text, |word| {
            let number = match numbers.get(word) {
                Some(&number) => number,
                None => {
                    let number = numbers.len() as u32;
                    numbers.insert(word.into(), number);
                    number
                }
            };
            seen.push((number, field));
        });
    }

    fn finish(self) -> Index {
        let mut dictionary: Vec<(Box<str>, u32)> = self.numbers.into_iter().collect();
        dictionary.sort_unstable();
        let mut places = vec![0; dictionary.len()];
        for (place, (_, number)) in dictionary.iter().enumerate() {
            if let Some(slot) = places.get_mut(*number as usize) {
                *slot = place as u32;
            }
        }
        let mut occurrences = self.occurrences;
        for (word, _) in &mut occurrences {
            *word = places.get(*word as usize).copied().unwrap_or_default();
        }
        occurrences.sort_unstable_by_key(|(word, posting)| (*word, posting.0));

        let mut ends = vec![0; dictionary.len()];
        for (position, (word, _)) in occurrences.iter().enumerate() {
            if let Some(end) = ends.get_mut(*word as usize) {
                *end = position as u32 + 1;
            }
        }
        Index {
            names: self.names,
            name_words: self.name_words,
            words: dictionary.into_iter().map(|(word, _)| word).collect(),
            ends,
            postings: occurrences.into_iter().map(|(_, posting)| posting).collect(),
        }
    }
}
