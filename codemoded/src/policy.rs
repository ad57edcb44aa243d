//! May this subject call this capability with these arguments?
//!
//! A policy is a set of Rego modules that the deployment trusts, or, said explicitly, none at all. The rest of the
//! daemon sees only [`Decision`]: `true` allows, `false` is a denial, and everything else is a failure.
//!
//! What must hold, and why it takes this many modules: a policy could take the process down by recursion (`graph`),
//! stall it by a built-in whose cost is out of proportion (`builtins`), or allow by mistake where the engine passes
//! over an error or a conflict (`exact`). The first two are refused at start; the third is ruled out by it.

mod arithmetic;
mod builtins;
mod compile;
mod data;
mod exact;
mod graph;
mod input;
mod load;
mod mention;
mod nesting;
mod pool;
mod rego;
mod source;
mod syntax;
#[cfg(test)]
mod tests;
mod trial;

pub use mention::Stranger;
pub use source::{Place, PolicyError, PolicySource, Refusal, Text};
pub use trial::{Tested, Trial};

use std::sync::Arc;
use std::time::Instant;

use crate::capability::catalog::Catalog;
use crate::capability::{Capability, Hints, Id, Name};
use crate::identity::Subject;
use crate::origin::Origin;
use crate::value::Map;
use mention::Mention;
use pool::Pool;
use rego::Evaluator;

/// Capabilities that an evaluator is asked about at once; other subjects' questions go between.
const DISCOVERED_AT_ONCE: usize = 64;

/// What decides. Shared by reference; deciding needs no exclusive access.
#[derive(Debug)]
pub enum Policy {
    /// Everything is allowed and shown. Configured by name, never a default.
    AllowAll,
    Rego(Rego),
}

/// A loaded policy and the threads that evaluate it. Dropping it ends them.
#[derive(Debug)]
pub struct Rego {
    pool: Pool,
    discovers: bool,
    summary: String,
    origins: Vec<Origin>,
    mentions: Vec<Mention>,
}

/// One call to decide.
#[derive(Clone, Debug)]
pub struct Question {
    pub subject: Subject,
    pub capability: Asked,
    /// The canonical arguments.
    pub arguments: Arc<Map>,
}

/// What policy sees of a capability.
#[derive(Clone, Debug)]
pub struct Asked {
    pub id: Id,
    pub name: Name,
    pub hints: Hints,
}

/// The answer to a [`Question`].
#[must_use]
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Decision {
    Allow,
    /// The policy said `false`; a reason only where its author publishes one.
    Deny {
        reason: Option<String>,
    },
    /// The policy said neither. For the log, never for the client.
    Failure(PolicyFailure),
}

/// Why a policy said neither `true` nor `false`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PolicyFailure {
    #[error("the decision is undefined")]
    Undefined,
    #[error("the decision is no boolean but {0}")]
    NotBoolean(&'static str),
    #[error("the evaluation failed: {0}")]
    Evaluation(String),
    #[error("the evaluation took more than {limit} instructions")]
    Instructions { limit: usize },
    #[error("the deadline passed")]
    TimedOut,
    #[error("the evaluation panicked")]
    Panicked,
    #[error("too many decisions are waiting")]
    Busy,
    #[error("every evaluator is held by an evaluation that outlived its deadline")]
    Stuck,
}

impl Policy {
    /// Checks and compiles the modules, reads the data, and starts the evaluators. All faults are reported together
    /// as far as each can be seen without the others mended.
    pub fn load(source: &PolicySource) -> Result<Self, Vec<PolicyError>> {
        load::load(source).map(Self::Rego)
    }

    /// Decides one call. Has its answer at the deadline, whatever the evaluation does.
    pub async fn decide(&self, question: Question, deadline: Instant) -> Decision {
        match self {
            Self::AllowAll => Decision::Allow,
            Self::Rego(rego) => {
                let work = move |evaluator: &mut Evaluator| evaluator.decide(&question, deadline);
                rego.pool.run(work, deadline).await.unwrap_or_else(Decision::Failure)
            }
        }
    }

    /// Whether a capability may differ in visibility from one subject to another.
    pub fn discovers(&self) -> bool {
        match self {
            Self::AllowAll => false,
            Self::Rego(rego) => rego.discovers,
        }
    }

    /// Whether this capability is there at all for this subject.
    pub async fn discover(&self, subject: &Subject, capability: Asked, deadline: Instant) -> bool {
        self.visible(subject, vec![capability], deadline).await.first().copied().unwrap_or(false)
    }

    /// Which of the capabilities are there for this subject, in the same order. Everything where no discover
    /// decision is configured; where one is, only `true` shows, and nothing shows past the deadline.
    pub async fn visible(&self, subject: &Subject, capabilities: Vec<Asked>, deadline: Instant) -> Vec<bool> {
        let count = capabilities.len();
        let rego = match self {
            Self::Rego(rego) if rego.discovers && count > 0 => rego,
            Self::Rego(_) | Self::AllowAll => return vec![true; count],
        };
        let mut shown = Vec::with_capacity(count);
        let mut failure = None;
        for part in capabilities.chunks(DISCOVERED_AT_ONCE) {
            let (subject, part) = (subject.clone(), part.to_vec());
            let work = move |evaluator: &mut Evaluator| evaluator.visible(&subject, &part, deadline);
            match rego.pool.run(work, deadline).await {
                Ok((part, fault)) => {
                    shown.extend(part);
                    failure = failure.or(fault);
                }
                Err(fault) => {
                    failure = failure.or(Some(fault));
                    break;
                }
            }
        }
        shown.resize(count, false);
        if let Some(failure) = failure {
            tracing::warn!(%failure, "the discover decision failed; what it did not grant is hidden");
        }
        shown
    }

    /// The files that it was loaded from.
    pub fn origins(&self) -> &[Origin] {
        match self {
            Self::AllowAll => &[],
            Self::Rego(rego) => &rego.origins,
        }
    }

    /// Each comparison of a rule with a capability that is not in the catalog.
    pub fn strangers(&self, catalog: &Catalog) -> Vec<Stranger> {
        match self {
            Self::AllowAll => Vec::new(),
            Self::Rego(rego) => rego.mentions.iter().filter_map(|mention| mention.stranger(catalog)).collect(),
        }
    }

    /// One line for `codemoded check`.
    pub fn summary(&self) -> &str {
        match self {
            Self::AllowAll => "allow-all: every call is allowed",
            Self::Rego(rego) => &rego.summary,
        }
    }
}

impl From<&Capability> for Asked {
    fn from(capability: &Capability) -> Self {
        Self { id: capability.id.clone(), name: capability.name.clone(), hints: capability.hints }
    }
}
