//! How many settings came from where, as `codemoded check` says it first.

use std::fmt;
use std::sync::Arc;

use figment::value::Value;

use super::place::KeyPath;
use super::sources::{Merged, Origin};

/// Settings by source. A list counts as one, and so does a referenced file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Summary {
    /// The configuration file, as it was given.
    pub file: Arc<str>,
    pub from_file: usize,
    /// The keys.
    pub from_environment: Vec<String>,
    /// The keys.
    pub from_flags: Vec<String>,
}

impl Summary {
    pub(super) fn of(merged: &Merged) -> Self {
        let (from_environment, from_flags) = (Vec::new(), Vec::new());
        let mut summary = Self { file: Arc::clone(&merged.name), from_file: 0, from_environment, from_flags };
        summary.count(merged, &merged.tree, &KeyPath::root());
        summary
    }

    fn count(&mut self, merged: &Merged, node: &Value, path: &KeyPath) {
        match node {
            Value::Dict(_, members) => {
                members.iter().for_each(|(key, value)| self.count(merged, value, &path.key(key)))
            }
            Value::Array(_, items) if items.iter().any(|item| item.as_dict().is_some()) => {
                items.iter().enumerate().for_each(|(index, item)| self.count(merged, item, &path.index(index)));
            }
            Value::Array(..)
            | Value::String(..)
            | Value::Char(..)
            | Value::Bool(..)
            | Value::Num(..)
            | Value::Empty(..) => match merged.figment.get_metadata(node.tag()).map_or(Origin::File, Origin::of) {
                Origin::File => self.from_file += 1,
                Origin::Environment => self.from_environment.push(path.to_string()),
                Origin::Flag => self.from_flags.push(path.to_string()),
            },
        }
    }
}

/// `12 settings from file, 1 from environment (server.listen)`, without the file's name.
impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let settings = if self.from_file == 1 { "setting" } else { "settings" };
        write!(f, "{} {settings} from file", self.from_file)?;
        for (source, keys) in [("environment", &self.from_environment), ("flags", &self.from_flags)] {
            if !keys.is_empty() {
                write!(f, ", {} from {source} ({})", keys.len(), keys.join(", "))?;
            }
        }
        Ok(())
    }
}
