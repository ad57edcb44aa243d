//! MCP's view of the daemon: three tools, over HTTP and over stdio.
//!
//! The one place where a [`Failure`] becomes text for a client.

pub mod body;
pub mod guard;
pub mod http;
mod progress;
pub mod server;
pub mod stdio;
pub mod tools;

use std::fmt::Write as _;

use crate::failure::Failure;
use crate::limits::Limit;
use crate::run::Calls;
use crate::text::{MAX_PUBLISHED_BYTES, MAX_TEXT_BYTES, printable};

/// Capabilities that the second line names.
const MAX_NAMED: usize = 20;

/// What the client reads of a failure.
pub fn text(failure: &Failure) -> String {
    match failure {
        Failure::Unauthenticated => "unauthenticated".to_owned(),
        Failure::NotFound { near: None } => "capability not found".to_owned(),
        Failure::NotFound { near: Some(near) } => format!("capability not found; did you mean `{near}`?"),
        Failure::InvalidProgram(detail) => format!("invalid program: {}", printable(detail, MAX_TEXT_BYTES)),
        Failure::InvalidArguments(detail) => {
            format!("invalid capability arguments: {}", printable(detail, MAX_TEXT_BYTES))
        }
        Failure::Denied(reason) => published("permission denied", reason.as_deref()),
        Failure::Policy => "authorization policy failure".to_owned(),
        Failure::Limit(Limit::MaxResultBytes) => {
            "resource limit exceeded: max_result_bytes; filter or summarise in the program".to_owned()
        }
        Failure::Limit(limit) => format!("resource limit exceeded: {}", limit.name()),
        Failure::Capability(message) => published("capability failed", message.as_deref()),
        Failure::Cancelled => "context canceled".to_owned(),
        Failure::Internal => "internal failure".to_owned(),
    }
}

/// What the client reads of a failed run: the failure, and what may have been changed before it.
pub fn run_text(failure: &Failure, calls: &Calls) -> String {
    let mut text = text(failure);
    if calls.made == 0 {
        return text;
    }
    // Writing to a string cannot fail.
    let _ = write!(text, "\ncalls made: {}", calls.made);
    for (index, (name, times)) in calls.changing.iter().take(MAX_NAMED).enumerate() {
        let _ = write!(text, "{} {name} ×{times}", if index == 0 { "; may have changed:" } else { "," });
    }
    if calls.changing.len() > MAX_NAMED {
        text.push_str(", …");
    }
    text
}

/// A blank message leaves the failure bare.
fn published(failure: &str, message: Option<&str>) -> String {
    match message.map(|message| printable(message, MAX_PUBLISHED_BYTES)) {
        Some(message) if !message.trim().is_empty() => format!("{failure}: {message}"),
        Some(_) | None => failure.to_owned(),
    }
}

#[cfg(test)]
mod tests;
