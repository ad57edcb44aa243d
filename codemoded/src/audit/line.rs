//! One record as one line of JSON.

use std::fmt::Write as _;
use std::time::{Duration, SystemTime};

use chrono::{DateTime, SecondsFormat, Utc};
use serde::Serialize;
use serde_json::value::RawValue;

use super::arguments::Hasher;
use crate::run::record::{CallRecord, RunRecord};
use crate::run::trace::Span;

/// What a line is about.
#[derive(Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub(super) enum Line<'a> {
    Run(Run<'a>),
    Call(Call<'a>),
    /// So many records were lost since the last line of this kind.
    Lost {
        time: String,
        records: u64,
    },
    /// So many runs did not start, for want of room in the queue.
    Refused {
        time: String,
        runs: u64,
    },
}

#[derive(Serialize)]
pub(super) struct Run<'a> {
    time: String,
    run: String,
    subject: &'a str,
    generation: u64,
    outcome: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    limit: Option<&'static str>,
    program: String,
    source_bytes: usize,
    calls: u64,
    took_us: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    queued_us: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    worker_wait_us: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    result_bytes: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    worker_death: Option<String>,
    #[serde(flatten)]
    span: Option<SpanIds>,
}

#[derive(Serialize)]
pub(super) struct Call<'a> {
    time: String,
    run: String,
    call: u32,
    subject: &'a str,
    capability: &'a str,
    name: &'a str,
    plugin: &'a str,
    decision: &'static str,
    outcome: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    limit: Option<&'static str>,
    took_us: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    deciding_us: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    dispatching_us: Option<u64>,
    argument_bytes: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    output_bytes: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    arguments: Option<Box<RawValue>>,
    #[serde(flatten)]
    span: Option<SpanIds>,
}

/// Where the line stands in a trace.
#[derive(Serialize)]
struct SpanIds {
    trace_id: String,
    span_id: String,
}

impl From<Span> for SpanIds {
    fn from(span: Span) -> Self {
        Self { trace_id: span.trace_id(), span_id: span.span_id() }
    }
}

impl<'a> Line<'a> {
    pub(super) fn of_run(record: &'a RunRecord) -> Self {
        Self::Run(Run {
            time: time(record.began),
            run: record.run.to_string(),
            subject: record.subject.as_str(),
            generation: record.generation,
            outcome: record.outcome.name(),
            limit: record.outcome.limit().map(|limit| limit.name()),
            program: record.program.to_string(),
            source_bytes: record.source_bytes,
            calls: record.calls,
            took_us: micros(record.took),
            queued_us: record.queued.map(micros),
            worker_wait_us: record.worker_wait.map(micros),
            result_bytes: record.result_bytes,
            worker_death: record.death.map(|death| death.to_string()),
            span: record.span.map(SpanIds::from),
        })
    }

    pub(super) fn of_call(record: &'a CallRecord, hasher: &Hasher) -> Self {
        Self::Call(Call {
            time: time(record.began),
            run: record.run.to_string(),
            call: record.number,
            subject: record.subject.as_str(),
            capability: record.capability.as_str(),
            name: record.name.as_str(),
            plugin: &record.plugin,
            decision: record.decision.name(),
            outcome: record.outcome.name(),
            limit: record.outcome.limit().map(|limit| limit.name()),
            took_us: micros(record.took),
            deciding_us: record.deciding.map(micros),
            dispatching_us: record.dispatching.map(micros),
            argument_bytes: record.argument_bytes,
            output_bytes: record.output_bytes,
            arguments: record.arguments.as_deref().and_then(|json| hasher.kept(&record.capability, json)),
            span: record.span.map(SpanIds::from),
        })
    }

    pub(super) fn lost(records: u64) -> Self {
        Self::Lost { time: time(SystemTime::now()), records }
    }

    pub(super) fn refused(runs: u64) -> Self {
        Self::Refused { time: time(SystemTime::now()), runs }
    }

    /// Appends the line and its break.
    pub(super) fn write_to(&self, lines: &mut Vec<u8>) -> serde_json::Result<()> {
        let json = serde_json::to_string(self)?;
        lines.extend_from_slice(escaped(&json).as_bytes());
        lines.push(b'\n');
        Ok(())
    }
}

/// JSON without any control character, so that no line can act on the terminal that shows it. The library escapes the
/// most of them; the rest can only stand within strings, where an escape means the same.
pub(super) fn escaped(json: &str) -> std::borrow::Cow<'_, str> {
    if !json.chars().any(is_hazard) {
        return json.into();
    }
    let mut text = String::with_capacity(json.len() + 16);
    for char in json.chars() {
        match is_hazard(char) {
            // Writing to a string cannot fail.
            true => drop(write!(text, "\\u{:04x}", u32::from(char))),
            false => text.push(char),
        }
    }
    text.into()
}

/// Control characters, line breaks of Unicode's, and marks that turn the direction of writing.
pub(super) fn is_hazard(char: char) -> bool {
    char.is_control()
        || matches!(char, '\u{2028}' | '\u{2029}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

fn time(time: SystemTime) -> String {
    DateTime::<Utc>::from(time).to_rfc3339_opts(SecondsFormat::Micros, true)
}

fn micros(duration: Duration) -> u64 {
    u64::try_from(duration.as_micros()).unwrap_or(u64::MAX)
}
