//! One capability, in full.

use crate::capability::schema::Field;
use crate::capability::{Capability, Hints, signature};

/// Everything an agent may know of one capability. The fields stand in the order in which they are shown.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct Description {
    pub name: String,
    pub signature: String,
    pub summary: String,
    pub description: String,
    /// A call of it, on one line.
    pub example: String,
    pub input: Vec<FieldDescription>,
    pub output: Vec<FieldDescription>,
    pub hints: Hints,
}

/// One field as an agent reads of it.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct FieldDescription {
    pub name: String,
    #[serde(rename = "type")]
    pub ty: String,
    pub required: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default: Option<serde_json::Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub constraints: Option<String>,
}

impl Description {
    pub(super) fn new(capability: &Capability, signature: &str) -> Self {
        let fields = |fields: Vec<Field>| fields.into_iter().map(FieldDescription::from).collect();
        Self {
            name: capability.name.to_string(),
            signature: signature.to_owned(),
            summary: capability.summary.clone(),
            description: capability.description.clone(),
            example: signature::example(capability),
            input: fields(capability.input.fields()),
            output: fields(capability.output.fields()),
            hints: capability.hints,
        }
    }
}

impl From<Field> for FieldDescription {
    fn from(field: Field) -> Self {
        let Field { name, ty, required, description, default, constraints } = field;
        Self { name, ty, required, description, default: default.map(|value| value.to_serde()), constraints }
    }
}
