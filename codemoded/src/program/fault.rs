//! What is wrong with a program, in words that its author can act on.

use crate::position::Position;
use crate::text::{MAX_TEXT_BYTES, printable};
use crate::worker::protocol::Claim;

/// The name that every program's source goes by.
pub(super) const SOURCE_NAME: &str = "<codemode>";

/// A failure of the program at a place of its source.
pub(super) fn invalid_program(place: Position, message: &str) -> Claim {
    Claim::InvalidProgram(placed(place, message))
}

/// A call that does not bind, at the place of the call.
pub(super) fn invalid_arguments(place: Position, message: &str) -> Claim {
    Claim::InvalidArguments(placed(place, message))
}

pub(super) fn no_main() -> Claim {
    invalid_program(
        Position::START,
        "the program must define `def main():` without parameters; only what main returns leaves it",
    )
}

fn placed(place: Position, message: &str) -> String {
    printable(&format!("{SOURCE_NAME}:{place}: {message}"), MAX_TEXT_BYTES)
}
