//! What is wrong with a program, in words that its author can act on.

use starlark::codemap::{FileSpan, ResolvedSpan};

use crate::worker::protocol::Claim;

/// The name that every program's source goes by.
pub(super) const SOURCE_NAME: &str = "<codemode>";

/// Most bytes of a text that a worker sends.
const MAX_TEXT_BYTES: usize = 2_048;

/// A failure of the program at a place of its source.
pub(super) fn invalid_program(span: Option<&FileSpan>, message: &str) -> Claim {
    Claim::InvalidProgram(placed(span, message))
}

/// A call that does not bind, at the place of the call.
pub(super) fn invalid_arguments(span: Option<&FileSpan>, message: &str) -> Claim {
    Claim::InvalidArguments(placed(span, message))
}

pub(super) fn no_main() -> Claim {
    Claim::InvalidProgram(format!(
        "{SOURCE_NAME}:1:1: the program must define `def main():` without parameters; only what main returns leaves it"
    ))
}

fn placed(span: Option<&FileSpan>, message: &str) -> String {
    let text = match span.map(FileSpan::resolve_span) {
        Some(place) => format!("{SOURCE_NAME}:{}: {message}", line_and_column(&place)),
        None => format!("{SOURCE_NAME}:1:1: {message}"),
    };
    cut(text)
}

fn line_and_column(place: &ResolvedSpan) -> String {
    format!("{}:{}", place.begin.line + 1, place.begin.column + 1)
}

fn cut(mut text: String) -> String {
    text.truncate(text.floor_char_boundary(MAX_TEXT_BYTES));
    text
}
