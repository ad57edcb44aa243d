//! What one decision costs a caller, the way to the evaluator and back included: a policy of twenty rules over a data
//! document of a thousand entries. Beside it, and in turn with it, the engine alone.

#![expect(clippy::unwrap_used, reason = "a measurement stops at the first surprise")]

#[path = "policy/engine.rs"]
mod engine;
#[path = "runs/table.rs"]
mod table;

use std::fmt::Write;
use std::hint::black_box;
use std::sync::Arc;
use std::time::{Duration, Instant};

use codemoded::capability::{Hints, Id, Name};
use codemoded::identity::{Subject, SubjectId};
use codemoded::policy::{Asked, Decision, Policy, PolicySource, Question, Text};
use codemoded::value::{Map, Value};
use engine::Bare;
use table::{Micros, Row, Samples, ratio};

const DECISIONS: usize = 20_000;
const DISCOVERIES: usize = 50;
const GOAL: Duration = Duration::from_micros(8);
const ALLOW: &str = "data.codemode.authz.allow";

/// Two values of one rule are possible with these, so the engine's interpreter decides.
const CONFLICTING: &str = "level := 1 if input.arguments.limit > 1\nlevel := 2 if input.arguments.limit < 1\n";

/// The question of [`question`] as the engine takes it.
const INPUT: &str = r#"{"subject": {"id": "ada", "claims": {"groups": ["staff", "g3"]}}, "capability":
{"id": "records.lookup", "name": "records.lookup", "hints": {"read_only": true}}, "arguments": {"key": "k500", "limit": 10}}"#;

fn main() {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_time().build().unwrap();
    let (policy, conflicting) = (load(&module("")), load(&module(CONFLICTING)));
    let mut bare = Bare::load(&module(""), &data(), ALLOW, INPUT);
    let rows = runtime.block_on(async {
        let (busy, floor) = decisions(&policy, &mut bare, Duration::ZERO).await;
        let (idle, idle_floor) = decisions(&policy, &mut bare, Duration::from_millis(1)).await;
        let (interpreted, same_floor) = decisions(&conflicting, &mut bare, Duration::ZERO).await;
        let goal = format!("≤ {}", Micros(GOAL));
        let holds = busy.median() <= GOAL;
        vec![
            row("one decision: 20 rules, 1,000 entries", &busy, &floor).goal(goal, holds),
            row("the same, 1 ms after the last", &idle, &idle_floor),
            row("the same where rules may conflict", &interpreted, &same_floor),
            Row::of("p", "who sees which of 1,000 capabilities", &discoveries(&policy).await),
        ]
    });
    table::print(&rows);
}

fn row(what: &str, samples: &Samples, floor: &Samples) -> Row {
    Row::of("p", format!("{what}; worst {}", Micros(samples.worst())), samples).beside(
        "engine alone",
        floor.median(),
        ratio(samples.median(), floor.median()),
    )
}

/// The daemon's decisions and the engine's own, in turn.
async fn decisions(policy: &Policy, bare: &mut Bare, pause: Duration) -> (Samples, Samples) {
    let count = if pause.is_zero() { DECISIONS } else { DECISIONS / 20 };
    let (mut times, mut floor) = (Vec::with_capacity(count), Vec::with_capacity(count));
    for _ in 0..count {
        wait(pause).await;
        // A call's subject, capability and arguments exist already.
        let question = question();
        let started = Instant::now();
        let decision = black_box(policy.decide(question, started + Duration::from_secs(2)).await);
        times.push(started.elapsed());
        assert!(decision == Decision::Allow, "{decision:?}");
        wait(pause).await;
        let started = Instant::now();
        let allows = black_box(bare.allows());
        floor.push(started.elapsed());
        assert!(allows, "the engine decides otherwise");
    }
    (Samples::new(times), Samples::new(floor))
}

/// The runtime would make a millisecond of nothing.
async fn wait(pause: Duration) {
    if !pause.is_zero() {
        tokio::time::sleep(pause).await;
    }
}

async fn discoveries(policy: &Policy) -> Samples {
    let mut times = Vec::new();
    for _ in 0..DISCOVERIES {
        let names: Vec<_> = (0..1_000).map(|number| asked(&format!("records.c{number}"))).collect();
        let started = Instant::now();
        let shown = policy.visible(&subject(), names, started + Duration::from_secs(5)).await;
        times.push(started.elapsed());
        assert!(shown.iter().all(|shown| *shown), "all are shown");
    }
    Samples::new(times)
}

fn question() -> Question {
    let arguments = [("key".to_owned(), Value::from("k500")), ("limit".to_owned(), Value::from(10))];
    Question { subject: subject(), capability: asked("records.lookup"), arguments: Arc::new(Map::from_iter(arguments)) }
}

fn load(module: &str) -> Policy {
    let source = PolicySource {
        modules: vec![Text { path: "authz.rego".into(), text: module.into() }],
        data: vec![Text { path: "data.json".into(), text: data() }],
        execute: ALLOW.into(),
        discover: Some("data.codemode.authz.shown".into()),
        ..PolicySource::default()
    };
    Policy::load(&source).unwrap()
}

fn data() -> String {
    let mut entries = String::new();
    for n in 0..1_000 {
        let separator = if n == 0 { "" } else { "," };
        write!(entries, "{separator}\"k{n}\": {{\"owner\": \"u{n}\", \"groups\": [\"g{}\"]}}", n % 7).unwrap();
    }
    format!("{{\"entries\": {{{entries}}}}}")
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
        writeln!(module, "allow if {{ input.capability.name == \"other.c{n}\"; small; in_group }}").unwrap();
    }
    module
}

fn subject() -> Subject {
    let claims = [("groups".to_owned(), Value::from(vec!["staff".into(), "g3".into()]))];
    Subject { id: SubjectId::new("ada").unwrap(), claims: Arc::new(Map::from_iter(claims)) }
}

fn asked(name: &str) -> Asked {
    let hints = Hints { read_only: Some(true), ..Hints::default() };
    Asked { id: Id::new(name), name: Name::new(name).unwrap(), hints }
}
