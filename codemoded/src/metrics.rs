//! Figures about what the daemon does, for Prometheus to read.
//!
//! Whoever sends requests cannot make a series: every label's values are words of this program, or IDs of capabilities
//! that are loaded, and of those there is a bound. No figure names a subject.

mod calls;
mod scrape;

pub use scrape::Levels;

use std::sync::Arc;
use std::time::Duration;

use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::metrics::info::Info;
use prometheus_client::registry::Registry;

use crate::identity::Verdict;
use crate::run::record::{CallRecord, Outcome, RunRecord, Sink};
use crate::worker::Cause;
use calls::Calls;

/// Upper bounds in seconds: from what a prepared worker takes to what the longest limits allow.
const SECONDS: [f64; 18] = [
    0.0001, 0.000_25, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0,
];

/// Where figures are counted, and read; cheap to clone.
#[derive(Clone, Debug)]
pub struct Metrics(Arc<Figures>);

/// Counts by one label, whose name and values are words of the program.
type Counts = Family<[(&'static str, &'static str); 1], Counter>;

#[derive(Debug)]
struct Figures {
    registry: Registry,
    runs: Counts,
    limits: Counts,
    queued: Histogram,
    worker_wait: Histogram,
    run_time: Histogram,
    workers_ended: Counts,
    worker_starts: Counts,
    worker_start_time: Histogram,
    calls: Calls,
    decisions: Counts,
    deciding: Histogram,
    call_time: Histogram,
    reloads: Counts,
    authentication_failures: Counts,
    rate_refusals: Counts,
    responses: Counts,
    connections: Gauge,
}

/// Why nobody could be made out in a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AuthenticationFailure {
    /// There was no credential.
    Missing,
    /// It does not count.
    Invalid,
    /// It counts, but not for this.
    Insufficient,
    /// It could not be told.
    Undecided,
}

impl From<Verdict> for AuthenticationFailure {
    fn from(verdict: Verdict) -> Self {
        match verdict {
            Verdict::Anonymous => Self::Missing,
            Verdict::Invalid => Self::Invalid,
            Verdict::Insufficient => Self::Insufficient,
            Verdict::Unavailable => Self::Undecided,
        }
    }
}

/// What came too often.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TooOften {
    /// Requests of one subject.
    Requests,
    /// Failed authentications from one address.
    Failures,
}

impl Default for Metrics {
    fn default() -> Self {
        let mut registry = Registry::with_prefix("codemoded");
        let version = [("version", env!("CARGO_PKG_VERSION"))];
        registry.register("build", "The version that runs", Info::new(version));
        let at = &mut registry;
        let figures = Figures {
            runs: counts(at, "runs", "Runs that have ended, by outcome"),
            limits: counts(at, "limits_exceeded", "Runs that a limit has ended, by limit"),
            queued: seconds(at, "run_queue_seconds", "How long runs waited for a slot"),
            worker_wait: seconds(at, "run_worker_wait_seconds", "How long runs that had a slot waited for a worker"),
            run_time: seconds(at, "run_seconds", "Runs, from the request's arrival to the outcome"),
            workers_ended: counts(at, "workers_ended", "Workers that had a program, by what ended them"),
            worker_starts: counts(at, "worker_starts", "Workers that were started, by whether they came up"),
            worker_start_time: seconds(at, "worker_start_seconds", "How long workers took until they were ready"),
            calls: Calls::register(at),
            decisions: counts(at, "decisions", "Decisions of the policy on native calls, by decision"),
            deciding: seconds(at, "decision_seconds", "How long the policy took for a native call"),
            call_time: seconds(at, "call_seconds", "Native calls, from the program's asking to the answer"),
            reloads: counts(at, "reloads", "Reloads, by outcome"),
            authentication_failures: counts(
                at,
                "authentication_failures",
                "Requests in which nobody could be made out, by kind",
            ),
            rate_refusals: counts(at, "rate_refusals", "Requests that were refused with 429, by what came too often"),
            responses: counts(at, "http_responses", "Answers to clients, by class of the status"),
            connections: gauge(at, "http_connections", "Connections of clients that are open"),
            registry,
        };
        Self(Arc::new(figures))
    }
}

fn counts(registry: &mut Registry, name: &str, help: &str) -> Counts {
    let counts = Counts::default();
    registry.register(name, help, counts.clone());
    counts
}

fn gauge(registry: &mut Registry, name: &str, help: &str) -> Gauge {
    let gauge = Gauge::default();
    registry.register(name, help, gauge.clone());
    gauge
}

fn seconds(registry: &mut Registry, name: &str, help: &str) -> Histogram {
    let histogram = Histogram::new(SECONDS);
    registry.register(name, help, histogram.clone());
    histogram
}

fn count(counts: &Counts, label: &'static str, value: &'static str) {
    counts.get_or_create(&[(label, value)]).inc();
}

fn observe(histogram: &Histogram, took: Option<Duration>) {
    if let Some(took) = took {
        histogram.observe(took.as_secs_f64());
    }
}

impl Metrics {
    /// A worker has come up, or not.
    pub fn worker_started(&self, took: Duration, is_up: bool) {
        count(&self.0.worker_starts, "outcome", if is_up { "ok" } else { "failed" });
        observe(&self.0.worker_start_time, is_up.then_some(took));
    }

    /// A reload has ended.
    pub fn reloaded(&self, succeeded: bool) {
        count(&self.0.reloads, "outcome", if succeeded { "ok" } else { "failed" });
    }

    pub fn authentication_failed(&self, kind: AuthenticationFailure) {
        let kind = match kind {
            AuthenticationFailure::Missing => "missing",
            AuthenticationFailure::Invalid => "invalid",
            AuthenticationFailure::Insufficient => "insufficient",
            AuthenticationFailure::Undecided => "undecided",
        };
        count(&self.0.authentication_failures, "kind", kind);
    }

    pub fn refused_by_rate(&self, what: TooOften) {
        let what = match what {
            TooOften::Requests => "requests",
            TooOften::Failures => "failures",
        };
        count(&self.0.rate_refusals, "limit", what);
    }

    /// A client has been answered.
    pub fn answered(&self, status: http::StatusCode) {
        let class = match status.as_u16() {
            100..200 => "1xx",
            200..300 => "2xx",
            300..400 => "3xx",
            400..500 => "4xx",
            _ => "5xx",
        };
        count(&self.0.responses, "class", class);
    }

    /// So many connections are open now.
    pub fn connections(&self, open: usize) {
        self.0.connections.set(i64::try_from(open).unwrap_or(i64::MAX));
    }
}

impl Sink for Metrics {
    fn run(&self, record: &Arc<RunRecord>) {
        let figures = &self.0;
        count(&figures.runs, "outcome", record.outcome.name());
        if let Some(limit) = record.outcome.limit() {
            count(&figures.limits, "limit", limit.name());
        }
        observe(&figures.queued, record.queued);
        observe(&figures.worker_wait, record.worker_wait);
        observe(&figures.run_time, Some(record.took));
        if record.worker_wait.is_some() {
            count(&figures.workers_ended, "cause", end_of_worker(record));
        }
    }

    fn call(&self, record: &Arc<CallRecord>) {
        let figures = &self.0;
        figures.calls.count(&record.capability, record.outcome.name());
        if let Some(decision) = record.decision.told() {
            count(&figures.decisions, "decision", decision);
        }
        observe(&figures.deciding, record.deciding);
        observe(&figures.call_time, Some(record.took));
    }
}

/// A worker serves one program and is then killed, whatever became of the program.
fn end_of_worker(record: &RunRecord) -> &'static str {
    match (record.death, record.outcome) {
        (Some(Cause::StackOverflow), _) => "stack_overflow",
        (Some(Cause::Memory), _) => "memory",
        (Some(Cause::CpuTime), _) => "cpu_time",
        (Some(Cause::Unknown(_)), _) => "died",
        (None, Outcome::Limit(crate::limits::Limit::MaxExecutionTime)) => "deadline",
        (None, Outcome::Cancelled) => "cancelled",
        (None, Outcome::Internal) => "fault",
        (None, _) => "finished",
    }
}
