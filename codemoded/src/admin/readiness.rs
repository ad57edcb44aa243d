//! Whether the daemon can serve a request now, part by part.

use std::error::Error;
use std::time::Instant;

use futures_util::future::join_all;
use serde::Serialize;

use super::State;
use crate::causes::with_causes;
use crate::generation::Generation;
use crate::plugin::Instance;

/// The answer to whether requests may be sent here.
#[derive(Debug, Serialize)]
pub(super) struct Readiness {
    pub(super) ready: bool,
    draining: bool,
    generation: Part,
    #[serde(skip_serializing_if = "Option::is_none")]
    workers: Option<Workers>,
    plugins: Vec<Plugin>,
}

#[derive(Debug, Serialize)]
struct Part {
    ok: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
}

#[derive(Debug, Serialize)]
struct Workers {
    #[serde(flatten)]
    part: Part,
    /// How many wait for a program.
    ready: usize,
}

#[derive(Debug, Serialize)]
struct Plugin {
    name: String,
    #[serde(flatten)]
    part: Part,
}

/// The daemon has just started.
#[derive(Debug, thiserror::Error)]
#[error("the first one is being built")]
struct Unbuilt;

impl Readiness {
    pub(super) async fn of(state: &State) -> Self {
        let draining = state.is_draining();
        let Some(served) = state.current() else {
            let generation = Part::bad(&Unbuilt);
            return Self { ready: false, draining, generation, workers: None, plugins: Vec::new() };
        };
        let deadline = Instant::now() + served.limits.max_call_time;
        let asked = served.plugins.instances().iter().map(|instance| plugin(instance, deadline));
        let (workers, plugins) = tokio::join!(workers(&served), join_all(asked));
        let ready = !draining && workers.part.ok && plugins.iter().all(|plugin| plugin.part.ok);
        Self { ready, draining, generation: Part::GOOD, workers: Some(workers), plugins }
    }
}

/// A busy daemon may have no worker left that waits, and is well as long as it can start one.
async fn workers(generation: &Generation) -> Workers {
    let ready = generation.pool.ready();
    let part = match ready {
        0 => Part::of(generation.pool.try_to_start().await),
        _ => Part::GOOD,
    };
    Workers { part, ready }
}

async fn plugin(instance: &Instance, deadline: Instant) -> Plugin {
    Plugin { name: instance.name().to_string(), part: Part::of(instance.health(deadline).await) }
}

impl Part {
    const GOOD: Self = Self { ok: true, reason: None };

    fn of<E: Error>(outcome: Result<(), E>) -> Self {
        outcome.map_or_else(|error| Self::bad(&error), |()| Self::GOOD)
    }

    fn bad(error: &dyn Error) -> Self {
        Self { ok: false, reason: Some(with_causes(error)) }
    }
}
