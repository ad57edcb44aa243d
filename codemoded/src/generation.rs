//! One immutable build of catalog, policy, plugins and limits, and the handle on the one in force.

use std::io;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::{Instant, SystemTime};

use crate::capability::Capability;
use crate::capability::catalog::{Catalog, Description};
use crate::capability::search::SearchResponse;
use crate::failure::Failure;
use crate::identity::Subject;
use crate::limits::Limits;
use crate::mcp::http::Door;
use crate::origin::Origin;
use crate::plugin::Plugins;
use crate::policy::{Asked, Policy};
use crate::worker::manifest::{self, ManifestError};
use crate::worker::protocol::Budgets;
use crate::worker::{Outfit, Pool, Start};

/// Everything that a request is served with. A request keeps the generation that it came in with, and so does its run.
#[derive(Debug)]
pub struct Generation {
    /// The first is 1; each reload that succeeds makes the next.
    pub number: u64,
    pub since: SystemTime,
    /// The configuration file that describes it.
    pub configuration: Origin,
    pub catalog: Catalog,
    pub policy: Policy,
    pub plugins: Plugins,
    pub limits: Limits,
    pub door: Door,
    pub pool: Pool,
    /// In the order of the workers' map.
    numbered: Vec<Arc<Capability>>,
}

/// What a generation is put together from.
#[derive(Debug)]
pub struct Parts {
    pub number: u64,
    pub configuration: Origin,
    pub catalog: Catalog,
    pub policy: Policy,
    pub plugins: Plugins,
    pub limits: Limits,
    pub door: Door,
}

/// The generation in force; cheap to clone, and all clones see the same.
#[derive(Clone, Debug)]
pub struct Current(Arc<RwLock<Arc<Generation>>>);

/// The catalog cannot be handed to workers.
#[derive(Debug, thiserror::Error)]
pub enum GenerationError {
    #[error("cannot write the catalog for the workers")]
    Manifest(#[source] ManifestError),
    #[error("cannot keep the catalog in memory for the workers")]
    Seal(#[source] io::Error),
}

impl Generation {
    /// Puts the parts together; `pool` starts the workers that are given this catalog.
    pub fn new(
        parts: Parts,
        start: Start,
        confine: bool,
        pool: impl FnOnce(Outfit) -> Pool,
    ) -> Result<Self, GenerationError> {
        let Parts { number, configuration, catalog, policy, plugins, limits, door } = parts;
        let entries: Vec<_> = catalog.iter().map(|each| (each.name.as_str(), each.input.source())).collect();
        let manifest = manifest::write(&entries).map_err(GenerationError::Manifest)?;
        let manifest = Arc::new(manifest::seal(&manifest).map_err(GenerationError::Seal)?);
        let outfit =
            Outfit { manifest, budgets: Budgets::from(&limits), start, confine, discovers: policy.discovers() };
        let pool = pool(outfit);
        let numbered = catalog.iter().map(Arc::clone).collect();
        let since = SystemTime::now();
        Ok(Self { number, since, configuration, catalog, policy, plugins, limits, door, pool, numbered })
    }

    /// The capability that workers know by this number.
    pub fn numbered(&self, number: u32) -> Option<&Arc<Capability>> {
        self.numbered.get(usize::try_from(number).ok()?)
    }

    /// What `search_api` answers for a subject.
    pub async fn search(&self, subject: &Subject, query: &str) -> Result<SearchResponse, Failure> {
        let mut matches = self.catalog.matching(query, &self.limits)?;
        if self.policy.discovers() {
            let asked = matches.capabilities().map(|each| Asked::from(&**each)).collect();
            matches.retain(&self.policy.visible(subject, asked, self.discovery_deadline()).await);
        }
        Ok(matches.response(&self.limits))
    }

    /// What `describe_api` answers for a subject.
    pub async fn describe(&self, subject: &Subject, name: &str) -> Result<Description, Failure> {
        let found = match self.catalog.get(name) {
            Some(capability) if self.shows(subject, capability).await => self.catalog.describe(name),
            Some(_) | None => None,
        };
        match found {
            Some(description) => Ok(description),
            None => Err(Failure::NotFound { near: self.near(subject, name).await }),
        }
    }

    /// The nearest name that is there for a subject, as if the others did not exist.
    async fn near(&self, subject: &Subject, name: &str) -> Option<String> {
        let mut near = self.catalog.near(name);
        if self.policy.discovers() {
            let asked = near.iter().map(|each| Asked::from(&***each)).collect();
            let shown = self.policy.visible(subject, asked, self.discovery_deadline()).await;
            let mut shown = shown.into_iter();
            near.retain(|_| shown.next().unwrap_or(false));
        }
        near.first().map(|nearest| nearest.name.as_str().to_owned())
    }

    /// Whether a capability is there for a subject.
    pub async fn shows(&self, subject: &Subject, capability: &Capability) -> bool {
        let policy = &self.policy;
        !policy.discovers() || policy.discover(subject, Asked::from(capability), self.discovery_deadline()).await
    }

    /// Of each of these capabilities, by its number, whether it is there for a subject; nothing where a number names
    /// none.
    pub async fn shown(&self, subject: &Subject, numbers: &[u32], deadline: Instant) -> Option<Vec<bool>> {
        let asked = numbers.iter().map(|number| Some(Asked::from(&**self.numbered(*number)?)));
        let asked = asked.collect::<Option<Vec<_>>>()?;
        Some(self.policy.visible(subject, asked, deadline.min(self.discovery_deadline())).await)
    }

    fn discovery_deadline(&self) -> Instant {
        Instant::now() + self.limits.max_call_time
    }
}

impl Current {
    pub fn new(generation: Generation) -> Self {
        Self(Arc::new(RwLock::new(Arc::new(generation))))
    }

    pub fn get(&self) -> Arc<Generation> {
        Arc::clone(&self.0.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// From now on every request is served with this one. Gives the one before, which lives until its last run has
    /// ended and keeps no workers waiting.
    pub fn swap(&self, generation: Generation) -> Arc<Generation> {
        let next = Arc::new(generation);
        let before = std::mem::replace(&mut *self.0.write().unwrap_or_else(PoisonError::into_inner), next);
        before.pool.retire();
        before
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
