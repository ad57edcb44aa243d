//! Turns a catalog's text into its index.

use std::collections::HashMap;

use super::index::{Document, Entry, Fields, Index, Posting};
use super::token;

/// Collects words in the order in which they appear, and sorts them once at the end.
#[derive(Debug, Default)]
pub(super) struct Builder {
    entries: Vec<Entry>,
    /// Each word's number, in order of appearance.
    numbers: HashMap<Box<str>, u32>,
    /// A word's number and where it stands.
    occurrences: Vec<(u32, Posting)>,
    /// The words of the document being added, kept for its allocation.
    seen: Vec<(u32, Fields)>,
}

impl Builder {
    pub(super) fn add(&mut self, document: Document<'_>) {
        self.seen.clear();
        self.note(document.name.as_str(), Fields::NAME);
        let name_words = self.distinct_since(0);
        self.note(document.summary, Fields::SUMMARY);
        let summary_words = self.distinct_since(name_words);
        document.terms.iter().for_each(|term| self.note(term, Fields::TERMS));
        self.note(document.description, Fields::DESCRIPTION);
        self.seen.sort_unstable();

        let number = self.entries.len() as u32;
        for same in self.seen.chunk_by(|(left, _), (right, _)| left == right) {
            let fields = same.iter().map(|(_, field)| *field).reduce(Fields::and);
            if let (Some(&(word, _)), Some(fields)) = (same.first(), fields) {
                self.occurrences.push((word, Posting::new(number, fields)));
            }
        }
        let bounded = |count| u8::try_from(count).unwrap_or(u8::MAX);
        self.entries.push(Entry {
            name: document.name.clone(),
            name_words: bounded(name_words),
            summary_words: bounded(summary_words),
        });
    }

    /// Drops what was seen twice since `start`, and counts the rest.
    fn distinct_since(&mut self, start: usize) -> usize {
        let mut words = self.seen.split_off(start);
        words.sort_unstable();
        words.dedup();
        let count = words.len();
        self.seen.extend(words);
        count
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

    pub(super) fn finish(self) -> Index {
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
        occurrences.sort_unstable();

        let mut ends = vec![0; dictionary.len()];
        for (position, (word, _)) in occurrences.iter().enumerate() {
            if let Some(end) = ends.get_mut(*word as usize) {
                *end = position as u32 + 1;
            }
        }
        Index {
            entries: self.entries,
            words: dictionary.into_iter().map(|(word, _)| word).collect(),
            ends,
            postings: occurrences.into_iter().map(|(_, posting)| posting).collect(),
        }
    }
}
