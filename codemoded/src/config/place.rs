//! Where a value of the configuration stands: its key, and the line, variable or flag that set it.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use toml_edit::{Document, Item};

use crate::position::Position;

/// A key with all tables above it, such as `plugins[0].config.database`. Array elements are decimal numbers.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct KeyPath(Vec<String>);

/// What set a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    File {
        name: Arc<str>,
        position: Option<Position>,
    },
    /// An environment variable or a flag, by its own name.
    Override {
        name: String,
    },
}

impl KeyPath {
    pub fn root() -> Self {
        Self::default()
    }

    pub fn new<S: Into<String>>(steps: impl IntoIterator<Item = S>) -> Self {
        Self(steps.into_iter().map(Into::into).collect())
    }

    #[must_use]
    pub fn key(&self, key: &str) -> Self {
        self.join(&[key.to_owned()])
    }

    #[must_use]
    pub fn index(&self, index: usize) -> Self {
        self.join(&[index.to_string()])
    }

    #[must_use]
    pub fn join(&self, steps: &[String]) -> Self {
        Self(self.0.iter().chain(steps).cloned().collect())
    }

    pub fn steps(&self) -> &[String] {
        &self.0
    }

    /// `key: `, or nothing for the whole file.
    pub(super) fn prefix(&self) -> String {
        if self.0.is_empty() { String::new() } else { format!("{self}: ") }
    }
}

impl fmt::Display for KeyPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, step) in self.0.iter().enumerate() {
            let bare = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
            if at > 0 && step.parse::<usize>().is_ok() {
                write!(f, "[{step}]")?;
                continue;
            }
            if at > 0 {
                f.write_str(".")?;
            }
            if !step.is_empty() && step.chars().all(bare) { f.write_str(step)? } else { write!(f, "{step:?}")? }
        }
        Ok(())
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File { name, position: Some(position) } => write!(f, "{name}:{position}"),
            Self::File { name, position: None } => f.write_str(name),
            Self::Override { name } => f.write_str(name),
        }
    }
}

/// Where a key's value stands, or, with `at_name`, the key itself.
pub(super) fn locate(document: &Document<String>, path: &KeyPath, at_name: bool) -> Option<Position> {
    let (above, last) = path.steps().split_last().map(|(last, above)| (above, last))?;
    let parent = above.iter().try_fold(document.as_item(), |item, step| member(item, step))?;
    let name = || parent.as_table_like()?.get_key_value(last)?.0.span();
    let value = member(parent, last)?;
    let span: Range<usize> = if at_name { name().or_else(|| value.span()) } else { value.span().or_else(name) }?;
    Some(Position::of(document.raw(), span.start))
}

/// Whether the file says `key = { … }` there, as opposed to a table with a header or dotted keys.
pub(super) fn is_inline_table(document: &Document<String>, path: &KeyPath) -> bool {
    let item = path.steps().iter().try_fold(document.as_item(), |item, step| member(item, step));
    item.and_then(Item::as_inline_table).is_some_and(|table| !table.is_dotted())
}

/// Whether the file has a table there, however it is written.
pub(super) fn is_table(document: &Document<String>, path: &KeyPath) -> bool {
    let item = path.steps().iter().try_fold(document.as_item(), |item, step| member(item, step));
    item.is_some_and(Item::is_table_like)
}

fn member<'a>(item: &'a Item, step: &str) -> Option<&'a Item> {
    if let Some(table) = item.as_table_like() {
        return table.get(step);
    }
    let index: usize = step.parse().ok()?;
    item.get(index)
}

/// A place and its key, as messages of other parts of the daemon begin.
pub(super) fn message_place(place: &Place, key: &KeyPath) -> String {
    format!("{place}: {key}")
}
