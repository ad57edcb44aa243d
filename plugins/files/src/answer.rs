//! How large one answer may grow, so that it still crosses to the program whole.

/// Below the default `max_value_bytes`, with room for what surrounds the counted parts.
const MAX_ANSWER_BYTES: usize = 896 * 1024;

/// What is left of one answer's JSON text.
#[derive(Debug)]
pub(crate) struct Room(usize);

impl Room {
    pub(crate) fn full() -> Self {
        Self(MAX_ANSWER_BYTES)
    }

    /// Takes as much where so much is left, and nothing where it is not.
    #[must_use]
    pub(crate) fn take(&mut self, bytes: usize) -> bool {
        match self.0.checked_sub(bytes) {
            Some(rest) => {
                self.0 = rest;
                true
            }
            None => false,
        }
    }

    /// The longest part of `text` that fits, ended between two characters.
    pub(crate) fn take_part<'t>(&mut self, text: &'t str) -> &'t str {
        let mut end = 0;
        for (start, character) in text.char_indices() {
            if !self.take(char_bytes(character)) {
                break;
            }
            end = start + character.len_utf8();
        }
        text.get(..end).unwrap_or_default()
    }
}

/// Bytes of a JSON string.
pub(crate) fn text_bytes(text: &str) -> usize {
    2 + text.chars().map(char_bytes).sum::<usize>()
}

fn char_bytes(character: char) -> usize {
    match character {
        '"' | '\\' | '\n' | '\r' | '\t' | '\u{8}' | '\u{c}' => 2,
        '\0'..='\u{1f}' => 6,
        other => other.len_utf8(),
    }
}
