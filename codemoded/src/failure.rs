//! Why a tool call failed, as the client may know it. The full cause is carried beside it and logged once, under
//! the run's ID; what crosses is one of these, and `mcp.rs` alone turns it into text.

use crate::limits::Limit;

/// A client-facing failure. Texts inside are the program's own or were published for the client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Failure {
    /// No subject.
    Unauthenticated,
    /// Unknown, disabled, or not for this subject; with the nearest name that is there for it.
    NotFound { near: Option<String> },
    /// Parse, resolve, entry point, run-time error, or an unsupported result.
    InvalidProgram(String),
    /// A call whose arguments do not bind.
    InvalidArguments(String),
    /// Policy said false; the reason only where its author publishes one.
    Denied(Option<String>),
    /// Policy could not say true or false.
    Policy,
    /// A budget ran out.
    Limit(Limit),
    /// The handler failed or its output was wrong; the message only where the handler published one.
    Capability(Option<String>),
    /// The client cancelled or went away.
    Cancelled,
    /// Anything else, panics included.
    Internal,
}
