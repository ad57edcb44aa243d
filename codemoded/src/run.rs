//! One run's life in the parent.

use std::fmt;
use std::time::{Duration, Instant};

use tokio_util::sync::CancellationToken;

use crate::failure::Failure;
use crate::identity::Subject;
use crate::value::Value;

/// Starts runs.
#[derive(Clone, Debug, Default)]
pub struct Runs(());

/// What a run needs from its caller.
#[derive(Debug)]
pub struct Request {
    pub subject: Subject,
    pub source: String,
    /// Every deadline counts from here.
    pub arrived: Instant,
    /// Ends the run when the client does not want its answer any more.
    pub cancelled: CancellationToken,
}

/// How a run ended.
#[derive(Debug)]
pub struct Report {
    pub id: RunId,
    pub calls: Calls,
    pub outcome: Result<Value, Failure>,
}

/// The run's name in logs and for the client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RunId(u64);

/// The native calls that a run made.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Calls {
    pub made: u64,
    /// Capabilities not marked read-only, and how often each was called.
    pub changing: Vec<(String, u64)>,
}

/// How many sleeping runs were cancelled.
#[cfg(test)]
pub static ENDED: std::sync::atomic::AtomicUsize = std::sync::atomic::AtomicUsize::new(0);

impl Runs {
    pub async fn execute(&self, request: Request) -> Report {
        let done = |outcome, made| Report { id: RunId(7), calls: Calls { made, changing: Vec::new() }, outcome };
        match request.source.as_str() {
            "sleep" => {
                tokio::select! {
                    () = request.cancelled.cancelled() => {
                        #[cfg(test)]
                        ENDED.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
                        done(Err(Failure::Cancelled), 0)
                    }
                    () = tokio::time::sleep(Duration::from_secs(5)) => done(Ok(Value::Null), 0),
                }
            }
            "nap" => {
                tokio::time::sleep(Duration::from_millis(400)).await;
                done(Ok(Value::Null), 0)
            }
            "panic" => std::panic::resume_unwind(Box::new("asked for")),
            "fail" => {
                let mut report = done(Err(Failure::Internal), 3);
                report.calls.changing = vec![("records.put".to_owned(), 2)];
                report
            }
            source => done(Ok(Value::List(vec![request.subject.id.as_str().into(), source.into()])), 1),
        }
    }
}

impl fmt::Display for RunId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}
