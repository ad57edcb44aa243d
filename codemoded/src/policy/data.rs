//! The data documents: JSON files, merged once, conflicts refused.

use std::path::PathBuf;

use indexmap::map::Entry;

use super::source::{MAX_BYTES, Place, PolicyError, Text};
use crate::value::{self, Bounds, Map, Value};

const BOUNDS: Bounds = Bounds { max_bytes: MAX_BYTES, max_depth: 32 };

/// Reads and merges the documents, or says everything that is wrong with them.
pub(super) fn merge(texts: &[Text]) -> Result<Map, Vec<PolicyError>> {
    let mut errors = Vec::new();
    let mut merged = Merged::default();
    for text in texts {
        match read(text) {
            Ok(members) => merged.add(members, text, &mut errors),
            Err(error) => errors.push(error),
        }
    }
    if errors.is_empty() { Ok(merged.members) } else { Err(errors) }
}

/// The merged document, and which file each leaf's path came from.
#[derive(Default)]
struct Merged {
    members: Map,
    origins: Vec<(String, PathBuf)>,
}

impl Merged {
    fn add(&mut self, members: Map, text: &Text, errors: &mut Vec<PolicyError>) {
        let mut twice = Vec::new();
        let mut added = Vec::new();
        join(&mut self.members, members, "data", &mut added, &mut twice);
        for path in twice {
            let first = self.origin(&path);
            errors.push(PolicyError::DataTwice { path, first, second: text.path.clone() });
        }
        self.origins.extend(added.into_iter().map(|path| (path, text.path.clone())));
    }

    /// The file whose added path is the longest beginning of this one, or continues it.
    fn origin(&self, path: &str) -> PathBuf {
        let related = |(added, _): &&(String, PathBuf)| path.starts_with(added.as_str()) || added.starts_with(path);
        self.origins
            .iter()
            .filter(related)
            .max_by_key(|(added, _)| added.len())
            .map(|(_, file)| file.clone())
            .unwrap_or_default()
    }
}

fn read(text: &Text) -> Result<Map, PolicyError> {
    let fault = |line: u32, message: String| PolicyError::Data { place: Place::at(&text.path, line), message };
    match value::read(text.text.as_bytes(), BOUNDS) {
        Ok(Value::Map(members)) => Ok(members),
        Ok(_) => Err(fault(1, "a data document must be a JSON object".into())),
        Err(error) => {
            let before = text.text.as_bytes().iter().take(error.at);
            let line = before.filter(|&&byte| byte == b'\n').count() + 1;
            Err(fault(u32::try_from(line).unwrap_or(u32::MAX), error.fault.to_string()))
        }
    }
}

/// Adds members to a map; where both sides have an object the objects are joined, otherwise a path that is there
/// already is a conflict.
fn join(into: &mut Map, from: Map, prefix: &str, added: &mut Vec<String>, twice: &mut Vec<String>) {
    for (key, new) in from {
        let path = format!("{prefix}.{key}");
        match into.entry(key) {
            Entry::Vacant(entry) => {
                entry.insert(new);
                added.push(path);
            }
            Entry::Occupied(mut entry) => match (entry.get_mut(), new) {
                (Value::Map(old), Value::Map(new)) => join(old, new, &path, added, twice),
                _ => twice.push(path),
            },
        }
    }
}
