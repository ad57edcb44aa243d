//! Entries under keys, kept in SQLite.
//!
//! A key has any number of entries, in the order in which they were put, each a JSON value that comes back exactly.
#![forbid(unsafe_code)]

mod store;

use std::path::PathBuf;

use codemode_plugin_api::prelude::*;

use crate::store::{Store, StoreError};

/// What an operator configures.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// The SQLite file, created where there is none. Relative to the configuration file.
    database: PathBuf,
    /// The file grows no larger than so many bytes; 1 GiB if absent.
    #[serde(default = "default_max_database_bytes")]
    #[schemars(range(min = 65536))]
    max_database_bytes: u64,
}

/// An instance: one open database.
#[derive(Debug)]
pub struct Records {
    store: Store,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Put {
    /// The key to append under.
    #[schemars(length(min = 1, max = 512))]
    key: String,
    /// The entry: any value, kept exactly.
    value: Json,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Lookup {
    /// The key to count under.
    #[schemars(length(min = 1, max = 512))]
    key: String,
    /// Count no further than this; all entries if omitted.
    #[schemars(range(min = 1, max = 1000000000))]
    limit: Option<u32>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Key {
    /// The whole key.
    #[schemars(length(min = 1, max = 512))]
    key: String,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Search {
    /// The text to find in keys and entries; case makes no difference.
    #[schemars(length(min = 1, max = 512))]
    text: String,
    /// At most so many matches.
    #[serde(default = "default_hits")]
    #[schemars(range(min = 1, max = 1000))]
    limit: u32,
}

#[derive(Debug, Serialize, JsonSchema)]
struct Counted {
    key: String,
    /// Entries under the key.
    count: u64,
}

#[derive(Debug, Serialize, JsonSchema)]
struct Entries {
    /// In the order in which they were put; empty for an unknown key.
    entries: Vec<Json>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct Matches {
    /// In the order in which they were put.
    matches: Vec<Match>,
    /// How many there are, those beyond `limit` included.
    total: u64,
}

#[derive(Debug, Serialize, JsonSchema)]
struct Match {
    key: String,
    entry: Json,
}

#[derive(Debug, Serialize, JsonSchema)]
struct Deleted {
    key: String,
    /// Entries that were removed; 0 for an unknown key.
    deleted: u64,
}

impl Plugin for Records {
    type Settings = Settings;

    fn start(settings: Settings, host: &Host) -> Result<Self, StartError> {
        let path = host.resolve(settings.database);
        Ok(Self { store: Store::open(&path, settings.max_database_bytes)? })
    }

    fn capabilities(c: &mut Capabilities<Self>) {
        c.namespace_configurable();
        c.add("records.put", put)
            .summary("Append an entry under a key.")
            .description(PUT)
            .terms(["store", "save", "write", "add", "insert", "record", "remember", "log", "database"])
            .destructive(false);
        c.add("records.lookup", lookup)
            .id("records.entry.lookup")
            .summary("Count the entries under a key.")
            .description(LOOKUP)
            .terms(["exists", "has", "number", "size", "record", "database"])
            .read_only()
            .idempotent();
        c.add("records.entries", entries)
            .summary("Get all entries under a key, in order.")
            .description("Gives each entry exactly as it was put, the oldest first; none for an unknown key.")
            .terms(["read", "load", "fetch", "list", "values", "record", "recall", "database"])
            .read_only()
            .idempotent();
        c.add("records.search", search)
            .id("records.entry.search")
            .summary("Find records whose key or entry contains a text.")
            .description(SEARCH)
            .terms(["query", "contains", "filter", "record", "keys", "look", "database"])
            .read_only()
            .idempotent();
        c.add("records.delete", delete)
            .id("records.entry.delete")
            .summary("Delete all entries under a key.")
            .description("Removes them for good and tells how many there were; an unknown key is no error.")
            .terms(["remove", "drop", "clear", "erase", "forget", "record", "database"])
            .destructive(true)
            .idempotent();
    }

    fn health(&self) -> Result<(), CapabilityError> {
        self.store.probe().map_err(CapabilityError::from)
    }
}

export!(Records);

const PUT: &str = "\
Entries are never replaced: each call adds one more after the others. Gives the count of entries under the key with \
this one. Any value is kept exactly, integers of every size and the order of a dict's keys included.";

const LOOKUP: &str = "\
Gives 0 for an unknown key. With `limit`, the count stops there, which is all that is needed to know whether there are \
any.";

const SEARCH: &str = "\
An entry matches where its key holds the text, or its JSON text does (strings, names and numbers at any depth). `total` \
counts every match, also those that `limit` or the size of the answer left out.";

fn put(records: &Records, call: &Call, input: Put) -> Result<Counted, CapabilityError> {
    let count = records.store.put(call, &input.key, input.value.text()).map_err(told)?;
    Ok(Counted { key: input.key, count })
}

fn lookup(records: &Records, call: &Call, input: Lookup) -> Result<Counted, CapabilityError> {
    let count = records.store.count(call, &input.key, input.limit).map_err(told)?;
    Ok(Counted { key: input.key, count })
}

fn entries(records: &Records, call: &Call, input: Key) -> Result<Entries, CapabilityError> {
    let values = records.store.values(call, &input.key).map_err(told)?;
    Ok(Entries { entries: values.iter().map(|value| value.parse()).collect::<Result<_, _>>()? })
}

fn search(records: &Records, call: &Call, input: Search) -> Result<Matches, CapabilityError> {
    let hits = records.store.search(call, &input.text, input.limit as usize).map_err(told)?;
    let matches = hits
        .entries
        .into_iter()
        .map(|entry| Ok(Match { key: entry.key, entry: entry.value.parse()? }))
        .collect::<Result<_, CapabilityError>>()?;
    Ok(Matches { matches, total: hits.total })
}

fn delete(records: &Records, call: &Call, input: Key) -> Result<Deleted, CapabilityError> {
    let deleted = records.store.delete(call, &input.key).map_err(told)?;
    Ok(Deleted { key: input.key, deleted })
}

/// What the calling program may read of an error: all but what it has no part in.
fn told(error: StoreError) -> CapabilityError {
    match error {
        StoreError::Cancelled | StoreError::Sqlite(_) => error.into(),
        StoreError::Busy | StoreError::Full | StoreError::Oversized => CapabilityError::published(error.to_string()),
    }
}

fn default_hits() -> u32 {
    20
}

fn default_max_database_bytes() -> u64 {
    1024 * 1024 * 1024
}

#[cfg(test)]
mod tests;
