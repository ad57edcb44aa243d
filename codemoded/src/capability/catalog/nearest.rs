//! The known text that a misspelt one was probably meant to be.

/// The nearest of `known`, the first by name among equals; nothing where none is near.
pub(super) fn nearest<'a>(text: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let bound = 1 + text.chars().count() / 4;
    known
        .filter_map(|candidate| Some((distance(text, candidate, bound)?, candidate)))
        .min()
        .map(|(_, candidate)| candidate)
}

/// How far two texts are apart, up to a bound.
pub(super) fn distance(text: &str, candidate: &str, bound: usize) -> Option<usize> {
    // Each edit mends at most one letter on either side. Counting them rules out nearly all of a large catalog.
    let distance = (letters_apart(text, candidate) <= bound).then(|| strsim::damerau_levenshtein(text, candidate))?;
    (distance <= bound).then_some(distance)
}

/// How many letters one text has more than the other, on the side where that is more.
fn letters_apart(one: &str, other: &str) -> usize {
    let mut counts = [0_i32; 256];
    for (text, step) in [(one, 1), (other, -1)] {
        for byte in text.bytes() {
            if let Some(count) = counts.get_mut(usize::from(byte)) {
                *count += step;
            }
        }
    }
    let more: i32 = counts.iter().filter(|count| **count > 0).sum();
    let fewer: i32 = counts.iter().filter(|count| **count < 0).sum();
    // One letter may be several bytes.
    usize::try_from(more.max(-fewer)).unwrap_or_default() / if one.is_ascii() && other.is_ascii() { 1 } else { 4 }
}
