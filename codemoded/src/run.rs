//! One run's life in the daemon: admit, take a worker, serve its calls, learn the outcome, end the worker.

mod admission;
mod call;
mod deadline;
mod ledger;

use std::fmt;
use std::sync::Arc;
use std::time::Instant;

use futures_util::stream::{FuturesUnordered, StreamExt};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use tracing::Instrument;
use uuid::Uuid;

pub use ledger::Calls;

use crate::capability::Capability;
use crate::failure::Failure;
use crate::generation::{Current, Generation};
use crate::identity::Subject;
use crate::limits::Limit;
use crate::value::{Bounds, JsonFault, Value, read};
use crate::worker::protocol::{Answer, Claim, FromWorker, Numbers, ToWorker};
use crate::worker::{Cause, Worker, WorkerFault};
use admission::{Admission, Slot};
use call::{Call, Caller};
use ledger::Ledger;

/// Runs programs; cheap to clone.
#[derive(Clone, Debug)]
pub struct Runs {
    generations: Current,
    admission: Admission,
}

/// One program to run, for one caller.
#[derive(Debug)]
pub struct Request {
    pub subject: Subject,
    pub source: String,
    /// When the request came in; the deadline counts from here.
    pub arrived: Instant,
    /// Fires when the client cancels or goes away.
    pub cancelled: CancellationToken,
    /// Is told how many native calls are done.
    pub progress: watch::Sender<u64>,
}

/// How one run went.
#[derive(Debug)]
pub struct Report {
    pub id: RunId,
    pub calls: Calls,
    pub outcome: Result<Value, Failure>,
}

/// A run's name in logs, audit and answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct RunId(Uuid);

impl RunId {
    fn new() -> Self {
        Self(Uuid::new_v4())
    }
}

impl fmt::Display for RunId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.simple().fmt(f)
    }
}

impl Runs {
    pub fn new(generations: Current) -> Self {
        Self { generations, admission: Admission::default() }
    }

    /// Runs one program to its end, whatever that is. Dropping the future ends the run.
    pub async fn execute(&self, request: Request) -> Report {
        let id = RunId::new();
        let span = tracing::info_span!("run", run = %id, subject = %request.subject.id);
        self.run(id, request).instrument(span).await
    }

    async fn run(&self, id: RunId, request: Request) -> Report {
        let generation = self.generations.get();
        let deadline = request.arrived + generation.limits.max_execution_time;
        let ledger = Ledger::new(request.progress);
        let caller = Caller { generation: &generation, run: id, subject: &request.subject, ledger: &ledger, deadline };
        let outcome = tokio::select! {
            biased;
            () = request.cancelled.cancelled() => Err(Failure::Cancelled),
            () = deadline::reached(deadline) => Err(Failure::Limit(Limit::MaxExecutionTime)),
            outcome = self.drive(caller, request.source) => outcome,
        };
        let calls = ledger.into_calls();
        match &outcome {
            Ok(_) => tracing::info!(calls = calls.made, "run returned"),
            Err(failure) => tracing::info!(calls = calls.made, ?failure, "run failed"),
        }
        Report { id, calls, outcome }
    }

    async fn drive(&self, caller: Caller<'_>, source: String) -> Result<Value, Failure> {
        let limits = &caller.generation.limits;
        if source.len() > limits.max_source_bytes {
            return Err(Failure::Limit(Limit::MaxSourceBytes));
        }
        let slot = self.admission.admit(&caller.subject.id, limits).await.map_err(Failure::Limit)?;
        let worker = caller.generation.pool.take().await;
        let worker = worker.map_err(|fault| internal(&fault))?;
        let mut serving = Serving { worker: Some((worker, slot)) };
        let Some((worker, _)) = &mut serving.worker else { return Err(Failure::Internal) };
        match converse(caller, worker, source).await {
            Ok(outcome) => outcome,
            Err(WorkerFault::HungUp) => Err(died(worker.cause().await)),
            Err(fault) => Err(internal(&fault)),
        }
    }
}

/// A worker and the slot it fills; dropping it kills the worker, and the slot comes back when it is reaped.
struct Serving {
    worker: Option<(Worker, Slot)>,
}

impl Drop for Serving {
    fn drop(&mut self) {
        if let Some((worker, slot)) = self.worker.take() {
            worker.end(slot);
        }
    }
}

/// Sends the program and answers calls until the worker says how the program ended, or a call ends the run.
async fn converse(
    caller: Caller<'_>,
    worker: &mut Worker,
    source: String,
) -> Result<Result<Value, Failure>, WorkerFault> {
    let limits = &caller.generation.limits;
    worker.send(&ToWorker::Program(source)).await?;
    let mut in_flight = FuturesUnordered::new();
    let mut questions = Questions::of(caller.generation);
    let mut attempted: u32 = 0;
    let mut result_bytes: usize = 0;
    loop {
        let frame = tokio::select! {
            frame = worker.receive() => frame?,
            Some((call, answered)) = in_flight.next(), if !in_flight.is_empty() => {
                caller.ledger.answered();
                let answer = match answer(answered, limits.max_intermediate_value_bytes, &mut result_bytes) {
                    Ok(answer) => answer,
                    Err(failure) => return Ok(Err(failure)),
                };
                worker.send(&ToWorker::Answer { call, answer }).await?;
                continue;
            }
        };
        match frame {
            FromWorker::Ask(numbers) if attempted == 0 => {
                let numbers = questions.take(&numbers).ok_or(WorkerFault::OutOfTurn)?;
                let shown = caller.generation.shown(caller.subject, &numbers, caller.deadline).await;
                worker.send(&ToWorker::Shown(shown.ok_or(WorkerFault::OutOfTurn)?)).await?;
            }
            FromWorker::Call { call, capability, caught, arguments } => {
                let capability = caller.generation.numbered(capability).ok_or(WorkerFault::OutOfTurn)?;
                if call != attempted || in_flight.len() >= limits.max_parallel_calls {
                    return Err(WorkerFault::OutOfTurn);
                }
                if u64::from(attempted) >= limits.max_native_calls {
                    return Ok(Err(Failure::Limit(Limit::MaxNativeCalls)));
                }
                attempted += 1;
                in_flight.push(serve(caller, call, Arc::clone(capability), caught, arguments));
            }
            FromWorker::Returned(json) => return Ok(result(&json, caller.generation)),
            FromWorker::Failed(claim) => return Ok(Err(claimed(claim))),
            FromWorker::Ready(_) | FromWorker::Ask(_) => return Err(WorkerFault::OutOfTurn),
        }
    }
}

/// How many capabilities a worker may still ask about: each of the catalog once, where asking has a point at all.
struct Questions {
    left: usize,
}

impl Questions {
    fn of(generation: &Generation) -> Self {
        Self { left: if generation.policy.discovers() { generation.catalog.len() } else { 0 } }
    }

    /// The numbers that are asked about; nothing where they are too many, or none.
    fn take(&mut self, numbers: &[Numbers]) -> Option<Vec<u32>> {
        let count = numbers.iter().fold(0_usize, |sum, numbers| sum.saturating_add(numbers.count as usize));
        self.left = self.left.checked_sub(count).filter(|_| count > 0)?;
        let numbers: Vec<u32> = numbers.iter().flat_map(Numbers::iter).collect();
        (numbers.len() == count).then_some(numbers)
    }
}

type Answered = Result<Vec<u8>, call::Refusal>;

async fn serve(
    caller: Caller<'_>,
    number: u32,
    capability: Arc<Capability>,
    caught: bool,
    arguments: Vec<u8>,
) -> (u32, Answered) {
    (number, Call { caller, capability, caught }.serve(&arguments).await)
}

fn answer(answered: Answered, most: usize, spent: &mut usize) -> Result<Answer, Failure> {
    match answered {
        Ok(json) => {
            *spent = spent.saturating_add(json.len());
            match *spent > most {
                true => Err(Failure::Limit(Limit::MaxIntermediateValueBytes)),
                false => Ok(Answer::Value(json)),
            }
        }
        Err(call::Refusal::Caught(failure)) => Ok(Answer::Failed(failure)),
        Err(call::Refusal::EndsRun(failure)) => Err(failure),
    }
}

/// The value that the program returned, read again: the worker's word is nobody's proof.
fn result(json: &[u8], generation: &Generation) -> Result<Value, Failure> {
    let limits = &generation.limits;
    let max_bytes = limits.max_result_bytes.min(limits.max_value_bytes);
    read(json, Bounds { max_bytes, max_depth: limits.max_value_depth }).map_err(|error| match error.fault {
        JsonFault::TooLong if limits.max_result_bytes <= limits.max_value_bytes => {
            Failure::Limit(Limit::MaxResultBytes)
        }
        JsonFault::TooLong => Failure::Limit(Limit::MaxValueBytes),
        JsonFault::TooDeep => Failure::Limit(Limit::MaxValueDepth),
        JsonFault::Syntax
        | JsonFault::Encoding
        | JsonFault::Surrogate
        | JsonFault::DuplicateKey
        | JsonFault::TooManyDigits
        | JsonFault::FloatRange => internal(&error),
    })
}

fn claimed(claim: Claim) -> Failure {
    match claim {
        Claim::InvalidProgram(text) => Failure::InvalidProgram(text),
        Claim::InvalidArguments(text) => Failure::InvalidArguments(text),
        Claim::Limit(limit) => Failure::Limit(limit.into()),
    }
}

fn died(cause: Cause) -> Failure {
    match cause {
        Cause::StackOverflow => Failure::InvalidProgram("nested too deeply".to_owned()),
        Cause::Memory => Failure::Limit(Limit::MaxWorkerMemory),
        Cause::CpuTime => Failure::Limit(Limit::MaxExecutionTime),
        Cause::Unknown(status) => {
            // A signal is named: the one for a forbidden call tells of an attack, or of a call that is wanting.
            let status = status.map(|status| status.to_string());
            tracing::error!(status, "the worker died");
            Failure::Internal
        }
    }
}

fn internal(fault: &dyn std::error::Error) -> Failure {
    let cause = fault.source().map(ToString::to_string);
    tracing::error!(%fault, cause, "the run failed inside the daemon");
    Failure::Internal
}
