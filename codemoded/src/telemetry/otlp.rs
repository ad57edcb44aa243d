//! Spans in the JSON of OTLP over HTTP, which every collector takes beside the binary form. It needs no generated code
//! and no library but the one that writes our JSON.

use std::time::{Duration, SystemTime};

use http::{Response, StatusCode};
use serde::{Deserialize, Serialize};
use ureq::Body;

use crate::run::record::{CallRecord, Outcome, RunRecord};
use crate::run::trace;

/// What is read of an answer; reading it to its end is what keeps the connection.
const MAX_ANSWER_BYTES: u64 = 64 << 10;

/// Answers a request from elsewhere.
const SERVER: u8 = 2;
const INTERNAL: u8 = 1;
/// Of a status.
const ERROR: u8 = 2;

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Request {
    resource_spans: [ResourceSpans; 1],
}

/// What a collector says that took a request (`ExportTraceServiceResponse`).
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Answer {
    partial_success: PartialSuccess,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct PartialSuccess {
    rejected_spans: Count,
}

/// 64 bits are texts in this JSON, and some write numbers.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Count {
    Number(u64),
    Text(String),
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct ResourceSpans {
    resource: Resource,
    scope_spans: [ScopeSpans; 1],
}

#[derive(Debug, Serialize)]
struct Resource {
    attributes: Vec<Attribute>,
}

#[derive(Debug, Serialize)]
struct ScopeSpans {
    scope: Scope,
    spans: Vec<Span>,
}

#[derive(Debug, Serialize)]
struct Scope {
    name: &'static str,
    version: &'static str,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Span {
    trace_id: String,
    span_id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    parent_span_id: Option<String>,
    name: String,
    kind: u8,
    /// 64 bits are texts, for JSON's readers hold fewer in a number.
    start_time_unix_nano: String,
    end_time_unix_nano: String,
    attributes: Vec<Attribute>,
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<Status>,
}

#[derive(Debug, Serialize)]
struct Status {
    code: u8,
    message: &'static str,
}

#[derive(Debug, Serialize)]
struct Attribute {
    key: &'static str,
    value: Value,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
enum Value {
    StringValue(String),
    IntValue(String),
}

impl Request {
    pub(super) fn of(spans: Vec<Span>) -> Self {
        let (name, version) = ("codemoded", env!("CARGO_PKG_VERSION"));
        let attributes = vec![text("service.name", name), text("service.version", version)];
        let scope_spans = [ScopeSpans { scope: Scope { name, version }, spans }];
        Self { resource_spans: [ResourceSpans { resource: Resource { attributes }, scope_spans }] }
    }
}

impl Span {
    /// Nothing where the run stands in no trace.
    pub(super) fn of_run(record: &RunRecord) -> Option<Self> {
        let mut attributes = vec![
            text("codemoded.run", record.run),
            text("codemoded.subject", &record.subject),
            text("codemoded.outcome", record.outcome.name()),
            text("codemoded.program", record.program),
            number("codemoded.generation", record.generation),
            number("codemoded.calls", record.calls),
        ];
        attributes.extend(record.queued.map(|queued| number("codemoded.queued_us", queued.as_micros())));
        attributes.extend(record.worker_wait.map(|wait| number("codemoded.worker_wait_us", wait.as_micros())));
        let of = Timed { began: record.began, took: record.took, outcome: record.outcome };
        Some(Self::new(record.span?, "execute".to_owned(), SERVER, of, attributes))
    }

    /// Nothing where the call stands in no trace.
    pub(super) fn of_call(record: &CallRecord) -> Option<Self> {
        let mut attributes = vec![
            text("codemoded.run", record.run),
            number("codemoded.call", record.number),
            text("codemoded.capability", record.capability.as_str()),
            text("codemoded.plugin", &record.plugin),
            text("codemoded.decision", record.decision.name()),
            text("codemoded.outcome", record.outcome.name()),
        ];
        attributes.extend(record.deciding.map(|time| number("codemoded.deciding_us", time.as_micros())));
        attributes.extend(record.dispatching.map(|time| number("codemoded.dispatching_us", time.as_micros())));
        let of = Timed { began: record.began, took: record.took, outcome: record.outcome };
        Some(Self::new(record.span?, record.name.to_string(), INTERNAL, of, attributes))
    }

    fn new(span: trace::Span, name: String, kind: u8, of: Timed, mut attributes: Vec<Attribute>) -> Self {
        attributes.extend(of.outcome.limit().map(|limit| text("codemoded.limit", limit.name())));
        let failed = of.outcome != Outcome::Ok;
        Self {
            trace_id: span.trace_id(),
            span_id: span.span_id(),
            parent_span_id: span.parent_id(),
            name,
            kind,
            start_time_unix_nano: nanos(of.began),
            end_time_unix_nano: nanos(of.began + of.took),
            attributes,
            status: failed.then(|| Status { code: ERROR, message: of.outcome.name() }),
        }
    }
}

struct Timed {
    began: SystemTime,
    took: Duration,
    outcome: Outcome,
}

fn nanos(time: SystemTime) -> String {
    time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_nanos().to_string()
}

fn text(key: &'static str, value: impl ToString) -> Attribute {
    Attribute { key, value: Value::StringValue(value.to_string()) }
}

fn number(key: &'static str, value: impl ToString) -> Attribute {
    Attribute { key, value: Value::IntValue(value.to_string()) }
}

impl Answer {
    /// How many spans were rejected of a request that was taken. What cannot be read rejects none.
    pub(super) fn read(answer: Response<Body>) -> Result<u64, StatusCode> {
        let status = answer.status();
        let text = answer.into_body().with_config().limit(MAX_ANSWER_BYTES).read_to_string().unwrap_or_default();
        if !status.is_success() {
            return Err(status);
        }
        let answer: Self = serde_json::from_str(&text).unwrap_or_default();
        Ok(match answer.partial_success.rejected_spans {
            Count::Number(count) => count,
            Count::Text(text) => text.parse().unwrap_or_default(),
        })
    }
}

impl Default for Count {
    fn default() -> Self {
        Self::Number(0)
    }
}
