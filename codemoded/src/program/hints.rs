//! What to write instead, for names and forms that Python has and this language lacks.

mod attributes;
mod forms;
mod names;

use attributes::{MEMBERS, METHODS, WHATEVER};
use forms::{FORMS, SPELLINGS, Stands};
use names::NAMES;

/// The interpreter's message, with the substitute where it is about something that has one.
pub(super) fn explained(message: &str) -> String {
    explained_at(message, "", "")
}

/// The same, where the source before and from the fault's place on is known.
pub(super) fn explained_at(message: &str, before: &str, at: &str) -> String {
    let message = message.strip_prefix("Parse error: ").unwrap_or(message);
    let guessless = message.split_once(", did you mean").map_or(message, |(about, _)| about);
    let spelling = SPELLINGS.iter().find(|(stands, text, _)| match stands {
        Stands::Before => before.ends_with(text),
        Stands::At => at.starts_with(text),
    });
    let spelling = spelling.map(|(_, _, substitute)| *substitute);
    // A word of the language may be what an argument is called.
    if let Some(substitute) = spelling.filter(|_| message.contains("reserved keyword")) {
        return format!("{message}; {substitute}");
    }
    let known = name_in(message).and_then(substitute).or_else(|| attribute_in(message, at));
    if let Some(substitute) = known {
        // The interpreter's own guess at a near name would only distract from the substitute.
        return format!("{guessless}; {substitute}");
    }
    let form = || FORMS.iter().find(|(wording, _)| message.contains(wording)).map(|(_, substitute)| *substitute);
    match spelling.or_else(form) {
        Some(substitute) => format!("{}; {substitute}", message.trim_end_matches('.')),
        None if message.starts_with("Variable `") && message.ends_with("` not found") => {
            format!("{message}; what can be called is found with `search_api`")
        }
        None => message.to_owned(),
    }
}

fn substitute(name: &str) -> Option<&'static str> {
    let found = NAMES.iter().find(|(missing, _)| *missing == name);
    let exception = || name.ends_with("Error").then(|| substitute("Exception")).flatten();
    found.map(|(_, substitute)| *substitute).or_else(exception)
}

/// The name that a message of a known form is about.
fn name_in(message: &str) -> Option<&str> {
    let missing = message.starts_with("Variable `")
        || message.contains("reserved keyword `")
        || message.contains("is not allowed in this dialect");
    missing.then(|| quoted(message).next()).flatten()
}

fn attribute_in(message: &str, at: &str) -> Option<&'static str> {
    let mut names = quoted(message);
    let (kind, attribute) = if message.contains("has no attribute") {
        (names.next()?, names.next()?)
    } else if message.contains("is not available on the type") {
        let attribute = names.next()?;
        (names.next()?, attribute)
    } else if message.starts_with("Operation `.") {
        let attribute = names.next()?.trim_start_matches('.');
        (names.next()?, attribute)
    } else {
        return None;
    };
    let kind = kind.split(['[', '(']).next().unwrap_or(kind);
    let kind = if kind == "str" { "string" } else { kind };
    let member = |(space, missing, _): &&(&str, &str, &str)| {
        kind == "namespace" && *missing == attribute && at.strip_prefix(space).is_some_and(|rest| rest.starts_with('.'))
    };
    let method = |(of, missing, _): &&(&str, &str, &str)| *of == kind && *missing == attribute;
    let found = MEMBERS.iter().find(member).or_else(|| METHODS.iter().find(method));
    let whatever = || WHATEVER.iter().find(|(of, _)| *of == kind).map(|(_, substitute)| *substitute);
    found.map(|(_, _, substitute)| *substitute).or_else(whatever)
}

/// What stands between backticks.
fn quoted(message: &str) -> impl Iterator<Item = &str> {
    message.split('`').skip(1).step_by(2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_table_is_sorted_and_names_nothing_twice() {
        assert!(NAMES.is_sorted_by(|(one, _), (other, _)| one < other));
        assert!(METHODS.is_sorted_by(|one, other| (one.0, one.1) < (other.0, other.1)));
        assert!(MEMBERS.is_sorted_by(|one, other| (one.0, one.1) < (other.0, other.1)));
    }
}
