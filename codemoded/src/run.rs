//! One run's life in the daemon: admit, take a worker, serve its calls, learn the outcome, end the worker.

mod admission;
mod call;
mod deadline;
mod fault;
mod ledger;
pub mod record;
mod recording;
mod running;
pub mod trace;

use std::fmt;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Instant;

use futures_util::FutureExt;
use futures_util::stream::{FuturesUnordered, StreamExt};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use tracing::Instrument;
use uuid::Uuid;

pub use ledger::Calls;

use crate::capability::Capability;
use crate::failure::Failure;
use crate::generation::Generation;
use crate::identity::Subject;
use crate::limits::Limit;
use crate::text::{MAX_TEXT_BYTES, printable};
use crate::value::{Bounds, JsonFault, Value, read};
use crate::worker::protocol::{Answer, Claim, FromWorker, Numbers, ToWorker};
use crate::worker::{Worker, WorkerFault};
use admission::{Admission, Slot};
use call::{Call, Caller};
use fault::Fault;
use ledger::Ledger;
use record::Recorder;
use recording::{Began, Recording, Returned};
use running::Running;
use trace::Remote;

/// Runs programs; cheap to clone.
#[derive(Clone, Debug)]
pub struct Runs {
    admission: Admission,
    running: Running,
    recorder: Recorder,
}

/// One program to run, for one caller.
#[derive(Debug)]
pub struct Request {
    /// What the request came in with; the run keeps it to its end.
    pub generation: Arc<Generation>,
    pub subject: Subject,
    pub source: String,
    /// When the request came in; the deadline counts from here.
    pub arrived: Instant,
    /// Fires when the client cancels or goes away.
    pub cancelled: CancellationToken,
    /// Is told how many native calls are done.
    pub progress: watch::Sender<u64>,
    /// The span of a trusted peer's that the run hangs under.
    pub remote: Option<Remote>,
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
    pub fn new(recorder: Recorder) -> Self {
        Self { admission: Admission::default(), running: Running::default(), recorder }
    }

    /// How many have begun and not ended.
    pub fn in_flight(&self) -> usize {
        self.running.count()
    }

    /// Returns when nothing runs.
    pub async fn finished(&self) {
        self.running.finished().await;
    }

    /// Ends what runs and what is still to come, each with the answer that it was cancelled.
    pub fn cancel_all(&self) {
        self.running.cancelled.cancel();
    }

    /// How many runs have a worker, or are about to, and how many wait for their turn.
    pub fn load(&self) -> (usize, usize) {
        self.admission.load()
    }

    /// Runs one program to its end, whatever that is. Dropping the future ends the run.
    pub async fn execute(&self, request: Request) -> Report {
        let id = RunId::new();
        let _counted = self.running.one();
        let span = tracing::info_span!("run", run = %id, subject = %request.subject.id);
        self.run(id, request).instrument(span).await
    }

    async fn run(&self, id: RunId, request: Request) -> Report {
        let Request { generation, subject, source, arrived, cancelled, progress, remote } = request;
        let deadline = arrived + generation.limits.max_execution_time;
        let began = Began { run: id, arrived, remote };
        let ledger = Ledger::new(progress);
        let recording = Recording::begin(self.recorder.clone(), began, &subject.id, &generation, &source, ledger);
        let caller = Caller { generation: &generation, run: id, subject: &subject, recording: &recording, deadline };
        let outcome = async {
            tokio::select! {
                biased;
                () = cancelled.cancelled() => Err(Failure::Cancelled.into()),
                () = self.running.cancelled.cancelled() => Err(Failure::Cancelled.into()),
                () = deadline::reached(deadline) => Err(Failure::Limit(Limit::MaxExecutionTime).into()),
                outcome = self.drive(caller, source) => outcome,
            }
        };
        // Within the run, so that a panic has the run's ID in the log and in the answer.
        let outcome = AssertUnwindSafe(outcome).catch_unwind().await;
        let outcome = outcome.unwrap_or_else(|panic| Err(Fault::panicked(&*panic)));
        let (calls, outcome) = recording.end(outcome);
        Report { id, calls, outcome }
    }

    async fn drive(&self, caller: Caller<'_>, source: String) -> Result<Returned, Fault> {
        let limits = &caller.generation.limits;
        self.recorder.admits().map_err(|why| caller.recording.refused(why))?;
        if source.len() > limits.max_source_bytes {
            return Err(Failure::Limit(Limit::MaxSourceBytes).into());
        }
        let asked = Instant::now();
        let slot = self.admission.admit(&caller.subject.id, caller.generation).await.map_err(Failure::Limit)?;
        caller.recording.admitted(asked.elapsed());
        let admitted = Instant::now();
        let worker = caller.generation.pool.take().await.map_err(|fault| Fault::internal(&fault))?;
        caller.recording.given_worker(admitted.elapsed());
        let mut serving = Serving { worker: Some((worker, slot)) };
        let Some((worker, _)) = &mut serving.worker else { return Err(Failure::Internal.into()) };
        match converse(caller, worker, source).await {
            Ok(outcome) => outcome,
            Err(WorkerFault::HungUp) => Err(Fault::died(worker.cause().await)),
            Err(fault) => Err(Fault::internal(&fault)),
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
) -> Result<Result<Returned, Fault>, WorkerFault> {
    let limits = &caller.generation.limits;
    worker.send(&ToWorker::Program(source));
    let mut in_flight = FuturesUnordered::new();
    let mut questions = Questions::of(caller.generation);
    let mut attempted: u32 = 0;
    let mut result_bytes: usize = 0;
    loop {
        let frame = tokio::select! {
            frame = worker.receive() => frame?,
            Some((call, answered)) = in_flight.next(), if !in_flight.is_empty() => {
                caller.recording.ledger.answered();
                let answer = match answer(answered, limits.max_intermediate_value_bytes, &mut result_bytes) {
                    Ok(answer) => answer,
                    Err(fault) => return Ok(Err(fault)),
                };
                worker.send(&ToWorker::Answer { call, answer });
                continue;
            }
        };
        match frame {
            FromWorker::Ask(numbers) if attempted == 0 => {
                let numbers = questions.take(&numbers).ok_or(WorkerFault::OutOfTurn)?;
                let shown = caller.generation.shown(caller.subject, &numbers, caller.deadline).await;
                worker.send(&ToWorker::Shown(shown.ok_or(WorkerFault::OutOfTurn)?));
            }
            FromWorker::Call { call, capability, caught, arguments } => {
                let capability = caller.generation.numbered(capability).ok_or(WorkerFault::OutOfTurn)?;
                if call != attempted || in_flight.len() >= limits.max_parallel_calls {
                    return Err(WorkerFault::OutOfTurn);
                }
                if u64::from(attempted) >= limits.max_native_calls {
                    return Ok(Err(Failure::Limit(Limit::MaxNativeCalls).into()));
                }
                attempted += 1;
                in_flight.push(serve(caller, call, Arc::clone(capability), caught, arguments));
            }
            FromWorker::Returned(json) => return Ok(result(&json, caller.generation)),
            FromWorker::Failed(claim) => return Ok(Err(claimed(claim).into())),
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
    (number, Call { caller, number, capability, caught }.serve(&arguments).await)
}

fn answer(answered: Answered, most: usize, spent: &mut usize) -> Result<Answer, Fault> {
    match answered {
        Ok(json) => {
            *spent = spent.saturating_add(json.len());
            match *spent > most {
                true => Err(Failure::Limit(Limit::MaxIntermediateValueBytes).into()),
                false => Ok(Answer::Value(json)),
            }
        }
        Err(call::Refusal::Caught(failure)) => Ok(Answer::Failed(failure)),
        Err(call::Refusal::EndsRun(fault)) => Err(fault),
    }
}

/// The value that the program returned, read again: the worker's word is nobody's proof.
fn result(json: &[u8], generation: &Generation) -> Result<Returned, Fault> {
    let limits = &generation.limits;
    let max_bytes = limits.max_result_bytes.min(limits.max_value_bytes);
    let read = read(json, Bounds { max_bytes, max_depth: limits.max_value_depth });
    let value = read.map_err(|error| match error.fault {
        JsonFault::TooLong if limits.max_result_bytes <= limits.max_value_bytes => {
            Failure::Limit(Limit::MaxResultBytes).into()
        }
        JsonFault::TooLong => Failure::Limit(Limit::MaxValueBytes).into(),
        JsonFault::TooDeep => Failure::Limit(Limit::MaxValueDepth).into(),
        JsonFault::Syntax
        | JsonFault::Encoding
        | JsonFault::Surrogate
        | JsonFault::DuplicateKey
        | JsonFault::TooManyDigits
        | JsonFault::FloatRange => Fault::internal(&error),
    })?;
    Ok((value, json.len()))
}

/// A worker cuts its texts itself, where it is one of ours.
fn claimed(claim: Claim) -> Failure {
    match claim {
        Claim::InvalidProgram(text) => Failure::InvalidProgram(printable(&text, MAX_TEXT_BYTES)),
        Claim::InvalidArguments(text) => Failure::InvalidArguments(printable(&text, MAX_TEXT_BYTES)),
        Claim::Limit(limit) => Failure::Limit(limit.into()),
    }
}
