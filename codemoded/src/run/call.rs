//! One native call, in its fixed order: discover, bind again, authorize, dispatch, check the output. Nothing after a failing
//! step runs.

use std::sync::Arc;
use std::time::Instant;

use super::RunId;
use super::fault::Fault;
use super::record::Decided;
use super::recording::{CallRecording, Recording};
use crate::capability::Capability;
use crate::failure::Failure;
use crate::generation::Generation;
use crate::identity::Subject;
use crate::limits::{Limit, Limits};
use crate::plugin::{CallError, CallRequest};
use crate::policy::{Asked, Decision, Question};
use crate::text::{MAX_PUBLISHED_BYTES, printable};
use crate::value::{Bounds, JsonError, JsonFault, Map, Value, read};
use crate::worker::protocol::{CallFailure, FailureCode};

/// Values up to this size are bound at once where their schema is simple: changing threads would take longer.
const MAX_LIGHT_BYTES: usize = 16 << 10;

/// Whose run a call belongs to.
#[derive(Clone, Copy, Debug)]
pub(super) struct Caller<'a> {
    pub(super) generation: &'a Generation,
    pub(super) run: RunId,
    pub(super) subject: &'a Subject,
    pub(super) recording: &'a Recording,
    pub(super) deadline: Instant,
}

/// One call that a worker asks for.
pub(super) struct Call<'a> {
    pub(super) caller: Caller<'a>,
    /// Its place among the run's calls.
    pub(super) number: u32,
    pub(super) capability: Arc<Capability>,
    /// Whether the program wants a failure as a value.
    pub(super) caught: bool,
}

/// Why a call has no value.
#[derive(Debug)]
pub(super) enum Refusal {
    /// The program asked for it.
    Caught(CallFailure),
    EndsRun(Fault),
}

impl Call<'_> {
    /// JSON text of the checked output.
    pub(super) async fn serve(self, arguments: &[u8]) -> Result<Vec<u8>, Refusal> {
        let mut recording = CallRecording::begin(self.caller, self.number, &self.capability, arguments.len());
        let served = self.steps(arguments, &mut recording).await;
        recording.end(&served);
        match served {
            Ok(json) => Ok(json),
            Err(fault) if self.caught => Err(catchable(fault, &self.capability)),
            Err(fault) => Err(Refusal::EndsRun(fault)),
        }
    }

    async fn steps(&self, arguments: &[u8], recording: &mut CallRecording<'_>) -> Result<Vec<u8>, Fault> {
        let limits = &self.caller.generation.limits;
        let deadline = (Instant::now() + limits.max_call_time).min(self.caller.deadline);
        // What is not there for the subject is asked nothing else: an answer about its arguments would describe it.
        if !self.caller.generation.shows(self.caller.subject, &self.capability).await {
            let cause = format!("{}: the policy does not show it to this subject", self.capability.id);
            return Err(Fault::because(Failure::NotFound { near: None }, cause));
        }
        let bound = self.bind(arguments, limits).await?;
        recording.bound(|| Value::Map(bound.clone()).to_json());
        self.authorize(&bound, deadline, recording).await?;
        let output = self.dispatch(bound, deadline, recording).await?;
        self.check(output, limits).await
    }

    async fn bind(&self, arguments: &[u8], limits: &Limits) -> Result<Map, Fault> {
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

    async fn authorize(
        &self,
        arguments: &Map,
        deadline: Instant,
        recording: &mut CallRecording<'_>,
    ) -> Result<(), Fault> {
        let question = Question {
            subject: self.caller.subject.clone(),
            capability: Asked::from(&*self.capability),
            arguments: Arc::new(arguments.clone()),
        };
        let asked = Instant::now();
        let decision = self.caller.generation.policy.decide(question, deadline).await;
        let (decided, answer) = match decision {
            Decision::Allow => (Decided::Allowed, Ok(())),
            Decision::Deny { reason } => {
                let cause = format!("{}: the policy denies it", self.capability.id);
                (Decided::Denied, Err(Fault::because(Failure::Denied(reason), cause)))
            }
            Decision::Failure(cause) => {
                let cause = format!("{}: the policy did not decide: {cause}", self.capability.id);
                (Decided::Failed, Err(Fault::because(Failure::Policy, cause)))
            }
        };
        recording.decided(decided, asked.elapsed());
        answer
    }

    async fn dispatch(
        &self,
        arguments: Map,
        deadline: Instant,
        recording: &mut CallRecording<'_>,
    ) -> Result<Vec<u8>, Fault> {
        let instance = self.caller.generation.plugins.get(&self.capability.plugin).ok_or_else(|| {
            let cause = format!("no plugin instance has the name `{}`", self.capability.plugin);
            Fault::because(Failure::Internal, cause)
        })?;
        let (run, traceparent) = (self.caller.run.to_string(), recording.traceparent());
        let arguments = Value::Map(arguments).to_json();
        let request = CallRequest {
            capability: self.capability.name.as_str(),
            subject: &self.caller.subject.id,
            run: &run,
            arguments: &arguments,
            deadline,
            traceparent: traceparent.as_deref(),
        };
        let sent = Instant::now();
        let answered = instance.call(request, || self.caller.recording.ledger.dispatched(&self.capability)).await;
        recording.dispatched(sent.elapsed());
        answered.map_err(|error| self.failed(error))
    }

    async fn check(&self, output: Vec<u8>, limits: &Limits) -> Result<Vec<u8>, Fault> {
        let (bounds, capability) = (limits.value_bounds(), Arc::clone(&self.capability));
        let is_light = output.len() <= MAX_LIGHT_BYTES && capability.output.is_light();
        match is_light {
            true => check(&capability, &output, bounds),
            false => aside(move || check(&capability, &output, bounds)).await?,
        }
    }

    fn failed(&self, error: CallError) -> Fault {
        match error {
            CallError::Published(message) => Failure::Capability(Some(printable(&message, MAX_PUBLISHED_BYTES))).into(),
            // A call ends with its run; which of the two had the time is told by the clock.
            CallError::TimedOut if Instant::now() >= self.caller.deadline => {
                Failure::Limit(Limit::MaxExecutionTime).into()
            }
            CallError::TimedOut => Failure::Limit(Limit::MaxCallTime).into(),
            CallError::Busy => Failure::Limit(Limit::MaxHandlers).into(),
            CallError::Private(_) | CallError::Panic(_) | CallError::Cancelled | CallError::Malformed(_) => {
                handler_failed(&self.capability, &error)
            }
        }
    }
}

/// Does what may take long on a thread where nobody else waits. The run's deadline does not wait for it either.
async fn aside<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T, Fault> {
    tokio::task::spawn_blocking(work).await.map_err(|panic| Fault::internal(&panic))
}

fn bind(capability: &Capability, arguments: &[u8], bounds: Bounds) -> Result<Map, Fault> {
    let given = match read(arguments, bounds) {
        Ok(Value::Map(given)) => given,
        Ok(_) => return Err(Fault::internal(&JsonError { fault: JsonFault::Syntax, at: 0 })),
        Err(error) => return Err(too_large(&error).map_or_else(|| Fault::internal(&error), Fault::from)),
    };
    let bound = capability.input.bind(given);
    bound.map_err(|diagnostic| Failure::InvalidArguments(format!("{}: {diagnostic}", capability.name)).into())
}

fn check(capability: &Capability, output: &[u8], bounds: Bounds) -> Result<Vec<u8>, Fault> {
    let output = match read(output, bounds) {
        Ok(output) => output,
        Err(error) => return Err(too_large(&error).map_or_else(|| wrong_output(capability, &error), Fault::from)),
    };
    match capability.output.check(output) {
        Ok(checked) => Ok(checked.to_json().into_bytes()),
        Err(diagnostic) => Err(wrong_output(capability, &diagnostic)),
    }
}

fn wrong_output(capability: &Capability, fault: &dyn std::fmt::Display) -> Fault {
    handler_failed(capability, &format_args!("the handler's output is not what its schema says: {fault}"))
}

/// For the plugin's author: which capability of which instance, and what it did.
fn handler_failed(capability: &Capability, what: &dyn std::fmt::Display) -> Fault {
    let cause = format!("{} of `{}`: {what}", capability.name, capability.plugin);
    Fault::because(Failure::Capability(None), cause)
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
fn catchable(fault: Fault, capability: &Capability) -> Refusal {
    let hints = capability.hints;
    // Only a call that changes nothing more when it is repeated may be tried again blindly.
    let repeatable = hints.read_only == Some(true) || hints.idempotent == Some(true);
    let (code, retryable, message) = match fault.failure {
        Failure::InvalidArguments(text) => (FailureCode::InvalidArguments, false, text),
        Failure::Denied(reason) => {
            (FailureCode::PermissionDenied, false, reason.unwrap_or_else(|| "permission denied".to_owned()))
        }
        Failure::Capability(message) => {
            (FailureCode::CapabilityFailed, repeatable, message.unwrap_or_else(|| "capability failed".to_owned()))
        }
        Failure::Unauthenticated
        | Failure::NotFound { .. }
        | Failure::InvalidProgram(_)
        | Failure::Policy
        | Failure::Limit(_)
        | Failure::Cancelled
        | Failure::Internal => return Refusal::EndsRun(fault),
    };
    if let Some(cause) = &fault.cause {
        // The run goes on and may well return, so this is not the line of its failure.
        tracing::warn!(cause = cause.as_str(), "a call failed and the program handles it");
    }
    Refusal::Caught(CallFailure { code, retryable, message })
}
