//! Telling an error together with its causes. An error's own text never has its cause in it.

use std::error::Error;

/// An error and behind it its causes, for one field of a line.
pub fn with_causes(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(next) = cause {
        text = format!("{text}: {next}");
        cause = next.source();
    }
    text
}

/// Several errors with their causes, one line each.
pub fn all_with_causes<E: Error>(errors: &[E]) -> String {
    errors.iter().map(|error| with_causes(error)).collect::<Vec<_>>().join("\n")
}

/// One line for each reason: some errors have several, and the causes are those of the last.
pub fn reasons(error: &dyn Error) -> Vec<String> {
    with_causes(error).lines().map(str::to_owned).collect()
}
