//! What a generation must show before anybody is served with it.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::StartError;
use crate::capability::{Hints, Id, Name};
use crate::config::Sandbox;
use crate::generation::Generation;
use crate::identity::{Subject, SubjectId};
use crate::plugin::{Instance, Plugins};
use crate::policy::{Asked, Decision, Policy, PolicyFailure, Question};
use crate::value::Map;
use crate::worker::protocol::{Confinement, FromWorker, ToWorker};
use crate::worker::{Pool, Worker};

/// How long the probe run may take.
pub(super) const PROBE_TIME: Duration = Duration::from_secs(5);
const PROBE: &str = "def main():\n    return 1\n";

/// The subject and the capability that a policy is asked about; neither is anybody's.
const NOBODY: &str = "codemoded.probe";

/// Shows that workers run programs, the policy decides, and the instances that were not there before are well.
pub(super) async fn all(
    generation: &Generation,
    before: Option<&Generation>,
    sandbox: Sandbox,
) -> Result<(), StartError> {
    let known = before.map_or(&[][..], |before| before.plugins.instances());
    let time = generation.limits.max_call_time;
    let (worker, policy, plugins) = tokio::join!(
        worker(&generation.pool),
        decision(&generation.policy),
        health(&generation.plugins, known, time, before.is_some())
    );
    let worker = worker.and_then(|confinement| report_missing(sandbox, confinement));
    StartError::of_all([worker.err(), policy.err()].into_iter().chain(plugins.into_iter().map(Some)))
}

/// A program that runs on a worker of the pool, as any other does.
pub(super) async fn worker(pool: &Pool) -> Result<Confinement, StartError> {
    let conversation = async {
        let mut worker: Worker = pool.take().await?;
        worker.send(&ToWorker::Program(PROBE.to_owned()));
        let answer = worker.receive().await?;
        let confinement = worker.confinement();
        worker.end(());
        Ok((confinement, answer))
    };
    match tokio::time::timeout(PROBE_TIME, conversation).await {
        Ok(Ok((confinement, FromWorker::Returned(json)))) if json == b"1" => Ok(confinement),
        Ok(Ok(_)) => Err(StartError::WrongProbe),
        Ok(Err(fault)) => Err(StartError::Probe(fault)),
        Err(_) => Err(StartError::ProbeTime),
    }
}

/// Any decision will do, and so will none: what a policy says of a subject that does not exist is its own affair. But
/// it must come to an end.
async fn decision(policy: &Policy) -> Result<(), StartError> {
    let (Ok(subject), Ok(name)) = (SubjectId::new(NOBODY), Name::new(NOBODY)) else { return Ok(()) };
    let capability = Asked { id: Id::new(NOBODY), name, hints: Hints::default() };
    let question = Question { subject: Subject::new(subject), capability, arguments: Arc::new(Map::new()) };
    match policy.decide(question, Instant::now() + PROBE_TIME).await {
        Decision::Allow
        | Decision::Deny { .. }
        | Decision::Failure(PolicyFailure::Undefined | PolicyFailure::NotBoolean(_) | PolicyFailure::Evaluation(_)) => {
            Ok(())
        }
        Decision::Failure(
            cause @ (PolicyFailure::Instructions { .. }
            | PolicyFailure::TimedOut
            | PolicyFailure::Panicked
            | PolicyFailure::Busy
            | PolicyFailure::Stuck),
        ) => Err(StartError::NoDecision(cause)),
    }
}

/// An instance that serves already is no worse for a swap, and at the start there is nothing better to go on with: both
/// are told. One that a reload brings must be well.
async fn health(plugins: &Plugins, known: &[Arc<Instance>], time: Duration, reloads: bool) -> Vec<StartError> {
    let asked = plugins.instances().iter().map(|instance| async move {
        let said = instance.health(Instant::now() + time).await.err()?;
        let is_new = !known.iter().any(|known| Arc::ptr_eq(known, instance));
        if reloads && is_new {
            return Some(StartError::Unwell { instance: instance.name().to_string(), said: said.to_string() });
        }
        tracing::warn!(plugin = %instance.name(), error = %said, "a plugin says that it is not well");
        None
    });
    futures_util::future::join_all(asked).await.into_iter().flatten().collect()
}

fn report_missing(sandbox: Sandbox, confinement: Confinement) -> Result<(), StartError> {
    let parts =
        [("seccomp", confinement.seccomp), ("landlock", confinement.landlock), ("resource limits", confinement.limits)];
    let missing: Vec<_> = parts.into_iter().filter(|(_, there)| !there).map(|(name, _)| name).collect();
    match sandbox {
        Sandbox::Require if !missing.is_empty() => Err(StartError::Sandbox(missing.join(", "))),
        Sandbox::Prefer if !missing.is_empty() => {
            tracing::warn!(missing = missing.join(", "), "this system cannot confine workers fully");
            Ok(())
        }
        Sandbox::DangerOff => {
            tracing::warn!("workers run without confinement");
            Ok(())
        }
        Sandbox::Require | Sandbox::Prefer => Ok(()),
    }
}
