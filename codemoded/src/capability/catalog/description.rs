//! One capability, in full.

use crate::capability::schema::Field;
use crate::capability::{Capability, Hints, signature};

/// Everything an agent may know of one capability. The fields stand in the order in which they are shown.
#[derive(Debug, serde::Serialize)]
pub struct Description {
    pub name: String,
    pub signature: String,
    pub summary: String,
    pub description: String,
    /// A call of it, on one line.
    pub example: String,
    pub input: Vec<Field>,
    pub output: Vec<Field>,
    pub hints: Hints,
}

impl Description {
    pub(super) fn new(capability: &Capability, signature: &str) -> Self {
        Self {
            name: capability.name.to_string(),
            signature: signature.to_owned(),
            summary: capability.summary.clone(),
            description: capability.description.clone(),
            example: signature::example(capability),
            input: capability.input.fields(),
            output: capability.output.fields(),
            hints: capability.hints,
        }
    }
}
