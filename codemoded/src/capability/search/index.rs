//! The inverted index: for every word of a catalog, the documents that have it and in which of their fields.

use std::ops::Range;

use super::build::Builder;
use super::rank::{Hit, Match, Matches};
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
    pub(super) entries: Vec<Entry>,
    /// Sorted, so that the words with one beginning stand together.
    pub(super) words: Vec<Box<str>>,
    /// Where each word's postings end; they begin where the previous word's end.
    pub(super) ends: Vec<u32>,
    pub(super) postings: Vec<Posting>,
}

/// What ranking needs to know of a document beside its postings.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    pub(super) name: Name,
    /// Distinct words of the name, and of the summary.
    pub(super) name_words: u8,
    pub(super) summary_words: u8,
}

/// A document in the upper 24 bits, the fields that have the word in the lower 8.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Posting(u32);

/// A set of fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Fields(pub(super) u8);

impl Fields {
    pub(super) const NAME: Self = Self(1);
    pub(super) const TERMS: Self = Self(2);
    pub(super) const SUMMARY: Self = Self(4);
    pub(super) const DESCRIPTION: Self = Self(8);

    pub(super) fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    pub(super) fn has(self, field: Self) -> bool {
        self.0 & field.0 != 0
    }
}

impl Posting {
    pub(super) fn new(document: u32, fields: Fields) -> Self {
        Self(document << 8 | u32::from(fields.0))
    }

    fn document(self) -> usize {
        (self.0 >> 8) as usize
    }

    fn fields(self) -> Fields {
        Fields((self.0 & 0xff) as u8)
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
        let hits = self.hits(&tokens);
        let needed = needed_tokens(tokens.len());
        let mut matches = Matches::new(tokens.len());
        for (document, row) in self.documents(query).zip(hits.chunks_exact(tokens.len())) {
            if row.iter().filter(|&&hit| hit != Hit::NONE).count() >= needed {
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
        (0..).zip(&self.entries).map(move |(document, entry)| {
            let exact = entry.name.as_str().eq_ignore_ascii_case(query);
            Match { document, entry, exact }
        })
    }

    /// How each token matches each document: a row per document, a column per token.
    fn hits(&self, tokens: &[QueryToken]) -> Vec<Hit> {
        let mut hits = vec![Hit::NONE; self.entries.len() * tokens.len()];
        for (column, token) in tokens.iter().enumerate() {
            let mut note = |posting: &Posting, hit: fn(Fields) -> Hit| {
                if let Some(held) = hits.get_mut(posting.document() * tokens.len() + column) {
                    *held = held.or(hit(posting.fields()));
                }
            };
            if let Some(prefix) = &token.prefix {
                let begun = self.words_beginning_with(prefix);
                self.postings_of(begun).iter().for_each(|posting| note(posting, Hit::of_beginning));
            }
            if let Ok(word) = self.words.binary_search_by(|word| (**word).cmp(token.stem.as_str())) {
                self.postings_of(word..word + 1).iter().for_each(|posting| note(posting, Hit::of_word));
            }
        }
        hits
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
