//! The differences that `tests/starlark/README.md` lists, each with its reason: the document is the expectation.

use std::fs;
use std::path::Path;

/// How one answer differs from what another judge of the language expects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Another value: never listed.
    WrongValue,
    /// It fails as it must, in other words.
    Wording,
    /// It is refused here, with an error.
    Stricter,
    /// It is refused there, and has a value here.
    Laxer,
    /// Both have a value, and the difference is meant.
    Differs,
}

/// One row of a table: a place, a kind, and a reason.
#[derive(Debug)]
pub(super) struct Row {
    pub(super) place: String,
    pub(super) kind: Kind,
}

/// The rows of the tables under a heading.
#[track_caller]
pub(super) fn listed(heading: &str) -> Vec<Row> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/starlark/README.md");
    let text = fs::read_to_string(path).unwrap();
    let section = text.split("\n## ").find(|section| section.lines().next() == Some(heading));
    let section = section.unwrap_or_else(|| panic!("no section `{heading}`"));
    section.lines().filter(|line| line.starts_with("| `")).flat_map(rows).collect()
}

/// A row may name several places that share their reason.
#[track_caller]
fn rows(line: &str) -> Vec<Row> {
    let cells: Vec<_> = line.trim_matches('|').split(" | ").map(str::trim).collect();
    let [places, kind, reason] = cells.as_slice() else { panic!("not three cells: {line}") };
    let kind = match *kind {
        "wording" => Kind::Wording,
        "stricter" => Kind::Stricter,
        "laxer" => Kind::Laxer,
        "differs" => Kind::Differs,
        other => panic!("no kind of difference: {other}"),
    };
    assert!(!reason.is_empty(), "without a reason: {line}");
    let places = places.split(", ").map(|place| place.trim_matches('`').to_owned());
    places.map(|place| Row { place, kind }).collect()
}
