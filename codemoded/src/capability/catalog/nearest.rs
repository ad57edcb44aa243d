//! The known text that a misspelt one was probably meant to be.

/// The nearest of `known`, the first by name among equals; nothing where none is near.
pub(super) fn nearest<'a>(text: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let bound = 1 + text.chars().count() / 4;
    known
        .filter(|candidate| candidate.len().abs_diff(text.len()) <= bound)
        .map(|candidate| (strsim::damerau_levenshtein(text, candidate), candidate))
        .filter(|(distance, _)| *distance <= bound)
        .min()
        .map(|(_, candidate)| candidate)
}
