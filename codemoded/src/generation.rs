//! One immutable build of catalog, policy, plugins and limits, and the handle on the one in force.

use std::io;
use std::sync::Arc;

use crate::capability::catalog::Catalog;
use crate::limits::Limits;
use crate::plugin::Plugins;
use crate::policy::Policy;
use crate::worker::manifest::{self, ManifestError};
use crate::worker::Outfit;
use crate::worker::protocol::Budgets;

/// Everything that a request is served with. A run keeps the generation that it began with.
#[derive(Debug)]
pub struct Generation {
    pub catalog: Catalog,
    pub policy: Policy,
    pub plugins: Plugins,
    pub limits: Limits,
    pub outfit: Outfit,
}

/// The generation in force; cheap to clone.
#[derive(Clone, Debug)]
pub struct Current(Arc<Generation>);

/// The catalog cannot be handed to workers.
#[derive(Debug, thiserror::Error)]
pub enum GenerationError {
    #[error("cannot write the catalog for the workers")]
    Manifest(#[source] ManifestError),
    #[error("cannot keep the catalog in memory for the workers")]
    Seal(#[source] io::Error),
}

impl Generation {
    pub fn new(catalog: Catalog, policy: Policy, plugins: Plugins, limits: Limits) -> Result<Self, GenerationError> {
        let entries: Vec<_> =
            catalog.iter().map(|each| (each.name.as_str(), each.input.source().to_string())).collect();
        let manifest = manifest::write(entries.into_iter()).map_err(GenerationError::Manifest)?;
        let manifest = Arc::new(manifest::seal(&manifest).map_err(GenerationError::Seal)?);
        let outfit = Outfit { manifest, budgets: Budgets::from(&limits) };
        Ok(Self { catalog, policy, plugins, limits, outfit })
    }
}

impl Current {
    pub fn new(generation: Generation) -> Self {
        Self(Arc::new(generation))
    }

    pub fn get(&self) -> Arc<Generation> {
        Arc::clone(&self.0)
    }
}

impl From<&Limits> for Budgets {
    fn from(limits: &Limits) -> Self {
        let narrow = |value: usize| u32::try_from(value).unwrap_or(u32::MAX);
        Self {
            max_execution_steps: limits.max_execution_steps,
            max_native_calls: limits.max_native_calls,
            max_parallel_calls: narrow(limits.max_parallel_calls),
            max_value_depth: narrow(limits.max_value_depth),
            max_value_bytes: limits.max_value_bytes as u64,
            max_result_bytes: limits.max_result_bytes as u64,
            max_worker_memory: limits.max_worker_memory,
            // Whole seconds, and one more: the daemon's own clock comes first.
            max_cpu_secs: limits.max_execution_time.as_secs() + 2,
        }
    }
}
