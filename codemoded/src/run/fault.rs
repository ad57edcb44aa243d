//! A failure as the run's one log line tells it: what the client may know, and beside it what only the host may.

use std::any::Any;
use std::error::Error;

use crate::causes::with_causes;
use crate::failure::Failure;
use crate::limits::Limit;
use crate::worker::Cause;

/// Why a run or a call failed.
#[derive(Debug)]
pub(super) struct Fault {
    pub(super) failure: Failure,
    /// What went wrong on the host's side, causes included; nothing where the failure itself says it all.
    pub(super) cause: Option<String>,
    /// How the run's worker died, where it did.
    pub(super) death: Option<Cause>,
}

impl Fault {
    /// A failure whose cause is the host's affair.
    pub(super) fn because(failure: Failure, cause: String) -> Self {
        Self { failure, cause: Some(cause), death: None }
    }

    /// The daemon's own failure.
    pub(super) fn internal(error: &dyn Error) -> Self {
        Self::because(Failure::Internal, with_causes(error))
    }

    /// What a panic left.
    pub(super) fn panicked(panic: &(dyn Any + Send)) -> Self {
        let literal = panic.downcast_ref::<&str>().copied();
        let message = literal.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
        Self::because(Failure::Internal, format!("a panic: {}", message.unwrap_or("without a message")))
    }

    /// The worker hung up, and this is how it had died.
    pub(super) fn died(death: Cause) -> Self {
        let (failure, cause) = match death {
            Cause::StackOverflow => (Failure::InvalidProgram("nested too deeply".to_owned()), None),
            Cause::Memory => (Failure::Limit(Limit::MaxWorkerMemory), None),
            Cause::CpuTime => (Failure::Limit(Limit::MaxExecutionTime), None),
            // A signal is named: the one for a forbidden call tells of an attack, or of a call that is wanting.
            Cause::Unknown(Some(status)) => (Failure::Internal, Some(format!("the worker died: {status}"))),
            Cause::Unknown(None) => (Failure::Internal, Some("the worker died, nobody knows how".to_owned())),
        };
        Self { failure, cause, death: Some(death) }
    }
}

impl From<Failure> for Fault {
    fn from(failure: Failure) -> Self {
        Self { failure, cause: None, death: None }
    }
}
