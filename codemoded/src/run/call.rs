//! One native call, in its fixed order: discover, bind again, authorize, dispatch, check the output. Nothing after a failing
//! step runs.

use std::sync::Arc;
use std::time::Instant;

use super::ledger::Ledger;
use super::{RunId, internal};
use crate::capability::{Capability, Hints};
use crate::failure::Failure;
use crate::generation::Generation;
use crate::identity::Subject;
use crate::limits::{Limit, Limits};
use crate::plugin::{CallError, CallRequest};
use crate::policy::{Asked, Decision, Question};
use crate::value::{Bounds, JsonError, JsonFault, Map, Value, read};
use tokio_util::sync::CancellationToken;

use crate::worker::protocol::{CallFailure, FailureCode};

/// Values up to this size are bound at once where their schema is simple: changing threads would take longer.
const MAX_LIGHT_BYTES: usize = 16 << 10;

/// Whose run a call belongs to.
#[derive(Clone, Copy, Debug)]
pub(super) struct Caller<'a> {
    pub(super) generation: &'a Generation,
    pub(super) run: RunId,
    pub(super) subject: &'a Subject,
    pub(super) ledger: &'a Ledger,
    pub(super) deadline: Instant,
}

/// One call that a worker asks for.
pub(super) struct Call<'a> {
    pub(super) caller: Caller<'a>,
    pub(super) capability: Arc<Capability>,
    /// Whether the program wants a failure as a value.
    pub(super) caught: bool,
}

/// Why a call has no value.
#[derive(Debug)]
pub(super) enum Refusal {
    /// The program asked for it.
    Caught(CallFailure),
    EndsRun(Failure),
}

impl Call<'_> {
    /// JSON text of the checked output.
    pub(super) async fn serve(self, arguments: &[u8]) -> Result<Vec<u8>, Refusal> {
        match self.steps(arguments).await {
            Ok(json) => Ok(json),
            Err(failure) if self.caught => Err(catchable(failure, self.capability.hints)),
            Err(failure) => Err(Refusal::EndsRun(failure)),
        }
    }

    async fn steps(&self, arguments: &[u8]) -> Result<Vec<u8>, Failure> {
        let limits = &self.caller.generation.limits;
        // What is not there for the subject is asked nothing else: an answer about its arguments would describe it.
        if !self.caller.generation.shows(self.caller.subject, &self.capability).await {
            return Err(Failure::NotFound);
        }
        let bound = self.bind(arguments, limits).await?;
        self.authorize(&bound).await?;
        let output = self.dispatch(bound, limits).await?;
        self.check(output, limits).await
    }

    async fn bind(&self, arguments: &[u8], limits: &Limits) -> Result<Map, Failure> {
        let (bounds, capability) = (limits.value_bounds(), Arc::clone(&self.capability));
        let is_light = arguments.len() <= MAX_LIGHT_BYTES && capability.input.is_light();
        match is_light {
            true => bind(&capability, arguments, bounds),
            false => {
                let arguments = arguments.to_owned();
                aside(move || bind(&capability, &arguments, bounds)).await?
            }
        }
    }

    async fn authorize(&self, arguments: &Map) -> Result<(), Failure> {
        let question = Question {
            subject: self.caller.subject.clone(),
            capability: Asked::from(&*self.capability),
            arguments: Arc::new(arguments.clone()),
        };
        match self.caller.generation.policy.decide(question, self.caller.deadline).await {
            Decision::Allow => Ok(()),
            Decision::Deny { reason } => Err(Failure::Denied(reason)),
            Decision::Failure(cause) => {
                tracing::error!(capability = %self.capability.id, %cause, "the policy did not decide");
                Err(Failure::Policy)
            }
        }
    }

    async fn dispatch(&self, arguments: Map, limits: &Limits) -> Result<Vec<u8>, Failure> {
        let instance = self.caller.generation.plugins.get(&self.capability.plugin).ok_or(Failure::Internal)?;
        self.caller.ledger.dispatched(&self.capability);
        let run = self.caller.run.to_string();
        let arguments = Value::Map(arguments).to_json();
        let request = CallRequest {
            capability: self.capability.name.as_str(),
            subject: &self.caller.subject.id,
            run: &run,
            arguments: &arguments,
            deadline: (Instant::now() + limits.max_call_time).min(self.caller.deadline),
            cancel: CancellationToken::new(),
        };
        instance.call(request).await.map_err(|error| self.failed(error))
    }

    async fn check(&self, output: Vec<u8>, limits: &Limits) -> Result<Vec<u8>, Failure> {
        let (bounds, capability) = (limits.value_bounds(), Arc::clone(&self.capability));
        let is_light = output.len() <= MAX_LIGHT_BYTES && capability.output.is_light();
        match is_light {
            true => check(&capability, &output, bounds),
            false => aside(move || check(&capability, &output, bounds)).await?,
        }
    }

    fn failed(&self, error: CallError) -> Failure {
        match error {
            CallError::Published(message) => Failure::Capability(Some(message)),
            // A call ends with its run; which of the two had the time is told by the clock.
            CallError::TimedOut if Instant::now() >= self.caller.deadline => Failure::Limit(Limit::MaxExecutionTime),
            CallError::TimedOut => Failure::Limit(Limit::MaxCallTime),
            CallError::Busy => Failure::Limit(Limit::MaxHandlers),
            CallError::Private(_) | CallError::Panic(_) | CallError::Cancelled | CallError::Malformed(_) => {
                let (capability, plugin) = (&self.capability.name, &self.capability.plugin);
                tracing::error!(%capability, %plugin, %error, "the handler failed");
                Failure::Capability(None)
            }
        }
    }
}

/// Does what may take long on a thread where nobody else waits. The run's deadline does not wait for it either.
async fn aside<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T, Failure> {
    tokio::task::spawn_blocking(work).await.map_err(|panic| internal(&panic))
}

fn bind(capability: &Capability, arguments: &[u8], bounds: Bounds) -> Result<Map, Failure> {
    let given = match read(arguments, bounds) {
        Ok(Value::Map(given)) => given,
        Ok(_) => return Err(internal(&JsonError { fault: JsonFault::Syntax, at: 0 })),
        Err(error) => return Err(too_large(&error).unwrap_or_else(|| internal(&error))),
    };
    let bound = capability.input.bind(given);
    bound.map_err(|diagnostic| Failure::InvalidArguments(format!("{}: {diagnostic}", capability.name)))
}

fn check(capability: &Capability, output: &[u8], bounds: Bounds) -> Result<Vec<u8>, Failure> {
    let output = match read(output, bounds) {
        Ok(output) => output,
        Err(error) => return Err(too_large(&error).unwrap_or_else(|| wrong_output(capability, &error))),
    };
    match capability.output.check(output) {
        Ok(checked) => Ok(checked.to_json().into_bytes()),
        Err(diagnostic) => Err(wrong_output(capability, &diagnostic)),
    }
}

fn wrong_output(capability: &Capability, fault: &dyn std::fmt::Display) -> Failure {
    let (name, plugin) = (&capability.name, &capability.plugin);
    tracing::error!(capability = %name, %plugin, %fault, "the handler's output is not what its schema says");
    Failure::Capability(None)
}

fn too_large(error: &JsonError) -> Option<Failure> {
    match error.fault {
        JsonFault::TooLong => Some(Failure::Limit(Limit::MaxValueBytes)),
        JsonFault::TooDeep => Some(Failure::Limit(Limit::MaxValueDepth)),
        JsonFault::Syntax
        | JsonFault::Encoding
        | JsonFault::Surrogate
        | JsonFault::DuplicateKey
        | JsonFault::TooManyDigits
        | JsonFault::FloatRange => None,
    }
}

/// What a program may handle: denials, published failures, arguments that do not bind. Limits and cancellation end
/// the run whether or not the program asked.
fn catchable(failure: Failure, hints: Hints) -> Refusal {
    // Only a call that changes nothing more when it is repeated may be tried again blindly.
    let repeatable = hints.read_only == Some(true) || hints.idempotent == Some(true);
    let caught = |code, retryable, message| Refusal::Caught(CallFailure { code, retryable, message });
    match failure {
        Failure::InvalidArguments(text) => caught(FailureCode::InvalidArguments, false, text),
        Failure::Denied(reason) => {
            caught(FailureCode::PermissionDenied, false, reason.unwrap_or_else(|| "permission denied".to_owned()))
        }
        Failure::Capability(message) => {
            caught(FailureCode::CapabilityFailed, repeatable, message.unwrap_or_else(|| "capability failed".to_owned()))
        }
        Failure::Unauthenticated
        | Failure::NotFound
        | Failure::InvalidProgram(_)
        | Failure::Policy
        | Failure::Limit(_)
        | Failure::Cancelled
        | Failure::Internal => Refusal::EndsRun(failure),
    }
}
