//! What is kept of a run and of each of its native calls, and who is told.
//!
//! A record is made once, when the run or the call has ended, whatever way that was. All that is kept of runs, audit
//! lines, figures and spans, comes from these two types.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use super::RunId;
use super::trace::{Remote, Sampling, Span};
use crate::capability::{Id, Name};
use crate::failure::Failure;
use crate::identity::SubjectId;
use crate::limits::Limit;
use crate::worker::Cause;

/// One run that has ended.
#[derive(Clone, Debug)]
pub struct RunRecord {
    pub run: RunId,
    pub subject: SubjectId,
    /// The number of the generation that it was served with.
    pub generation: u64,
    /// When the request came in, by the wall clock.
    pub began: SystemTime,
    pub program: ProgramHash,
    pub source_bytes: usize,
    pub outcome: Outcome,
    /// Native calls that reached a handler.
    pub calls: u64,
    /// How long it waited for a slot; nothing where it never had one.
    pub queued: Option<Duration>,
    /// How long it then waited for a worker; nothing where it never had one.
    pub worker_wait: Option<Duration>,
    /// From the request's arrival to the outcome.
    pub took: Duration,
    /// JSON bytes of the value that was returned.
    pub result_bytes: Option<usize>,
    /// How its worker died, where it did not wait to be ended.
    pub death: Option<Cause>,
    /// A sink did not let it begin.
    pub refused: bool,
    /// Where it stands in a trace; nothing where there are none.
    pub span: Option<Span>,
}

/// One native call that has ended.
#[derive(Clone, Debug)]
pub struct CallRecord {
    pub run: RunId,
    /// Its place among the run's calls, from 0.
    pub number: u32,
    pub subject: SubjectId,
    pub capability: Id,
    pub name: Name,
    /// The plugin instance that serves the capability.
    pub plugin: Arc<str>,
    /// When the worker asked for it, by the wall clock.
    pub began: SystemTime,
    pub decision: Decided,
    pub outcome: Outcome,
    pub took: Duration,
    /// How long the policy took; nothing where it was not asked, or the call was given up before it answered.
    pub deciding: Option<Duration>,
    /// How long the handler took; nothing where it was not reached, or the call was given up before it answered.
    pub dispatching: Option<Duration>,
    /// As the worker sent them.
    pub argument_bytes: usize,
    /// JSON bytes of the checked output.
    pub output_bytes: Option<usize>,
    /// The canonical arguments, as JSON; only where a sink asked for them and they did bind.
    pub arguments: Option<Arc<str>>,
    /// Where it stands in a trace; nothing where there are none.
    pub span: Option<Span>,
}

/// What the policy said of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Decided {
    Allowed,
    Denied,
    /// It said neither yes nor no.
    Failed,
    /// It was not asked: something before it had failed.
    NotAsked,
}

/// How a run or a call ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Outcome {
    Ok,
    Unauthenticated,
    NotFound,
    InvalidProgram,
    InvalidArguments,
    Denied,
    PolicyFailure,
    Limit(Limit),
    CapabilityFailed,
    Cancelled,
    Internal,
}

/// The SHA-256 of a program's text.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct ProgramHash([u8; 32]);

/// Somewhere that records go. Called on the request path: whatever takes time is for a thread of the sink's own.
pub trait Sink: fmt::Debug + Send + Sync {
    fn run(&self, record: &Arc<RunRecord>);

    fn call(&self, record: &Arc<CallRecord>);

    /// Whether records of this capability's calls shall have the arguments.
    fn wants_arguments(&self, _capability: &Id) -> bool {
        false
    }

    /// Whether a run may begin; where not, the reason is for the log.
    fn admits(&self) -> Result<(), &'static str> {
        Ok(())
    }
}

/// Hands every record to every sink; cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct Recorder {
    sinks: Arc<[Arc<dyn Sink>]>,
    sampling: Option<Sampling>,
}

impl Recorder {
    /// Without a sampling, runs stand in no trace.
    pub fn new(sinks: Vec<Arc<dyn Sink>>, sampling: Option<Sampling>) -> Self {
        Self { sinks: sinks.into(), sampling }
    }

    pub(super) fn span(&self, remote: Option<Remote>) -> Option<Span> {
        self.sampling.map(|sampling| sampling.begin(remote))
    }

    pub(super) fn run(&self, record: RunRecord) {
        let record = Arc::new(record);
        self.sinks.iter().for_each(|sink| sink.run(&record));
    }

    pub(super) fn call(&self, record: CallRecord) {
        let record = Arc::new(record);
        self.sinks.iter().for_each(|sink| sink.call(&record));
    }

    pub(super) fn wants_arguments(&self, capability: &Id) -> bool {
        self.sinks.iter().any(|sink| sink.wants_arguments(capability))
    }

    pub(super) fn admits(&self) -> Result<(), &'static str> {
        self.sinks.iter().try_for_each(|sink| sink.admits())
    }
}

impl ProgramHash {
    pub fn of(source: &str) -> Self {
        use sha2::Digest as _;
        Self(sha2::Sha256::digest(source).into())
    }
}

impl fmt::Display for ProgramHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for ProgramHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

impl Decided {
    /// The word for a decision that the policy was asked for.
    pub fn told(self) -> Option<&'static str> {
        (self != Self::NotAsked).then(|| self.name())
    }

    /// The word in audit lines and figures.
    pub fn name(self) -> &'static str {
        match self {
            Self::Allowed => "allowed",
            Self::Denied => "denied",
            Self::Failed => "policy_failure",
            Self::NotAsked => "not_decided",
        }
    }
}

impl Outcome {
    /// Every word that there is.
    pub const NAMES: [&str; 11] = [
        "ok",
        "unauthenticated",
        "not_found",
        "invalid_program",
        "invalid_arguments",
        "denied",
        "policy_failure",
        "resource_limit",
        "capability_failed",
        "cancelled",
        "internal_failure",
    ];

    /// The word in audit lines and figures.
    pub fn name(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Unauthenticated => "unauthenticated",
            Self::NotFound => "not_found",
            Self::InvalidProgram => "invalid_program",
            Self::InvalidArguments => "invalid_arguments",
            Self::Denied => "denied",
            Self::PolicyFailure => "policy_failure",
            Self::Limit(_) => "resource_limit",
            Self::CapabilityFailed => "capability_failed",
            Self::Cancelled => "cancelled",
            Self::Internal => "internal_failure",
        }
    }

    /// Which budget ran out, where one did.
    pub fn limit(self) -> Option<Limit> {
        match self {
            Self::Limit(limit) => Some(limit),
            Self::Ok
            | Self::Unauthenticated
            | Self::NotFound
            | Self::InvalidProgram
            | Self::InvalidArguments
            | Self::Denied
            | Self::PolicyFailure
            | Self::CapabilityFailed
            | Self::Cancelled
            | Self::Internal => None,
        }
    }
}

impl From<&Failure> for Outcome {
    fn from(failure: &Failure) -> Self {
        match failure {
            Failure::Unauthenticated => Self::Unauthenticated,
            Failure::NotFound { .. } => Self::NotFound,
            Failure::InvalidProgram(_) => Self::InvalidProgram,
            Failure::InvalidArguments(_) => Self::InvalidArguments,
            Failure::Denied(_) => Self::Denied,
            Failure::Policy => Self::PolicyFailure,
            Failure::Limit(limit) => Self::Limit(*limit),
            Failure::Capability(_) => Self::CapabilityFailed,
            Failure::Cancelled => Self::Cancelled,
            Failure::Internal => Self::Internal,
        }
    }
}
