//! How long a search takes, beside a plain scan that reads every document and comes to the same answer.
//!
//! `cargo bench -p codemoded --bench search`

#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "a measurement stops at the first surprise")]

#[path = "../../tests/search/samples.rs"]
mod samples;
#[path = "search/scan.rs"]
mod scan;

use std::fs;
use std::hint::black_box;
use std::time::{Duration, Instant};

use codemoded::capability::Hints;
use codemoded::capability::catalog::{Catalog, Registration};
use codemoded::identity::{Subject, SubjectId};
use codemoded::limits::Limits;
use codemoded::policy::{Asked, Policy, PolicySource, Text};
use samples::{CATALOGS, Sample, folder, load};
use scan::Scan;
use serde_json::json;

const SIZES: [usize; 2] = [1_000, 20_000];
const ROUNDS: usize = 20;

fn main() {
    let queries = queries();
    let limits = Limits::default();
    let (policy, subject) = (policy(), Subject::new(SubjectId::new("ada").unwrap()));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    println!("{} queries, {ROUNDS} rounds, times in microseconds", queries.len());
    for size in SIZES {
        let samples = samples(size);
        let registrations = samples.iter().map(registration).collect();
        let start = Instant::now();
        let catalog = Catalog::build(registrations, &[]).unwrap();
        println!("{size} capabilities, built in {:.0} ms", start.elapsed().as_secs_f64() * 1e3);

        let scan = Scan::new(&samples);
        for query in &queries {
            let response = catalog.matching(query, &limits).unwrap().response(&limits);
            let names: Vec<&str> = response.results.iter().map(|result| result.name.as_str()).collect();
            assert_eq!(names, scan.search(query, limits.max_search_results), "`{query}`");
        }
        measure("index", ROUNDS, &queries, |query| {
            black_box(catalog.matching(query, &limits).unwrap().response(&limits));
        });
        measure("index, every second hidden", ROUNDS, &queries, |query| {
            let mut matches = catalog.matching(query, &limits).unwrap();
            let visible: Vec<bool> = (0..matches.capabilities().count()).map(|place| place % 2 == 0).collect();
            matches.retain(&visible);
            black_box(matches.response(&limits));
        });
        measure("index, with a discover policy", 2, &queries, |query| {
            let mut matches = catalog.matching(query, &limits).unwrap();
            let asked = matches.capabilities().map(|each| Asked::from(&**each)).collect();
            let deadline = Instant::now() + Duration::from_secs(10);
            let visible = runtime.block_on(policy.visible(&subject, asked, deadline));
            matches.retain(&visible);
            black_box(matches.response(&limits));
        });
        measure("plain scan", 1, &queries, |query| {
            black_box(scan.search(query, limits.max_search_results));
        });
    }
}

/// Shows by subject and name, as a deployment might.
fn policy() -> Policy {
    let text = "package codemode.authz\n\nallow := true\n\ndefault discover := false\n\n\
                discover if not startswith(input.capability.name, \"billing.\")\n\n\
                discover if input.subject.id == \"root\"\n";
    let module = Text { path: "authz.rego".into(), text: text.to_owned() };
    let execute = "data.codemode.authz.allow".to_owned();
    let discover = Some("data.codemode.authz.discover".to_owned());
    Policy::load(&PolicySource { modules: vec![module], execute, discover, ..PolicySource::default() }).unwrap()
}

fn measure(what: &str, rounds: usize, queries: &[String], mut search: impl FnMut(&str)) {
    let mut times: Vec<Duration> = (0..rounds)
        .flat_map(|_| queries)
        .map(|query| {
            let start = Instant::now();
            search(query);
            start.elapsed()
        })
        .collect();
    times.sort_unstable();
    let at = |percent: usize| times[(times.len() - 1) * percent / 100].as_secs_f64() * 1e6;
    println!("  {what:30} median {:9.1}  p99 {:9.1}", at(50), at(99));
}

/// The first of the sample catalogs together, and then again under other names, until there are enough.
fn samples(size: usize) -> Vec<Sample> {
    let mut all: Vec<Sample> = (0..)
        .flat_map(|copy| CATALOGS.into_iter().flat_map(load).map(move |sample| renamed(sample, copy)))
        .take(size)
        .collect();
    all.sort_by(|left, right| left.name.cmp(&right.name));
    all
}

fn renamed(sample: Sample, copy: usize) -> Sample {
    let letter = char::from(b'a' + u8::try_from(copy).unwrap());
    let name = sample.name.replacen('.', &format!("_{letter}."), usize::from(copy > 0));
    Sample { name, ..sample }
}

fn registration(sample: &Sample) -> Registration {
    Registration {
        plugin: "sample".into(),
        library: "libsample.so".into(),
        name: sample.name.clone(),
        id: None,
        summary: sample.summary.clone(),
        description: None,
        search_terms: sample.terms.clone(),
        hints: Hints::default(),
        input: json!({
            "type": "object",
            "properties": {
                "id": { "type": "string", "description": "Which one." },
                "limit": { "type": "integer", "minimum": 1, "maximum": 100, "default": 20 },
                "labels": { "type": "object", "additionalProperties": { "type": "string" } },
            },
            "required": ["id"],
        })
        .to_string()
        .into(),
        output: r#"{"type": "object", "properties": {"id": {"type": "string"}}, "required": ["id"]}"#.into(),
    }
}

/// Every labelled query.
fn queries() -> Vec<String> {
    let halves = ["tuning", "held-out"].into_iter();
    let files = halves.flat_map(|half| CATALOGS.map(|catalog| folder().join(format!("queries/{half}/{catalog}.tsv"))));
    let text: String = files.map(|file| fs::read_to_string(file).unwrap()).collect();
    text.lines().map(|line| line.split('\t').next().unwrap().to_owned()).collect()
}
