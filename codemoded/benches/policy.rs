//! What one decision costs a caller, the way to the evaluator and back included: a policy of twenty rules over a data
//! document of a thousand entries. Prints median and 99th percentile in microseconds.

use std::fmt::Write;
use std::future::Future;
use std::hint::black_box;
use std::sync::Arc;
use std::time::{Duration, Instant};

use codemoded::capability::{Hints, Id, Name};
use codemoded::identity::{Subject, SubjectId};
use codemoded::policy::{Asked, Decision, Policy, PolicySource, Question, Text};
use codemoded::value::{Map, Value};

const DECISIONS: usize = 20_000;

fn main() {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_time().build();
    let Ok(runtime) = runtime else { return eprintln!("no runtime") };
    let plain = load(&module(""));
    let conflicting =
        load(&module("level := 1 if input.arguments.limit > 1\nlevel := 2 if input.arguments.limit < 1\n"));
    runtime.block_on(async {
        report("one after another", one_by_one(|| decide(&plain), Duration::ZERO).await);
        report("with a pause of 1 ms", one_by_one(|| decide(&plain), Duration::from_millis(1)).await);
        report("by the interpreter", one_by_one(|| decide(&conflicting), Duration::ZERO).await);
        let started = Instant::now();
        let names = (0..1_000).filter_map(|n| asked(&format!("records.c{n}"))).collect();
        let shown = plain.visible(&subject(), names, Instant::now() + Duration::from_secs(5)).await;
        println!("discover {} of 1,000: {:?}", shown.iter().filter(|&&shown| shown).count(), started.elapsed());
    });
}

async fn one_by_one<F: Future<Output = Decision>>(decide: impl Fn() -> F, pause: Duration) -> Vec<Duration> {
    let count = if pause.is_zero() { DECISIONS } else { DECISIONS / 20 };
    let mut times = Vec::with_capacity(count);
    for _ in 0..count {
        if !pause.is_zero() {
            tokio::time::sleep(pause).await;
        }
        let decision = decide();
        let started = Instant::now();
        let decision = black_box(decision.await);
        times.push(started.elapsed());
        if decision != Decision::Allow {
            eprintln!("unexpected: {decision:?}");
        }
    }
    times
}

/// The question is made before the clock starts: a call's subject, capability and arguments exist already.
fn decide(policy: &Policy) -> impl Future<Output = Decision> {
    let arguments = [("key".to_owned(), Value::from("k500")), ("limit".to_owned(), Value::from(10))];
    let arguments = Arc::new(Map::from_iter(arguments));
    let question = asked("records.lookup").map(|capability| Question { subject: subject(), capability, arguments });
    async move {
        match question {
            Some(question) => policy.decide(question, Instant::now() + Duration::from_secs(2)).await,
            None => Decision::Deny { reason: None },
        }
    }
}

fn report(what: &str, mut times: Vec<Duration>) {
    times.sort_unstable();
    let at = |part: usize| times.get(times.len() * part / 100).copied().unwrap_or_default().as_secs_f64() * 1e6;
    println!("decide {what}: median {:.1} us, p99 {:.1} us, of {}", at(50), at(99), times.len());
}

fn load(module: &str) -> Policy {
    let mut entries = String::new();
    for n in 0..1_000 {
        let separator = if n == 0 { "" } else { "," };
        if write!(entries, "{separator}\"k{n}\": {{\"owner\": \"u{n}\", \"groups\": [\"g{}\"]}}", n % 7).is_err() {
            continue;
        }
    }
    let source = PolicySource {
        modules: vec![Text { path: "authz.rego".into(), text: module.into() }],
        data: vec![Text { path: "data.json".into(), text: format!("{{\"entries\": {{{entries}}}}}") }],
        execute: "data.codemode.authz.allow".into(),
        discover: Some("data.codemode.authz.shown".into()),
        ..PolicySource::default()
    };
    match Policy::load(&source) {
        Ok(policy) => policy,
        Err(errors) => {
            for error in errors {
                eprintln!("{error}");
            }
            std::process::exit(1)
        }
    }
}

/// Twenty rules, of which a decision evaluates about half.
fn module(more: &str) -> String {
    let level = if more.is_empty() { "true" } else { "level == 1" };
    let mut module = format!(
        r#"package codemode.authz
default allow := false
allow if {{ not banned; known; reads; in_group; {level} }}
allow if {{ is_admin; not banned }}
banned if input.subject.id in {{"mallory", "eve"}}
known if entry.owner
entry := data.entries[input.arguments.key]
reads if input.capability.hints.read_only
is_admin if "admin" in input.subject.claims.groups
in_group if {{ some group in input.subject.claims.groups; group in entry.groups }}
shown if {{ reads; some group in input.subject.claims.groups; group == "staff" }}
small if input.arguments.limit <= 100
{more}"#
    );
    for n in 0..11 {
        module.push_str(&format!("allow if {{ input.capability.name == \"other.c{n}\"; small; in_group }}\n"));
    }
    module
}

fn subject() -> Subject {
    let claims = [("groups".to_owned(), Value::from(vec!["staff".into(), "g3".into()]))];
    match SubjectId::new("ada") {
        Ok(id) => Subject { id, claims: Arc::new(Map::from_iter(claims)) },
        Err(_) => std::process::exit(1),
    }
}

fn asked(name: &str) -> Option<Asked> {
    let hints = Hints { read_only: Some(true), ..Hints::default() };
    Some(Asked { id: Id::new(name), name: Name::new(name).ok()?, hints })
}
