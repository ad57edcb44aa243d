//! A run and a call while they last. Each ends in one record and, where it failed, one line of the log; also where nobody
//! waits for it any longer and its future is dropped.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use super::RunId;
use super::call::Caller;
use super::fault::Fault;
use super::ledger::{Calls, Ledger};
use super::record::{CallRecord, Decided, Outcome, ProgramHash, Recorder, RunRecord};
use super::trace::{Remote, Span};
use crate::capability::Capability;
use crate::failure::Failure;
use crate::generation::Generation;
use crate::identity::SubjectId;
use crate::value::Value;

/// A value that a program returned, and the bytes of its JSON.
pub(super) type Returned = (Value, usize);

/// How a run began.
#[derive(Clone, Copy, Debug)]
pub(super) struct Began {
    pub(super) run: RunId,
    pub(super) arrived: Instant,
    pub(super) remote: Option<Remote>,
}

/// A run that has not ended.
#[derive(Debug)]
pub(super) struct Recording {
    pub(super) recorder: Recorder,
    pub(super) ledger: Ledger,
    /// Where it stands in a trace, if it does.
    span: Option<Span>,
    arrived: Instant,
    /// Taken out when the run has ended.
    record: Mutex<Option<RunRecord>>,
}

/// A call that has not ended.
#[derive(Debug)]
pub(super) struct CallRecording<'a> {
    recorder: &'a Recorder,
    began: Instant,
    /// Taken out when the call has ended.
    record: Option<CallRecord>,
}

impl Recording {
    pub(super) fn begin(
        recorder: Recorder,
        began: Began,
        subject: &SubjectId,
        generation: &Generation,
        source: &str,
        ledger: Ledger,
    ) -> Self {
        let Began { run, arrived, remote } = began;
        let span = recorder.span(remote);
        let record = RunRecord {
            run,
            subject: subject.clone(),
            generation: generation.number,
            began: SystemTime::now().checked_sub(arrived.elapsed()).unwrap_or_else(SystemTime::now),
            program: ProgramHash::of(source),
            source_bytes: source.len(),
            outcome: Outcome::Cancelled,
            calls: 0,
            queued: None,
            worker_wait: None,
            took: Duration::ZERO,
            result_bytes: None,
            death: None,
            refused: false,
            span,
        };
        Self { recorder, ledger, span, arrived, record: Mutex::new(Some(record)) }
    }

    /// A sink does not let the run begin.
    pub(super) fn refused(&self, why: &'static str) -> Fault {
        if let Some(record) = &mut *self.record() {
            record.refused = true;
        }
        Fault::because(Failure::Internal, why.to_owned())
    }

    /// The run has its slot, after so long.
    pub(super) fn admitted(&self, after: Duration) {
        if let Some(record) = &mut *self.record() {
            record.queued = Some(after);
        }
    }

    /// The run has its worker, so long after it had its slot.
    pub(super) fn given_worker(&self, after: Duration) {
        if let Some(record) = &mut *self.record() {
            record.worker_wait = Some(after);
        }
    }

    /// Records and logs how the run ended.
    pub(super) fn end(self, outcome: Result<Returned, Fault>) -> (Calls, Result<Value, Failure>) {
        let calls = self.ledger.calls();
        self.close(&outcome);
        let outcome = outcome.map(|(value, _)| value).map_err(|fault| fault.failure);
        (calls, outcome)
    }

    fn close(&self, outcome: &Result<Returned, Fault>) {
        let Some(mut record) = self.record().take() else { return };
        record.calls = self.ledger.made();
        record.took = self.arrived.elapsed();
        match outcome {
            Ok((_, bytes)) => {
                record.outcome = Outcome::Ok;
                record.result_bytes = Some(*bytes);
            }
            Err(fault) => {
                record.outcome = Outcome::from(&fault.failure);
                record.death = fault.death;
            }
        }
        log(&record, outcome.as_ref().err());
        self.recorder.run(record);
    }

    fn record(&self) -> MutexGuard<'_, Option<RunRecord>> {
        self.record.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Recording {
    fn drop(&mut self) {
        self.close(&Err(abandoned()));
    }
}

impl<'a> CallRecording<'a> {
    pub(super) fn begin(caller: Caller<'a>, number: u32, capability: &Capability, argument_bytes: usize) -> Self {
        let record = CallRecord {
            run: caller.run,
            number,
            subject: caller.subject.id.clone(),
            capability: capability.id.clone(),
            name: capability.name.clone(),
            plugin: Arc::clone(&capability.plugin),
            began: SystemTime::now(),
            decision: Decided::NotAsked,
            outcome: Outcome::Cancelled,
            took: Duration::ZERO,
            deciding: None,
            dispatching: None,
            argument_bytes,
            output_bytes: None,
            arguments: None,
            span: caller.recording.span.map(Span::child),
        };
        Self { recorder: &caller.recording.recorder, began: Instant::now(), record: Some(record) }
    }

    /// What a handler is told of the call's place in a trace.
    pub(super) fn traceparent(&self) -> Option<String> {
        self.record.as_ref()?.span.map(Span::traceparent)
    }

    /// The arguments did bind; their canonical text is made only where somebody wants it.
    pub(super) fn bound(&mut self, json: impl FnOnce() -> String) {
        if let Some(record) = &mut self.record
            && self.recorder.wants_arguments(&record.capability)
        {
            record.arguments = Some(json().into());
        }
    }

    pub(super) fn decided(&mut self, decision: Decided, took: Duration) {
        if let Some(record) = &mut self.record {
            record.decision = decision;
            record.deciding = Some(took);
        }
    }

    pub(super) fn dispatched(&mut self, took: Duration) {
        if let Some(record) = &mut self.record {
            record.dispatching = Some(took);
        }
    }

    /// Records how the call ended.
    pub(super) fn end(mut self, outcome: &Result<Vec<u8>, Fault>) {
        match outcome {
            Ok(output) => self.close(Outcome::Ok, Some(output.len())),
            Err(fault) => self.close(Outcome::from(&fault.failure), None),
        }
    }

    fn close(&mut self, outcome: Outcome, output_bytes: Option<usize>) {
        let Some(mut record) = self.record.take() else { return };
        record.outcome = outcome;
        record.output_bytes = output_bytes;
        record.took = self.began.elapsed();
        self.recorder.call(record);
    }
}

impl Drop for CallRecording<'_> {
    fn drop(&mut self) {
        self.close(Outcome::from(&abandoned().failure), None);
    }
}

/// Why something ended whose future was dropped.
fn abandoned() -> Fault {
    match std::thread::panicking() {
        true => Fault::because(Failure::Internal, "a panic".to_owned()),
        false => Fault::from(Failure::Cancelled),
    }
}

/// One line a run, with the full cause where it failed.
fn log(record: &RunRecord, fault: Option<&Fault>) {
    let (calls, took_ms) = (record.calls, record.took.as_millis());
    let Some(Fault { failure, cause, .. }) = fault else {
        tracing::info!(calls, took_ms, "run returned");
        return;
    };
    // Texts are fields, not parts of the sentence: those are escaped, so that no program and no handler forges a line.
    match (failure, cause.as_deref()) {
        // What the policy has decided is nobody's fault.
        (Failure::Denied(_) | Failure::NotFound { .. }, Some(cause)) => {
            tracing::info!(?failure, cause, calls, took_ms, "run failed");
        }
        (_, Some(cause)) => tracing::error!(?failure, cause, calls, took_ms, "run failed"),
        (_, None) => tracing::info!(?failure, calls, took_ms, "run failed"),
    }
}
