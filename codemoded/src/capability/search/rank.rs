//! The order of what matched.

use std::cmp::Ordering;

use super::index::{Entry, Fields};

/// How one word of a query matches one document: how well at best in the lower four bits, and above them whether in
/// the name and whether in the summary.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Hit(u8);

const LEVEL: u8 = 0x0f;
const IN_NAME: u8 = 0x10;
const IN_SUMMARY: u8 = 0x20;

/// What each level contributes, worst first: nothing, then the best field that has the word itself or only its
/// beginning.
pub(super) const STRENGTHS: [f32; 9] = [
    0.0,
    DESCRIPTION * BEGINNING,
    DESCRIPTION,
    SUMMARY * BEGINNING,
    TERMS * BEGINNING,
    NAME * BEGINNING,
    SUMMARY,
    TERMS,
    NAME,
];

// The numbers were chosen on the tuning half of the labelled queries, by how far right answers stand above wrong
// ones, within what keeps the order of the fields: a word in a summary that it covers whole weighs less than one in
// the terms, and that one less than one in the name.
const NAME: f32 = 10.0;
const TERMS: f32 = 8.0;
const SUMMARY: f32 = 7.0;
const DESCRIPTION: f32 = 3.0;
const BEGINNING: f32 = 0.5;

/// How much a document gains whose name the query covers whole.
const COVERED_NAME: f32 = 0.3;
/// The same of the summary.
const COVERED_SUMMARY: f32 = 0.14;

impl Hit {
    pub(super) const NONE: Self = Self(0);

    /// The word itself stands in these fields.
    pub(super) fn of_word(fields: Fields) -> Self {
        Self::at(fields, [8, 7, 6, 2])
    }

    /// A word that it begins stands in these fields.
    pub(super) fn of_beginning(fields: Fields) -> Self {
        Self::at(fields, [5, 4, 3, 1])
    }

    fn at(fields: Fields, [name, terms, summary, description]: [u8; 4]) -> Self {
        let places = if fields.has(Fields::NAME) { IN_NAME } else { 0 }
            | if fields.has(Fields::SUMMARY) { IN_SUMMARY } else { 0 };
        let level = if fields.has(Fields::NAME) {
            name
        } else if fields.has(Fields::TERMS) {
            terms
        } else if fields.has(Fields::SUMMARY) {
            summary
        } else {
            description
        };
        Self(places | level)
    }

    /// The better of both, in the places of both.
    pub(super) fn or(self, other: Self) -> Self {
        Self((self.0 | other.0) & !LEVEL | (self.0 & LEVEL).max(other.0 & LEVEL))
    }

    fn strength(self) -> f32 {
        STRENGTHS.get(usize::from(self.0 & LEVEL)).copied().unwrap_or_default()
    }
}

/// The documents that match a query, before they are compared.
#[derive(Debug)]
pub struct Matches<'a> {
    /// How many words the query has.
    width: usize,
    documents: Vec<Match<'a>>,
    /// A row of `width` hits for each document.
    hits: Vec<Hit>,
}

/// One document that matches.
#[derive(Clone, Copy, Debug)]
pub(super) struct Match<'a> {
    pub(super) document: u32,
    pub(super) entry: &'a Entry,
    /// The query is the name.
    pub(super) exact: bool,
}

/// A document's place in the order.
#[derive(Clone, Copy, Debug)]
struct Standing<'a> {
    found: Match<'a>,
    score: f32,
}

impl<'a> Matches<'a> {
    pub(super) fn new(width: usize) -> Self {
        Self { width, documents: Vec::new(), hits: Vec::new() }
    }

    pub(super) fn push(&mut self, document: Match<'a>, hits: &[Hit]) {
        self.documents.push(document);
        self.hits.extend_from_slice(hits);
    }

    /// The documents, in the order in which the index got them.
    pub fn documents(&self) -> impl Iterator<Item = usize> {
        self.documents.iter().map(|found| found.document as usize)
    }

    /// Forgets each document at whose place `visible` does not say true.
    pub fn retain(&mut self, visible: &[bool]) {
        let Self { width, documents, hits } = self;
        let is_visible = |place: usize| visible.get(place).copied().unwrap_or(false);
        let mut hit = 0..;
        hits.retain(|_| hit.next().is_some_and(|hit: usize| is_visible(hit / *width)));
        let mut place = 0..;
        documents.retain(|_| place.next().is_some_and(is_visible));
    }

    pub fn len(&self) -> usize {
        self.documents.len()
    }

    pub fn is_empty(&self) -> bool {
        self.documents.is_empty()
    }

    /// The `most` best documents, best first: the one that the query names, then by score, then by name.
    pub fn ranked(&self, most: usize) -> Vec<usize> {
        let mut standings = self.standings();
        if let Some(last) = most.checked_sub(1).filter(|last| *last < standings.len()) {
            standings.select_nth_unstable_by(last, Standing::order);
        }
        standings.truncate(most);
        standings.sort_unstable_by(Standing::order);
        standings.iter().map(|standing| standing.found.document as usize).collect()
    }

    fn standings(&self) -> Vec<Standing<'a>> {
        let Some(width) = (self.width > 0).then_some(self.width) else {
            return self.documents.iter().map(|&found| Standing { found, score: 0.0 }).collect();
        };
        let rarities = self.rarities();
        let rows = self.hits.chunks_exact(width);
        rows.zip(&self.documents).map(|(row, &found)| Standing { found, score: score(row, &rarities, found) }).collect()
    }

    /// What each word of the query is worth: the more, the fewer of these documents have it, and the less
    /// prominently they have it.
    fn rarities(&self) -> Vec<f32> {
        let mut presence = vec![0.0; self.width];
        for row in self.hits.chunks_exact(self.width) {
            for (sum, hit) in presence.iter_mut().zip(row) {
                *sum += hit.strength() / NAME;
            }
        }
        let count = self.documents.len() as f32;
        presence.into_iter().map(|sum: f32| if sum > 0.0 { (1.0 + count / sum).ln().sqrt() } else { 0.0 }).collect()
    }
}

fn score(row: &[Hit], rarities: &[f32], found: Match<'_>) -> f32 {
    let sum: f32 = row.iter().zip(rarities).map(|(hit, rarity)| hit.strength() * rarity).sum();
    let covered = |place: u8, words: u8| {
        let matched = row.iter().filter(|hit| hit.0 & place != 0).count() as f32;
        (matched / f32::from(words.max(1))).min(1.0)
    };
    let &Entry { name_words, summary_words, .. } = found.entry;
    sum * (1.0 + COVERED_NAME * covered(IN_NAME, name_words) + COVERED_SUMMARY * covered(IN_SUMMARY, summary_words))
}

impl Standing<'_> {
    fn order(&self, other: &Self) -> Ordering {
        (other.found.exact.cmp(&self.found.exact))
            .then(other.score.total_cmp(&self.score))
            .then_with(|| self.found.entry.name.cmp(&other.found.entry.name))
    }
}
