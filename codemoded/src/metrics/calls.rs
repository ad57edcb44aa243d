//! Native calls by capability: the one label that is no word of the program, so it has a bound.

use std::collections::HashSet;
use std::sync::{PoisonError, RwLock};

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::registry::Registry;

use crate::capability::Id;

/// Capabilities that have series of their own, the first to be called.
const MAX_CAPABILITIES: usize = 2_000;
/// All others together. No ID is this word alone, for each has a dot.
const OTHER: &str = "other";

#[derive(Debug)]
pub(super) struct Calls {
    counts: Family<Labels, Counter>,
    known: RwLock<HashSet<Id>>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Labels {
    capability: String,
    outcome: &'static str,
}

impl Calls {
    pub(super) fn register(registry: &mut Registry) -> Self {
        let counts = Family::default();
        registry.register("calls", "Native calls that have ended, by capability and outcome", counts.clone());
        Self { counts, known: RwLock::default() }
    }

    pub(super) fn count(&self, capability: &Id, outcome: &'static str) {
        let own = if self.has_series(capability) { capability.as_str() } else { OTHER };
        self.counts.get_or_create(&Labels { capability: own.to_owned(), outcome }).inc();
    }

    fn has_series(&self, capability: &Id) -> bool {
        {
            let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
            if known.contains(capability) || known.len() >= MAX_CAPABILITIES {
                return known.contains(capability);
            }
        }
        let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
        known.contains(capability) || (known.len() < MAX_CAPABILITIES && known.insert(capability.clone()))
    }
}
