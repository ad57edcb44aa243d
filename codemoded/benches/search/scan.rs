//! The same answer without an index: every document is looked at, word by word. Written apart from the library,
//! so that one checks the other.

use std::cmp::Ordering;
use std::collections::HashSet;

use crate::samples::Sample;

/// What a word is worth by field, name, terms, summary, description, and what is left of that for a beginning.
const STRENGTHS: [f32; 4] = [10.0, 8.0, 7.0, 3.0];
const BEGINNING: f32 = 0.5;
const COVERED_NAME: f32 = 0.3;
const COVERED_SUMMARY: f32 = 0.14;

const STOP_WORDS: [&str; 13] = ["a", "an", "and", "by", "for", "from", "in", "of", "on", "or", "the", "to", "with"];

pub(crate) struct Scan<'a> {
    documents: Vec<Document<'a>>,
}

struct Document<'a> {
    name: &'a str,
    /// By field.
    words: [HashSet<String>; 4],
}

struct Found<'a> {
    document: &'a Document<'a>,
    strengths: Vec<f32>,
    score: f32,
}

impl<'a> Scan<'a> {
    pub(crate) fn new(samples: &'a [Sample]) -> Self {
        let document = |sample: &'a Sample| Document {
            name: &sample.name,
            words: [&sample.name, &sample.terms.join(" "), &sample.summary, &sample.summary]
                .map(|text| words(text).into_iter().map(|word| without_plural(&word).to_owned()).collect()),
        };
        Self { documents: samples.iter().map(document).collect() }
    }

    pub(crate) fn search(&self, query: &str, most: usize) -> Vec<&'a str> {
        let mut tokens: Vec<String> = Vec::new();
        for word in words(query) {
            if tokens.iter().all(|token| without_plural(token) != without_plural(&word)) {
                tokens.push(word);
            }
        }
        let needed = if tokens.len() < 3 { tokens.len() } else { (2 * tokens.len()).div_ceil(3) };
        let mut found: Vec<Found<'_>> = (self.documents.iter())
            .map(|document| Found {
                document,
                strengths: tokens.iter().map(|token| document.strength(token)).collect(),
                score: 0.0,
            })
            .filter(|found| found.strengths.iter().filter(|strength| **strength > 0.0).count() >= needed)
            .collect();
        let rarities: Vec<f32> = (0..tokens.len()).map(|token| rarity(&found, token)).collect();
        for found in &mut found {
            let sum: f32 = found.strengths.iter().zip(&rarities).map(|(strength, rarity)| strength * rarity).sum();
            let [name, _, summary, _] = &found.document.words;
            let gain = COVERED_NAME * covered(name, &tokens) + COVERED_SUMMARY * covered(summary, &tokens);
            found.score = sum * (1.0 + gain);
        }
        found.sort_by(|left, right| left.order(right, query));
        found.iter().take(most).map(|found| self.name_of(found)).collect()
    }

    fn name_of(&self, found: &Found<'_>) -> &'a str {
        let place = self.documents.iter().position(|document| std::ptr::eq(document, found.document));
        self.documents[place.unwrap()].name
    }
}

impl Document<'_> {
    fn strength(&self, token: &str) -> f32 {
        let by_field = self.words.iter().zip(STRENGTHS).map(|(words, strength)| strength * how_well(words, token));
        by_field.fold(0.0, f32::max)
    }
}

impl Found<'_> {
    fn order(&self, other: &Self, query: &str) -> Ordering {
        let is_named = |found: &Self| found.document.name.eq_ignore_ascii_case(query);
        is_named(other)
            .cmp(&is_named(self))
            .then(other.score.total_cmp(&self.score))
            .then(self.document.name.cmp(other.document.name))
    }
}

fn rarity(found: &[Found<'_>], token: usize) -> f32 {
    let presence: f32 = found.iter().map(|found| found.strengths[token] / STRENGTHS[0]).sum();
    if presence > 0.0 { (1.0 + found.len() as f32 / presence).ln().sqrt() } else { 0.0 }
}

fn covered(words: &HashSet<String>, tokens: &[String]) -> f32 {
    let matched = tokens.iter().filter(|token| how_well(words, token) > 0.0).count();
    (matched as f32 / words.len().max(1) as f32).min(1.0)
}

fn how_well(words: &HashSet<String>, token: &str) -> f32 {
    let stem = without_plural(token);
    let beginning = if stem.len() >= 3 { stem } else { token };
    if words.contains(stem) {
        1.0
    } else if beginning.len() >= 3 && words.iter().any(|word| word.starts_with(beginning)) {
        BEGINNING
    } else {
        0.0
    }
}

fn words(text: &str) -> Vec<String> {
    let chars: Vec<char> = text.chars().collect();
    let mut words = vec![String::new()];
    for (place, char) in chars.iter().enumerate() {
        let before = place.checked_sub(1).map_or(' ', |before| chars[before]);
        let after = |distance: usize| chars.get(place + distance).is_some_and(|char| char.is_lowercase());
        let capitalised = after(1) && (chars[place + 1] != 's' || after(2));
        let begins = char.is_uppercase() && (before.is_lowercase() || before.is_uppercase() && capitalised);
        if !char.is_alphanumeric() || before.is_alphabetic() != char.is_alphabetic() || begins {
            words.push(String::new());
        }
        if char.is_alphanumeric() {
            words.last_mut().unwrap().extend(char.to_lowercase());
        }
    }
    words.retain(|word| !word.is_empty() && !STOP_WORDS.contains(&word.as_str()));
    words
}

fn without_plural(word: &str) -> &str {
    match word.strip_suffix('s') {
        Some(stem) if !stem.ends_with('s') && stem.len() >= 2 => stem,
        Some(_) | None => word,
    }
}
