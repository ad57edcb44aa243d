//! Every capability of one generation: checked together, compiled once, then only read.
//!
//! A disabled capability is checked like any other, so that enabling it later cannot be what breaks a start. After
//! that its ID stays for reports and nothing else of it does.

mod admit;
mod claims;
mod description;
mod fault;
mod matches;
mod nearest;

#[cfg(test)]
mod tests;

use std::collections::HashSet;
use std::sync::Arc;

use codemode_plugin_api::descriptor::CapabilityDescriptor;
pub use description::{Description, FieldDescription};
pub use fault::{CatalogFault, Origin, Problem};
pub use matches::Matches;

use super::search::{Document, Index, SearchResult};
use super::{Capability, Hints, Id, signature};
use crate::failure::Failure;
use crate::limits::Limits;

/// The most capabilities of one catalog, disabled ones included.
pub const MAX_CAPABILITIES: usize = 20_000;

/// A catalog with more capabilities keeps its schemas as text until they are used: nobody calls so many.
const MAX_AWAKE: usize = 1_000;

/// First segments that no capability may have: a program finds the language's own names under them.
pub const RESERVED_ROOTS: [&str; 44] = [
    "False",
    "None",
    "True",
    "abs",
    "all",
    "any",
    "attempt",
    "bool",
    "bytes",
    "call",
    "chr",
    "dict",
    "dir",
    "enumerate",
    "fail",
    "filter",
    "float",
    "getattr",
    "hasattr",
    "hash",
    "int",
    "json",
    "len",
    "list",
    "main",
    "map",
    "math",
    "max",
    "min",
    "ord",
    "parallel",
    "print",
    "range",
    "repr",
    "reversed",
    "set",
    "sorted",
    "str",
    "struct",
    "sum",
    "tuple",
    "type",
    "typing",
    "zip",
];

/// What a plugin says of one capability, before anything is checked.
#[derive(Clone, Debug)]
pub struct Registration {
    /// The plugin's instance.
    pub plugin: Arc<str>,
    /// Where its library is, for messages.
    pub library: Arc<str>,
    pub name: String,
    /// The name where there is none.
    pub id: Option<String>,
    pub summary: String,
    /// The summary where there is none.
    pub description: Option<String>,
    pub search_terms: Vec<String>,
    pub hints: Hints,
    /// The JSON text of a schema, as is the output.
    pub input: Box<str>,
    pub output: Box<str>,
}

impl Registration {
    /// What the instance `plugin` of the library at `library` offers.
    pub fn new(plugin: &Arc<str>, library: &Arc<str>, offer: CapabilityDescriptor) -> Self {
        let CapabilityDescriptor { name, id, summary, description, search_terms, hints, input, output, kind: _ } =
            offer;
        Self {
            plugin: Arc::clone(plugin),
            library: Arc::clone(library),
            name,
            id,
            summary,
            description,
            search_terms,
            hints: Hints {
                read_only: hints.read_only,
                destructive: hints.destructive,
                idempotent: hints.idempotent,
                open_world: hints.open_world,
            },
            input: input.into_text(),
            output: output.into_text(),
        }
    }
}

/// The enabled capabilities of one generation.
#[derive(Debug, Default)]
pub struct Catalog {
    /// In name order.
    entries: Vec<Entry>,
    /// Places in `entries`, in the order of the IDs.
    by_id: Vec<u32>,
    disabled: Vec<Id>,
    index: Index,
}

/// A capability and what each search that finds it needs.
#[derive(Debug)]
struct Entry {
    capability: Arc<Capability>,
    signature: Box<str>,
    /// Bytes of its search result as compact JSON.
    result_bytes: usize,
}

impl Catalog {
    /// Checks everything that the plugins registered, and reports every fault together. `disabled` says of each ID
    /// where the configuration has it.
    pub fn build(registrations: Vec<Registration>, disabled: &[(String, Id)]) -> Result<Self, Vec<CatalogFault>> {
        if registrations.len() > MAX_CAPABILITIES {
            return Err(vec![CatalogFault::TooMany { count: registrations.len() }]);
        }
        let mut faults = claims::collisions(&registrations);
        faults.extend(claims::unknown_ids(&registrations, disabled));
        let rests = registrations.len() > MAX_AWAKE;
        let mut entries = Vec::with_capacity(registrations.len());
        for admitted in admit::all(registrations, rests) {
            match admitted {
                Ok(entry) => entries.push(entry),
                Err(problems) => faults.extend(problems),
            }
        }
        if faults.is_empty() { Ok(Self::assemble(entries, disabled)) } else { Err(faults) }
    }

    fn assemble(mut entries: Vec<Entry>, disabled: &[(String, Id)]) -> Self {
        let disabled: HashSet<&Id> = disabled.iter().map(|(_, id)| id).collect();
        entries.retain(|entry| !disabled.contains(&entry.capability.id));
        entries.shrink_to_fit();
        entries.sort_unstable_by(|left, right| left.capability.name.cmp(&right.capability.name));

        let ids: Vec<&Id> = entries.iter().map(|entry| &entry.capability.id).collect();
        let mut by_id: Vec<u32> = (0..).take(entries.len()).collect();
        by_id.sort_unstable_by_key(|&place| ids.get(place as usize));

        let index = Index::build(entries.iter().map(|entry| Document {
            name: &entry.capability.name,
            terms: &entry.capability.search_terms,
            summary: &entry.capability.summary,
            description: &entry.capability.description,
        }));
        let mut disabled: Vec<Id> = disabled.into_iter().cloned().collect();
        disabled.sort_unstable();
        Self { entries, by_id, disabled, index }
    }

    /// The enabled capability of exactly this name.
    pub fn get(&self, name: &str) -> Option<&Arc<Capability>> {
        self.entry(name).map(|entry| &entry.capability)
    }

    /// The enabled capabilities that a misspelt name may mean, the nearest first.
    pub fn near(&self, name: &str) -> Vec<&Arc<Capability>> {
        /// Nobody misspells a name as a text of this length.
        const MAX_MISSPELT: usize = 200;
        if name.len() > MAX_MISSPELT {
            return Vec::new();
        }
        // A slip or two, more in a long name: what is further off is another capability.
        let bound = 1 + name.chars().count() / 10;
        let capabilities = self.entries.iter().map(|entry| &entry.capability);
        let mut near: Vec<_> =
            capabilities.filter_map(|each| Some((nearest::distance(name, each.name.as_str(), bound)?, each))).collect();
        near.sort_by_key(|(distance, _)| *distance);
        near.into_iter().map(|(_, capability)| capability).collect()
    }

    /// The enabled capability of exactly this ID.
    pub fn by_id(&self, id: &str) -> Option<&Arc<Capability>> {
        let capability_at = |place: u32| self.entries.get(place as usize).map(|entry| &entry.capability);
        let found = self
            .by_id
            .binary_search_by(|&place| capability_at(place).map_or("", |capability| capability.id.as_str()).cmp(id));
        self.by_id.get(found.ok()?).and_then(|&place| capability_at(place))
    }

    /// The enabled capabilities in name order.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<Capability>> {
        self.entries.iter().map(|entry| &entry.capability)
    }

    pub fn len(&self) -> usize {
        self.entries.len()
    }

    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The IDs that the configuration disables, sorted.
    pub fn disabled(&self) -> &[Id] {
        &self.disabled
    }

    /// Everything an agent may know of the enabled capability of exactly this name.
    pub fn describe(&self, name: &str) -> Option<Description> {
        self.entry(name).map(|entry| Description::new(&entry.capability, &entry.signature))
    }

    /// The capabilities that match the words of a task, before they are ranked.
    pub fn matching(&self, query: &str, limits: &Limits) -> Result<Matches<'_>, Failure> {
        Ok(Matches::new(&self.entries, self.index.matching(query, limits)?))
    }

    fn entry(&self, name: &str) -> Option<&Entry> {
        let found = self.entries.binary_search_by(|entry| entry.capability.name.as_str().cmp(name)).ok()?;
        self.entries.get(found)
    }
}

impl Entry {
    fn new(mut capability: Capability, rests: bool) -> Self {
        let signature = signature::signature(&capability.name, &capability.input).into_boxed_str();
        if rests {
            capability.input.rest();
            capability.output.rest();
        }
        let mut entry = Self { capability: Arc::new(capability), signature, result_bytes: 0 };
        entry.result_bytes = serde_json::to_string(&entry.result()).map_or(usize::MAX, |json| json.len());
        entry
    }

    fn result(&self) -> SearchResult {
        SearchResult {
            name: self.capability.name.to_string(),
            signature: self.signature.to_string(),
            summary: self.capability.summary.clone(),
        }
    }
}
