//! The names that a call may use.
//!
//! JSON Schema lets an object have members that nobody declared. A call is different: a name that the schema
//! mentions nowhere is a slip, unless the schema says that it takes others.

use std::collections::HashSet;

use indexmap::IndexSet;
use serde_json::Value as Text;

use super::diagnostic::{Diagnostic, Problem, Step, nearest};
use super::scan::{Dialect, Scan, SourceId};
use crate::value::Map;

/// Every argument name that a schema mentions, whatever it demands of it.
#[derive(Debug, Default)]
pub(super) struct Arguments {
    known: IndexSet<String>,
    /// Says itself that it takes others.
    open: bool,
}

impl Arguments {
    pub(super) fn of(scan: &Scan<'_>) -> Self {
        let mut arguments = Self::default();
        let mut seen = HashSet::new();
        let mut pending = vec![Scan::ROOT];
        while let Some(id) = pending.pop() {
            if !seen.insert(id) {
                continue;
            }
            let Some(source) = scan.source(id) else { continue };
            pending.extend(source.target);
            let stands_alone = scan.dialect == Dialect::Draft7 && source.target.is_some();
            if let (Text::Object(members), false) = (source.schema, stands_alone) {
                for (keyword, value) in members {
                    arguments.note(keyword, value);
                    pending.extend(in_place(scan, keyword, value));
                }
            }
        }
        arguments
    }

    pub(super) fn is_open(&self) -> bool {
        self.open
    }

    /// Refuses a name that the schema does not know.
    pub(super) fn check_names(&self, arguments: &Map) -> Result<(), Diagnostic> {
        match arguments.keys().find(|name| !self.open && !self.known.contains(*name)) {
            None => Ok(()),
            Some(name) => {
                let near = nearest(name, self.known.iter().map(String::as_str)).map(str::to_owned);
                Err(Diagnostic::argument(Problem::Unknown { near }).inside(Step::Name(name.clone())))
            }
        }
    }

    fn note(&mut self, keyword: &str, value: &Text) {
        match (keyword, value) {
            ("properties", Text::Object(properties)) => self.known.extend(properties.keys().cloned()),
            ("required", Text::Array(names)) => {
                self.known.extend(names.iter().filter_map(Text::as_str).map(str::to_owned));
            }
            ("dependentRequired", Text::Object(lists)) => {
                let names = lists.values().filter_map(Text::as_array).flatten().filter_map(Text::as_str);
                self.known.extend(names.map(str::to_owned));
            }
            ("additionalProperties" | "unevaluatedProperties", value) => self.open |= *value != Text::Bool(false),
            ("patternProperties", Text::Object(patterns)) => self.open |= !patterns.is_empty(),
            _ => {}
        }
    }
}

/// The subschemas under the keyword that speak about the same object.
fn in_place(scan: &Scan<'_>, keyword: &str, value: &Text) -> Vec<SourceId> {
    let schemas: Vec<&Text> = match (keyword, value) {
        ("allOf" | "anyOf" | "oneOf", Text::Array(schemas)) => schemas.iter().collect(),
        ("dependentSchemas" | "dependencies", Text::Object(schemas)) => schemas.values().collect(),
        ("if" | "then" | "else", schema) => vec![schema],
        _ => Vec::new(),
    };
    schemas.into_iter().filter_map(|schema| scan.at_address(schema)).collect()
}
