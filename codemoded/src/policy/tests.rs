//! What a policy decides, and which policies never start.

mod decided;
mod refused;
mod threads;

use std::future::Future;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::{Asked, Decision, Policy, PolicyError, PolicyFailure, PolicySource, Question, Text};
use crate::capability::{Hints, Id, Name};
use crate::identity::{Subject, SubjectId};
use crate::value::{Bounds, Map, Value, read};

/// A policy of one module whose head is given; the decision is `data.p.allow`.
fn source(module: &str) -> PolicySource {
    let text = Text { path: "authz.rego".into(), text: format!("package p\n{module}\n") };
    PolicySource { modules: vec![text], execute: "data.p.allow".into(), ..PolicySource::default() }
}

#[track_caller]
fn load(source: &PolicySource) -> Policy {
    Policy::load(source).unwrap_or_else(|errors| panic!("{}", texts(&errors).join("\n")))
}

#[track_caller]
fn errors(source: &PolicySource) -> Vec<String> {
    texts(&Policy::load(source).expect_err("the policy loaded"))
}

fn texts(errors: &[PolicyError]) -> Vec<String> {
    errors.iter().map(ToString::to_string).collect()
}

fn json(text: &str) -> Map {
    match read(text.as_bytes(), Bounds { max_bytes: 1 << 20, max_depth: 32 }) {
        Ok(Value::Map(members)) => members,
        other => panic!("no object: {other:?}"),
    }
}

fn subject() -> Subject {
    Subject { id: SubjectId::new("ada").unwrap(), claims: Arc::new(json(r#"{"groups": ["staff", "ops"]}"#)) }
}

fn asked(name: &str) -> Asked {
    let hints = Hints { read_only: Some(true), ..Hints::default() };
    Asked { id: Id::new("records.entry.lookup"), name: Name::new(name).unwrap(), hints }
}

fn question(arguments: &str) -> Question {
    Question { subject: subject(), capability: asked("records.lookup"), arguments: Arc::new(json(arguments)) }
}

fn soon() -> Instant {
    Instant::now() + Duration::from_secs(5)
}

fn wait<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(future)
}

fn decide(module: &str, arguments: &str) -> Decision {
    wait(load(&source(module)).decide(question(arguments), soon()))
}

fn deny() -> Decision {
    Decision::Deny { reason: None }
}

fn failed(cause: &str) -> Decision {
    Decision::Failure(PolicyFailure::Evaluation(cause.into()))
}
