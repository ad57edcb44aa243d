//! Rules for the log: whoever is on call finds every line at WARN or ERROR in one table, and nothing else there.

use std::collections::BTreeSet;

use super::{File, files};

const TABLE: &str = "config/README.md";

/// A line of the log: its level and its words.
type Line = (&'static str, String);

#[test]
fn every_warning_and_error_of_the_log_has_its_row() {
    let in_daemon = |file: &&File| file.path.starts_with("codemoded/src/") || file.path.starts_with("plugin-api/src/");
    let mut said = BTreeSet::new();
    for file in files(&["rs"]).iter().filter(in_daemon) {
        said.extend(lines_of(file).unwrap_or_else(|fault| panic!("{}: {fault}", file.path)));
    }
    assert!(said.len() > 30, "{said:?}");
    let documents = files(&["md"]);
    let rows = rows(documents.iter().find(|file| file.path == TABLE).unwrap());
    let unexplained: Vec<_> = said.difference(&rows).collect();
    assert!(
        unexplained.is_empty(),
        "say in {TABLE}, \"The log\", what these mean and how to mend them: {unexplained:#?}"
    );
    let gone: Vec<_> = rows.difference(&said).collect();
    assert!(gone.is_empty(), "nothing logs these any more at this level; take them out of {TABLE}: {gone:#?}");
}

/// What a source logs at the two levels. The words are one literal, so that they can be looked up.
fn lines_of(file: &File) -> Result<BTreeSet<Line>, String> {
    let mut said = BTreeSet::new();
    for (level, name) in [("WARN", "warn!("), ("ERROR", "error!(")] {
        for (at, _) in file.text.match_indices(name) {
            let (before, call) = file.text.split_at(at);
            let here = || format!("line {}", before.lines().count());
            if before.ends_with("compile_") {
                continue;
            }
            if !before.ends_with("tracing::") {
                return Err(format!("{}: write `tracing::{name}…)`, so that it is found", here()));
            }
            let words = words_of(call).ok_or_else(|| format!("{}: the words are no literal at the end", here()))?;
            if words.contains(['{', '\\']) {
                return Err(format!("{}: put what varies into a field, and the words into one line", here()));
            }
            said.insert((level, words.to_owned()));
        }
    }
    Ok(said)
}

/// The last argument of a macro's call, if it is a literal.
fn words_of(call: &str) -> Option<&str> {
    let (mut depth, mut literal, mut last) = (0, None, None);
    let mut escaped = false;
    for (at, char) in call.char_indices() {
        match (char, literal) {
            (_, Some(_)) if escaped => escaped = false,
            ('\\', Some(_)) => escaped = true,
            ('"', Some(start)) => (literal, last) = (None, Some((start, at))),
            ('"', None) => literal = Some(at + 1),
            ('(', None) => depth += 1,
            (')', None) => depth -= 1,
            (_, _) => {}
        }
        if char == ')' && depth == 0 && literal.is_none() {
            let (start, end) = last?;
            let is_last = call.get(end + 1..at)?.chars().all(|char| char == ',' || char.is_whitespace());
            return call.get(start..end).filter(|_| is_last);
        }
    }
    None
}

fn rows(table: &File) -> BTreeSet<Line> {
    let mut level = None;
    let mut found = BTreeSet::new();
    for (_, line) in table.lines() {
        match line.split(" | ").next() {
            Some("| ERROR") => level = Some("ERROR"),
            Some("| WARN") => level = Some("WARN"),
            Some(cell) if line.starts_with("| `") => {
                let words = cell.trim_start_matches("| `").trim_end_matches('`');
                found.extend(level.map(|level| (level, words.to_owned())));
            }
            Some(_) | None if line.starts_with("|---") => {}
            Some(_) | None => level = None,
        }
    }
    found
}

#[test]
fn the_words_are_found_wherever_they_stand() {
    let said = |text: &str| lines_of(&File { path: "a.rs".to_owned(), text: text.to_owned() });
    let warn = |words: &str| Ok(BTreeSet::from([("WARN", words.to_owned())]));
    assert_eq!(said("tracing::warn!(\"a b\");\n"), warn("a b"));
    assert_eq!(said("x(|| tracing::warn!(%error, cause = a(\"; \"), \"a b\"))"), warn("a b"));
    assert_eq!(said("tracing::warn!(\n    a,\n    \"a b\",\n);\n"), warn("a b"));
    assert!(said("use tracing::warn;\nwarn!(\"a b\");\n").is_err());
    assert!(said("tracing::error!(\"a {b}\");\n").is_err());
    assert!(said("tracing::error!(%error);\n").is_err());
    let table = "| ERROR | x |\n|---|---|\n| `a` | b |\n\n| key |\n| `c` | d |\n| WARN | x |\n|---|\n| `e` | f |\n";
    let table = File { path: TABLE.to_owned(), text: table.to_owned() };
    assert_eq!(rows(&table), BTreeSet::from([("ERROR", "a".to_owned()), ("WARN", "e".to_owned())]));
}
