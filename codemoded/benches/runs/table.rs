//! Samples, and the one table that they end in.

use std::fmt;
use std::time::Duration;

/// Durations of one thing, sorted.
pub(crate) struct Samples(Vec<Duration>);

impl Samples {
    pub(crate) fn new(mut durations: Vec<Duration>) -> Self {
        durations.sort_unstable();
        Self(durations)
    }

    pub(crate) fn median(&self) -> Duration {
        self.at(50)
    }

    pub(crate) fn p99(&self) -> Duration {
        self.at(99)
    }

    pub(crate) fn worst(&self) -> Duration {
        self.0.last().copied().unwrap_or_default()
    }

    fn at(&self, hundredth: usize) -> Duration {
        let index = (self.0.len() * hundredth / 100).min(self.0.len().saturating_sub(1));
        self.0.get(index).copied().unwrap_or_default()
    }
}

/// One line of the table.
#[derive(Default)]
pub(crate) struct Row {
    pub(crate) key: &'static str,
    pub(crate) what: String,
    pub(crate) median: String,
    pub(crate) p99: String,
    pub(crate) floor: String,
    pub(crate) ratio: String,
    pub(crate) goal: String,
    pub(crate) holds: Option<bool>,
}

impl Row {
    pub(crate) fn of(key: &'static str, what: impl Into<String>, samples: &Samples) -> Self {
        let (median, p99) = (Micros(samples.median()).to_string(), Micros(samples.p99()).to_string());
        Self { key, what: what.into(), median, p99, ..Self::default() }
    }

    pub(crate) fn beside(mut self, name: &str, floor: Duration, ratio: f64) -> Self {
        self.floor = format!("{name} {}", Micros(floor));
        self.ratio = format!("{ratio:.2}");
        self
    }

    pub(crate) fn goal(mut self, goal: impl Into<String>, holds: bool) -> Self {
        self.goal = goal.into();
        self.holds = Some(holds);
        self
    }
}

impl fmt::Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { key, what, median, p99, floor, ratio, goal, holds } = self;
        let holds = holds.map_or("", |holds| if holds { "yes" } else { "**no**" });
        write!(f, "| {key} | {what} | {median} | {p99} | {floor} | {ratio} | {goal} | {holds} |")
    }
}

/// Prints every row under one head.
pub(crate) fn print(rows: &[Row]) {
    println!("|   | what | median | p99 | floor, same run | ratio | goal | holds |");
    println!("|---|---|---:|---:|---|---:|---|---|");
    for row in rows {
        println!("{row}");
    }
}

pub(crate) fn ratio(of: Duration, to: Duration) -> f64 {
    of.as_secs_f64() / to.as_secs_f64().max(1e-9)
}

/// A duration as people compare it.
pub(crate) struct Micros(pub(crate) Duration);

impl fmt::Display for Micros {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let micros = self.0.as_secs_f64() * 1e6;
        if micros < 100.0 {
            write!(f, "{micros:.1} µs")
        } else if micros < 10_000.0 {
            write!(f, "{micros:.0} µs")
        } else {
            write!(f, "{:.1} ms", micros / 1e3)
        }
    }
}
