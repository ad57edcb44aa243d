//! What is wrong with a program, in words that its author can act on.

use super::rewrite::Place;
use crate::worker::protocol::Claim;

/// The name that every program's source goes by.
pub(super) const SOURCE_NAME: &str = "<codemode>";

/// Most bytes of a text that a worker sends.
const MAX_TEXT_BYTES: usize = 2_048;

/// A failure of the program at a place of its source.
pub(super) fn invalid_program(place: Place, message: &str) -> Claim {
    Claim::InvalidProgram(placed(place, message))
}

/// A call that does not bind, at the place of the call.
pub(super) fn invalid_arguments(place: Place, message: &str) -> Claim {
    Claim::InvalidArguments(placed(place, message))
}

pub(super) fn no_main() -> Claim {
    invalid_program(
        Place::START,
        "the program must define `def main():` without parameters; only what main returns leaves it",
    )
}

fn placed(place: Place, message: &str) -> String {
    let Place { line, column } = place;
    let mut text = format!("{SOURCE_NAME}:{line}:{column}: {message}");
    text.truncate(text.floor_char_boundary(MAX_TEXT_BYTES));
    text
}
