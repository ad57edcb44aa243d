//! How well search finds what a task needs, over three sample catalogs. `cargo test -p codemoded labelled -- --nocapture`
//! prints the table and every miss.

#[path = "../../../../tests/search/samples.rs"]
mod samples;

use std::collections::HashSet;
use std::fmt::Write as _;
use std::fs;

use samples::{CATALOGS, Sample, folder, load};

use super::token::{each_token, query_tokens};
use super::{Document, Index};
use crate::capability::Name;
use crate::limits::Limits;

struct Labelled {
    query: String,
    answers: Vec<String>,
}

struct Catalog {
    samples: Vec<Sample>,
    index: Index,
}

/// How many of some queries found a right answer first, or among the first five.
#[derive(Default)]
struct Tally {
    queries: usize,
    first: usize,
    among_five: usize,
}

impl Catalog {
    fn load(name: &str) -> Self {
        let samples = load(name);
        let index = index(&samples);
        Self { samples, index }
    }

    fn found(&self, query: &str) -> Vec<&str> {
        let matches = self.index.matching(query, &Limits::default()).unwrap();
        matches.ranked(20).into_iter().map(|place| self.samples[place].name.as_str()).collect()
    }

    /// The words of the query that a capability has nowhere.
    fn missing(&self, query: &str, name: &str) -> String {
        let place = self.samples.iter().position(|sample| sample.name == name).unwrap();
        let alone = index(&self.samples[place..=place]);
        let is_missing = |word: &str| alone.matching(word, &Limits::default()).unwrap().is_empty();
        let words = query.split(' ').filter(|word| !query_tokens(word).unwrap().is_empty());
        words.filter(|word| is_missing(word)).collect::<Vec<_>>().join(", ")
    }
}

fn index(samples: &[Sample]) -> Index {
    let names: Vec<Name> = samples.iter().map(|sample| Name::new(&sample.name).unwrap()).collect();
    Index::build(samples.iter().zip(&names).map(|(sample, name)| Document {
        name,
        terms: &sample.terms,
        summary: &sample.summary,
        description: &sample.summary,
    }))
}

impl Tally {
    fn percent(&self, part: usize) -> f64 {
        100.0 * part as f64 / self.queries as f64
    }
}

fn labelled(half: &str, catalog: &str) -> Vec<Labelled> {
    let path = folder().join("queries").join(half).join(catalog).with_extension("tsv");
    let text = fs::read_to_string(path).unwrap();
    text.lines()
        .map(|line| {
            let [query, answers, _task] = line.split('\t').collect::<Vec<_>>()[..] else { panic!("`{line}`") };
            Labelled { query: query.to_owned(), answers: answers.split(' ').map(str::to_owned).collect() }
        })
        .collect()
}

/// Measures one half over all catalogs, and reports it.
fn measure(half: &str, report: &mut String) -> Tally {
    let mut all = Tally::default();
    let mut misses = String::new();
    for name in CATALOGS {
        let catalog = Catalog::load(name);
        let mut tally = Tally::default();
        for Labelled { query, answers } in labelled(half, name) {
            let found = catalog.found(&query);
            let rank = found.iter().position(|found| answers.iter().any(|answer| answer == found));
            tally.queries += 1;
            tally.first += usize::from(rank == Some(0));
            tally.among_five += usize::from(rank.is_some_and(|rank| rank < 5));
            let why = match rank {
                Some(0) => continue,
                Some(rank) => format!("at {}, after {}", rank + 1, found[0]),
                None => format!("not found, for the rule: without {}", catalog.missing(&query, &answers[0])),
            };
            writeln!(misses, "    {name}: `{query}`: {} {why}", answers.join(" or ")).unwrap();
        }
        line(report, half, name, &tally);
        all.queries += tally.queries;
        all.first += tally.first;
        all.among_five += tally.among_five;
    }
    line(report, half, "all", &all);
    report.push_str(&misses);
    all
}

fn line(report: &mut String, half: &str, catalog: &str, tally: &Tally) {
    let (first, five) = (tally.percent(tally.first), tally.percent(tally.among_five));
    writeln!(report, "{half:9} {catalog:10} {:4} queries  top-1 {first:5.1} %  top-5 {five:5.1} %", tally.queries)
        .unwrap();
}

#[test]
fn queries_of_the_held_out_half_find_their_answer() {
    let mut report = String::new();
    measure("tuning", &mut report);
    let held_out = measure("held-out", &mut report);
    println!("{report}");
    assert!(held_out.percent(held_out.first) >= 95.0, "top-1\n{report}");
    assert!(held_out.percent(held_out.among_five) >= 99.0, "top-5\n{report}");
}

#[test]
fn queries_for_what_no_catalog_has_find_nothing() {
    let catalogs = CATALOGS.map(|name| (name, Catalog::load(name)));
    for line in fs::read_to_string(folder().join("queries/nothing.tsv")).unwrap().lines() {
        let (name, query) = line.split_once('\t').unwrap();
        let (_, catalog) = catalogs.iter().find(|(known, _)| *known == name).unwrap();
        assert_eq!(catalog.found(query), [""; 0], "`{query}` in {name}");
    }
}

#[test]
fn hiding_a_capability_is_as_if_it_were_absent() {
    let Catalog { mut samples, index: all } = Catalog::load("cloud");
    let is_visible = |place: usize| !place.is_multiple_of(3);
    let names: Vec<String> = samples.iter().map(|sample| sample.name.clone()).collect();
    let mut place = 0..;
    samples.retain(|_| place.next().is_some_and(is_visible));
    let rest = Catalog { index: index(&samples), samples };
    for Labelled { query, .. } in ["tuning", "held-out"].iter().flat_map(|half| labelled(half, "cloud")) {
        let mut matches = all.matching(&query, &Limits::default()).unwrap();
        let visible: Vec<bool> = matches.documents().map(is_visible).collect();
        matches.retain(&visible);
        let seen: Vec<&str> = matches.ranked(20).into_iter().map(|place| names[place].as_str()).collect();
        assert_eq!(seen, rest.found(&query), "`{query}`");
    }
}

#[test]
fn at_most_a_third_of_the_queries_only_repeat_the_answer_s_name() {
    let (mut queries, mut repeated) = (0, 0);
    for (half, catalog) in ["tuning", "held-out"].iter().flat_map(|half| CATALOGS.map(|catalog| (half, catalog))) {
        for Labelled { query, answers } in labelled(half, catalog) {
            queries += 1;
            repeated += usize::from(answers.iter().any(|answer| repeats(&query, answer)));
        }
    }
    println!("{repeated} of {queries} queries have no word but the name's");
    assert!(queries >= 300);
    assert!(3 * repeated <= queries, "{repeated} of {queries}");
}

/// Whether the name has every word of the query.
fn repeats(query: &str, name: &str) -> bool {
    let mut words = HashSet::new();
    each_token(name, |word| {
        words.insert(word.to_owned());
    });
    query_tokens(query).unwrap().iter().all(|token| words.contains(&token.stem))
}

#[test]
fn the_sample_catalogs_are_as_large_as_they_say() {
    let sizes = CATALOGS.map(|name| load(name).len());
    assert!((100..200).contains(&sizes[0]), "{sizes:?}");
    assert!((300..400).contains(&sizes[1]), "{sizes:?}");
    assert!((2_000..2_200).contains(&sizes[2]), "{sizes:?}");
    for sample in CATALOGS.into_iter().flat_map(load) {
        assert!(sample.terms.len() <= 16 && !sample.summary.contains('{'), "{sample:?}");
    }
}
