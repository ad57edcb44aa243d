//! Text that others wrote, made fit to be told on: one line, within a bound.

/// Bytes of a text that a program, the interpreter or a binding diagnostic brings.
pub const MAX_TEXT_BYTES: usize = 2048;

/// Bytes of a text that a handler or a policy author published, or that a client sent.
pub const MAX_PUBLISHED_BYTES: usize = 256;

/// What ends a text that was cut.
const CUT: &str = "...";

/// The text on one line, within a bound, cut between two characters.
pub fn printable(text: &str, max_bytes: usize) -> String {
    let clean = |char: char| if char.is_control() { ' ' } else { char };
    if text.len() <= max_bytes {
        return text.chars().map(clean).collect();
    }
    let (kept, _) = text.split_at(text.floor_char_boundary(max_bytes.saturating_sub(CUT.len())));
    kept.chars().map(clean).chain(CUT.chars()).collect()
}
