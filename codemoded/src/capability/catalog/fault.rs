//! What keeps a catalog from being built, said so that whoever reads it knows whose fault it is and how to mend it.

use std::fmt;
use std::sync::Arc;

use super::MAX_CAPABILITIES;
use super::admit::{MAX_DESCRIPTION_BYTES, MAX_ID_BYTES, MAX_SUMMARY_BYTES, MAX_TERM_BYTES, MAX_TERMS};
use crate::capability::search::MAX_RESPONSE_BYTES;
use crate::capability::{Id, InvalidName};

/// One reason why a catalog cannot be built.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CatalogFault {
    #[error("{origin}: {problem}")]
    Registration { origin: Origin, problem: Problem },
    #[error("{place}: no capability has the ID `{id}`{}", suggestion(nearest.as_deref()))]
    UnknownDisabled { place: String, id: Id, nearest: Option<String> },
    #[error("{count} capabilities are registered, and {MAX_CAPABILITIES} are the most")]
    TooMany { count: usize },
}

/// A capability as it was registered, and by whom.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Origin {
    pub plugin: Arc<str>,
    pub library: Arc<str>,
    /// As written, whether or not it is a name.
    pub name: String,
}

/// What is wrong with one registration.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Problem {
    #[error(transparent)]
    Name(#[from] InvalidName),
    #[error("`{0}` is a name of the language, so no capability's name may begin with it")]
    ReservedRoot(String),
    #[error("the name is also that of {0}")]
    NameTaken(Origin),
    #[error("the name is also the namespace of {0}")]
    Namespace(Origin),
    #[error("the ID `{id}` is also that of {other}")]
    IdTaken { id: String, other: Origin },
    #[error("an ID is 1 to {MAX_ID_BYTES} bytes without white space or control characters")]
    Id,
    #[error("the summary is empty")]
    NoSummary,
    #[error("the summary has {0} bytes, and {MAX_SUMMARY_BYTES} are the most")]
    Summary(usize),
    #[error("the description has {0} bytes, and {MAX_DESCRIPTION_BYTES} are the most")]
    Description(usize),
    #[error("there are {0} search terms, and {MAX_TERMS} are the most")]
    Terms(usize),
    #[error("the search terms have {0} bytes, and {MAX_TERM_BYTES} are the most")]
    TermBytes(usize),
    #[error("input schema: {0}")]
    Input(String),
    #[error("output schema: {0}")]
    Output(String),
    #[error("its search result has {0} bytes, which do not fit into an answer of {MAX_RESPONSE_BYTES}")]
    Result(usize),
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "capability `{}` of plugin `{}` ({})", self.name, self.plugin, self.library)
    }
}

fn suggestion(nearest: Option<&str>) -> String {
    nearest.map_or_else(String::new, |nearest| format!("; did you mean `{nearest}`?"))
}
