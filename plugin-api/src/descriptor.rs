//! What a library says of itself: the part of the boundary that grows. A new key is optional, and a reader ignores
//! the keys that it does not know, so that old plugins and new hosts, and new plugins and old hosts, understand each
//! other.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::json::Json;

/// One library, before any instance of it exists.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Descriptor {
    /// The ABI that it was built for.
    pub abi: u32,
    /// The name of the package that it was built from.
    pub name: String,
    /// The version of that package.
    pub version: String,
    /// One line that says what it is for; may be empty.
    #[serde(default)]
    pub summary: String,
    /// Whether the name of an instance takes the place of the first segment in its capabilities' names and IDs.
    #[serde(default)]
    pub namespace_configurable: bool,
    /// The JSON Schema (draft 2020-12) of an instance's settings: an object.
    pub settings: Value,
    /// What an instance can be asked for, by name.
    #[serde(default)]
    pub operations: Vec<String>,
    /// What its instances offer, in the order in which the author wrote it.
    pub capabilities: Vec<CapabilityDescriptor>,
}

/// One capability, as its author describes it. Its schemas stay text: of thousands of capabilities few are ever looked
/// into, and read schemas take many times the room.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct CapabilityDescriptor {
    /// The dotted path by which a program calls it.
    pub name: String,
    /// The stable identity for policy; the name where there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// One sentence.
    #[serde(default)]
    pub summary: String,
    /// What the summary leaves out; the summary where there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Words by which an agent may look for it and that its other texts lack.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub search_terms: Vec<String>,
    /// What it does to the world.
    #[serde(default)]
    pub hints: HintsDescriptor,
    /// The JSON Schema (draft 2020-12) of its arguments: an object.
    pub input: Json,
    /// The JSON Schema (draft 2020-12) of its result.
    pub output: Json,
    /// How it is called.
    pub kind: CallKind,
}

/// What an author says of a capability's effects, where the author says anything.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HintsDescriptor {
    /// It changes nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read_only: Option<bool>,
    /// What it changes may be lost; without meaning where it is read-only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub destructive: Option<bool>,
    /// A second call with the same arguments changes nothing more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idempotent: Option<bool>,
    /// It reaches systems that this instance does not own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub open_world: Option<bool>,
}

/// How a capability is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CallKind {
    /// Through `invoke`, on a thread of the host that it may block.
    Blocking,
    /// Through `start`, on the library's own runtime.
    Async,
}
