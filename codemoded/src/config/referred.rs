//! What files said that settings refer to, so that no message repeats it: such a text may be a secret.

use std::collections::BTreeMap;
use std::path::PathBuf;

use figment::value::Value;

use super::fault::Problem;
use super::place::KeyPath;

/// A text that no key takes for a value of its own.
const STRANGER: &str = "\u{f0000}";

/// The texts by their keys.
#[derive(Default)]
pub(super) struct Referred(BTreeMap<KeyPath, Text>);

struct Text {
    file: PathBuf,
    text: String,
}

impl Referred {
    pub(super) fn note(&mut self, key: KeyPath, file: PathBuf, text: String) {
        self.0.insert(key, Text { file, text });
    }

    /// A problem of typing the value at `key`. `of` tells what it would be for another text: where that differs in the
    /// quoted text alone, so does what is told, and the message owes nothing to the text itself.
    pub(super) fn retold(&self, key: &KeyPath, problem: Problem, of: impl FnOnce(Value) -> Option<Problem>) -> Problem {
        let (Some(Text { file, text }), Problem::Refused(said)) = (self.0.get(key), &problem) else {
            return self.conceal(key, problem);
        };
        match of(Value::from(STRANGER)) {
            Some(Problem::Refused(other)) if other.replace(STRANGER, text) == *said => {
                let named = format!("the text in `{}`", file.display());
                Problem::Refused(other.replace(&format!("`{STRANGER}`"), &named).replace(STRANGER, &named))
            }
            Some(_) | None => Problem::Unfit { file: file.clone() },
        }
    }

    /// The problem without any text of a file.
    pub(super) fn conceal(&self, key: &KeyPath, problem: Problem) -> Problem {
        match (self.0.get(key), problem) {
            (
                _,
                problem @ (Problem::WrongType { .. }
                | Problem::Missing { .. }
                | Problem::Empty { .. }
                | Problem::NotFinite
                | Problem::TwoKeySets
                | Problem::StdioNeedsStatic
                | Problem::StdoutIsTheClients
                | Problem::NoHeaderValue),
            ) => problem,
            (Some(Text { file, .. }), Problem::UnknownChoice { known, .. }) => {
                Problem::UnfitChoice { file: file.clone(), known }
            }
            (Some(Text { file, .. }), _) => Problem::Unfit { file: file.clone() },
            (None, problem) => self.0.values().fold(problem, Text::concealed_in),
        }
    }
}

impl Text {
    /// A problem of another key, which may name this one's value.
    fn concealed_in(problem: Problem, hidden: &Self) -> Problem {
        let said = problem.to_string();
        let (named, quoted) = (format!("the text in `{}`", hidden.file.display()), format!("`{}`", hidden.text));
        if said.contains(&quoted) {
            return Problem::Refused(said.replace(&quoted, &named));
        }
        match problem {
            // An address, which stands there without quotes.
            Problem::OpenToAll { .. } | Problem::AdminOpenToAll { .. } | Problem::Taken { .. } => {
                Problem::Refused(said.replace(&hidden.text, &named))
            }
            problem => problem,
        }
    }
}
