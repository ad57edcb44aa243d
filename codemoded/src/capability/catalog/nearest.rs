//! The known text that a misspelt one was probably meant to be.

/// The nearest of `known`, the first by name among equals; nothing where none is near.
pub(super) fn nearest<'a>(text: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let bound = 1 + text.chars().count() / 4;
    let near = |candidate: &'a str| Some((distance(text, candidate, bound)?, candidate));
    known.filter_map(near).min().map(|(_, candidate)| candidate)
}

/// How many characters must be inserted, removed or replaced; nothing past `bound`.
fn distance(left: &str, right: &str, bound: usize) -> Option<usize> {
    let right: Vec<char> = right.chars().collect();
    if left.chars().count().abs_diff(right.len()) > bound {
        return None;
    }
    let mut row: Vec<usize> = (0..=right.len()).collect();
    for (line, left_char) in left.chars().enumerate() {
        let mut above_left = line;
        let mut last = line + 1;
        for (cell, right_char) in row.iter_mut().skip(1).zip(&right) {
            let replaced = above_left + usize::from(left_char != *right_char);
            above_left = *cell;
            last = replaced.min(*cell + 1).min(last + 1);
            *cell = last;
        }
        if let Some(first) = row.first_mut() {
            *first = line + 1;
        }
    }
    row.last().copied().filter(|distance| *distance <= bound)
}
