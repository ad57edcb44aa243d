//! What the office holds: kinds of records with their fields, and the records themselves.

use std::collections::BTreeMap;

use codemode_plugin_api::prelude::*;
use serde_json::{Value, json};

use crate::untyped::Members;

/// Everything that the office's file says.
#[derive(Clone, Deserialize)]
pub(crate) struct Office {
    pub(crate) kinds: BTreeMap<String, Kind>,
    /// Which kind the operations under a name are about.
    about: BTreeMap<String, String>,
    /// What operations take that take neither all of a record's fields nor only its ID.
    pub(crate) inputs: BTreeMap<String, Taken>,
    /// What operations that are no plain change set.
    pub(crate) effects: BTreeMap<String, Members>,
    /// Operations that always answer the same.
    pub(crate) fixed: BTreeMap<String, Fixed>,
}

/// One kind of records.
#[derive(Clone, Deserialize)]
pub(crate) struct Kind {
    pub(crate) fields: Fields,
    /// Fields without which none can be made.
    pub(crate) needs: Vec<String>,
    pub(crate) records: Vec<Members>,
}

#[derive(Clone, Deserialize)]
pub(crate) struct Taken {
    pub(crate) fields: Fields,
    pub(crate) needs: Vec<String>,
}

#[derive(Clone, Deserialize)]
pub(crate) struct Fixed {
    pub(crate) input: Fields,
    pub(crate) needs: Vec<String>,
    pub(crate) output: Value,
}

/// Fields by name, in order, with their types in short.
#[derive(Clone, Deserialize)]
#[serde(transparent)]
pub(crate) struct Fields(pub(crate) Members);

impl Office {
    pub(crate) fn read() -> Self {
        // A file that does not fit is seen by the first test that wants anything of it.
        serde_json::from_str(include_str!("records.json")).unwrap_or_else(|_| Self {
            kinds: BTreeMap::new(),
            about: BTreeMap::new(),
            inputs: BTreeMap::new(),
            effects: BTreeMap::new(),
            fixed: BTreeMap::new(),
        })
    }

    /// The kind that the operation is about: that of the longest known beginning of its name.
    pub(crate) fn kind_of(&self, operation: &str) -> Option<&str> {
        let ends = operation.match_indices('.').map(|(at, _)| at).chain([operation.len()]);
        let beginnings = ends.filter_map(|end| operation.get(..end)).collect::<Vec<_>>();
        beginnings.into_iter().rev().find_map(|beginning| self.about.get(beginning)).map(String::as_str)
    }
}

impl Fields {
    /// The schema of an object of these fields.
    pub(crate) fn schema(&self, needs: &[String]) -> Value {
        object(self.properties(), needs)
    }

    pub(crate) fn properties(&self) -> Members {
        self.0.iter().map(|(name, kind)| (name.clone(), schema(kind))).collect()
    }

    /// The fields by which records can be chosen.
    pub(crate) fn plain(&self) -> Members {
        self.0.iter().filter(|(_, kind)| *kind != "list").map(|(name, kind)| (name.clone(), kind.clone())).collect()
    }
}

impl Kind {
    /// The schema of one record.
    pub(crate) fn record(&self) -> Value {
        let mut fields = Members::from_iter([("id".to_owned(), json!("str"))]);
        fields.extend(self.fields.0.clone());
        Fields(fields).schema(&["id".to_owned()])
    }
}

pub(crate) fn object(properties: Members, needs: &[String]) -> Value {
    json!({"type": "object", "properties": properties, "required": needs})
}

fn schema(kind: &Value) -> Value {
    match kind.as_str().unwrap_or_default() {
        "int" => json!({"type": "integer"}),
        "bool" => json!({"type": "boolean"}),
        "list" => json!({"type": "array", "items": {"type": "string"}}),
        "email" => json!({"type": "string", "format": "email"}),
        "date" => json!({"type": "string", "format": "date", "description": "Such as 2026-03-02."}),
        "datetime" => {
            json!({"type": "string", "format": "date-time", "description": "UTC, such as 2026-03-02T08:15:00Z."})
        }
        other => match other.strip_prefix("enum:") {
            Some(values) => json!({"enum": values.split('|').collect::<Vec<_>>()}),
            None => json!({"type": "string"}),
        },
    }
}
