//! The order of what matched.

use std::cmp::Ordering;

use crate::capability::Name;

/// How well one word of a query matches one document, worst first: by the best field that has the word, and whether
/// it is the word itself or only its beginning.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Level(u8);

/// What each level contributes, in the order of the levels.
const STRENGTHS: [f32; 9] = [0.0, 1.0, 2.0, 2.5, 3.5, 5.0, 6.0, 7.0, 10.0];

const STRONGEST: f32 = 10.0;

/// How much a name gains that the query covers whole.
const COVERED_NAME_GAIN: f32 = 0.25;

impl Level {
    pub(super) const NONE: Self = Self(0);
    /// By field: name, terms, summary, description.
    pub(super) const EXACT: [Self; 4] = [Self(8), Self(7), Self(5), Self(2)];
    pub(super) const PREFIX: [Self; 4] = [Self(6), Self(4), Self(3), Self(1)];

    fn strength(self) -> f32 {
        STRENGTHS.get(usize::from(self.0)).copied().unwrap_or_default()
    }

    fn is_in_name(self) -> bool {
        let [exact, ..] = Self::EXACT;
        let [prefix, ..] = Self::PREFIX;
        self == exact || self == prefix
    }
}

/// The documents that match a query, before they are compared.
#[derive(Debug)]
pub struct Matches<'a> {
    /// How many words the query has.
    width: usize,
    documents: Vec<Match<'a>>,
    /// A row of `width` levels for each document.
    levels: Vec<Level>,
}

/// One document that matches.
#[derive(Clone, Copy, Debug)]
pub(super) struct Match<'a> {
    pub(super) document: u32,
    pub(super) name: &'a Name,
    /// Distinct words of the name.
    pub(super) name_words: u8,
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
        Self { width, documents: Vec::new(), levels: Vec::new() }
    }

    pub(super) fn push(&mut self, document: Match<'a>, levels: &[Level]) {
        self.documents.push(document);
        self.levels.extend_from_slice(levels);
    }

    /// The documents, in the order in which the index got them.
    pub fn documents(&self) -> impl Iterator<Item = usize> {
        self.documents.iter().map(|found| found.document as usize)
    }

    /// Forgets each document at whose place `visible` does not say true.
    pub fn retain(&mut self, visible: &[bool]) {
        let Self { width, documents, levels } = self;
        let is_visible = |place: usize| visible.get(place).copied().unwrap_or(false);
        let mut level = 0..;
        levels.retain(|_| level.next().is_some_and(|level: usize| is_visible(level / *width)));
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
        let rows = self.levels.chunks_exact(width);
        rows.zip(&self.documents).map(|(row, &found)| Standing { found, score: score(row, &rarities, found) }).collect()
    }

    /// What each word of the query is worth: the more, the fewer of these documents have it, and the less
    /// prominently they have it.
    fn rarities(&self) -> Vec<f32> {
        let mut presence = vec![0.0; self.width];
        for row in self.levels.chunks_exact(self.width) {
            for (sum, level) in presence.iter_mut().zip(row) {
                *sum += level.strength() / STRONGEST;
            }
        }
        let count = self.documents.len() as f32;
        presence.into_iter().map(|sum: f32| if sum > 0.0 { (1.0 + count / sum).ln() } else { 0.0 }).collect()
    }
}

fn score(row: &[Level], rarities: &[f32], found: Match<'_>) -> f32 {
    let sum: f32 = row.iter().zip(rarities).map(|(level, rarity)| level.strength() * rarity).sum();
    let in_name = row.iter().filter(|level| level.is_in_name()).count() as f32;
    let covered = (in_name / f32::from(found.name_words.max(1))).min(1.0);
    sum * (1.0 + COVERED_NAME_GAIN * covered)
}

impl Standing<'_> {
    fn order(&self, other: &Self) -> Ordering {
        (other.found.exact.cmp(&self.found.exact))
            .then(other.score.total_cmp(&self.score))
            .then_with(|| self.found.name.cmp(other.found.name))
    }
}
