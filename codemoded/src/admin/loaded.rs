//! What is served now: from which files, and by which hashes they are known.

use std::path::PathBuf;
use std::time::UNIX_EPOCH;

use serde::Serialize;

use crate::generation::Generation;
use crate::origin::{Hash, Origin};
use crate::plugin::{Instance, copies_held};

/// One generation.
#[derive(Debug, Serialize)]
pub(super) struct Loaded {
    number: u64,
    /// Seconds since 1970.
    loaded_at: u64,
    version: &'static str,
    configuration: Origin,
    capabilities: usize,
    disabled: Vec<String>,
    policy: Policy,
    plugins: Vec<Plugin>,
    /// Libraries that the process holds in memory, by content; none is ever given back.
    plugin_copies: usize,
}

#[derive(Debug, Serialize)]
struct Policy {
    summary: String,
    files: Vec<Origin>,
}

#[derive(Debug, Serialize)]
struct Plugin {
    name: String,
    version: String,
    library: PathBuf,
    sha256: Hash,
    capabilities: usize,
}

impl Loaded {
    pub(super) fn of(generation: &Generation) -> Self {
        let Generation { number, since, configuration, catalog, policy, plugins, .. } = generation;
        Self {
            number: *number,
            loaded_at: since.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs(),
            version: env!("CARGO_PKG_VERSION"),
            configuration: configuration.clone(),
            capabilities: catalog.len(),
            disabled: catalog.disabled().iter().map(ToString::to_string).collect(),
            policy: Policy { summary: policy.summary().to_owned(), files: policy.origins().to_vec() },
            plugins: plugins.instances().iter().map(|instance| Plugin::of(instance)).collect(),
            plugin_copies: copies_held(),
        }
    }
}

impl Plugin {
    fn of(instance: &Instance) -> Self {
        Self {
            name: instance.name().to_string(),
            version: instance.version().to_owned(),
            library: instance.library().to_owned(),
            sha256: Hash(*instance.digest()),
            capabilities: instance.offers(),
        }
    }
}
