//! Reading audit lines back: from a file, from what was rotated away, or from the journal through a pipe.
//!
//! Whatever a file holds may end on a terminal, so nothing leaves here with a control character in it.

use std::fmt::Write as _;
use std::io::{self, BufRead};

use chrono::{DateTime, SecondsFormat, Utc};
use serde_json::{Map, Value};

use super::line::{escaped, is_hazard};

/// No line that the daemon writes is longer.
const MAX_LINE_BYTES: usize = 256 << 20;

/// Which lines are wanted; an absent part wants all.
#[derive(Clone, Debug, Default)]
pub struct Filter {
    pub run: Option<String>,
    pub subject: Option<String>,
    /// An ID or a name; only calls have one.
    pub capability: Option<String>,
    pub outcome: Option<String>,
    pub since: Option<DateTime<Utc>>,
    pub until: Option<DateTime<Utc>>,
}

/// One line that was read.
#[derive(Clone, Debug)]
pub struct AuditLine {
    fields: Map<String, Value>,
    time: DateTime<Utc>,
    json: String,
}

/// The bytes are no line of an audit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not an audit line")]
pub struct Broken;

impl AuditLine {
    pub fn parse(bytes: &[u8]) -> Result<Self, Broken> {
        let json = std::str::from_utf8(bytes).map_err(|_| Broken)?.trim();
        let fields: Map<String, Value> = serde_json::from_str(json).map_err(|_| Broken)?;
        let time = fields.get("time").and_then(Value::as_str).ok_or(Broken)?;
        let time = DateTime::parse_from_rfc3339(time).map_err(|_| Broken)?.to_utc();
        fields.get("kind").and_then(Value::as_str).ok_or(Broken)?;
        Ok(Self { json: json.to_owned(), fields, time })
    }

    /// The line as it was written.
    pub fn json(&self) -> String {
        escaped(&self.json).into_owned()
    }

    /// The line for a reader: when, what, how it ended, for whom, which capability, how long, in which run.
    pub fn row(&self) -> String {
        let kind = self.text("kind");
        let time = self.time.to_rfc3339_opts(SecondsFormat::Millis, true);
        let what = match kind.as_str() {
            "lost" => format!("{} records were lost", self.number("records")),
            "refused" => format!("{} runs were refused: the queue was full", self.number("runs")),
            _ => self.of_run(&kind),
        };
        format!("{time}  {kind:<4}  {what}")
    }

    fn of_run(&self, kind: &str) -> String {
        let outcome = match self.text("limit") {
            limit if limit.is_empty() => self.text("outcome"),
            limit => limit,
        };
        let (what, number) = match kind {
            "call" => (self.text("name"), format!("#{}", self.number("call"))),
            _ => (format!("{} calls", self.number("calls")), String::new()),
        };
        let took = self.number("took_us");
        let (subject, run) = (self.text("subject"), self.text("run"));
        format!("{outcome:<17}  {subject:<16}  {what:<24}  {:>6}.{:03} ms  {run}{number}", took / 1000, took % 1000)
    }

    fn text(&self, key: &str) -> String {
        self.fields.get(key).and_then(Value::as_str).map(shown).unwrap_or_default()
    }

    fn number(&self, key: &str) -> u64 {
        self.fields.get(key).and_then(Value::as_u64).unwrap_or_default()
    }
}

impl Filter {
    pub fn wants(&self, line: &AuditLine) -> bool {
        let is = |key: &str, wanted: &str| line.fields.get(key).and_then(Value::as_str) == Some(wanted);
        self.run.as_deref().is_none_or(|run| is("run", run))
            && self.subject.as_deref().is_none_or(|subject| is("subject", subject))
            && self.capability.as_deref().is_none_or(|wanted| is("capability", wanted) || is("name", wanted))
            && self.outcome.as_deref().is_none_or(|outcome| is("outcome", outcome))
            && self.since.is_none_or(|since| line.time >= since)
            && self.until.is_none_or(|until| line.time < until)
    }
}

/// The text with every control character as an escape.
pub fn shown(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for char in text.chars() {
        match is_hazard(char) {
            // Writing to a string cannot fail.
            true => drop(write!(shown, "{}", char.escape_unicode())),
            false => shown.push(char),
        }
    }
    shown
}

/// Gives each line of a text to `take`, with its number, and a broken one as such. Blank lines are passed over.
pub fn each_line<E: From<io::Error>>(
    mut text: impl BufRead,
    mut take: impl FnMut(u64, Result<AuditLine, Broken>) -> Result<(), E>,
) -> Result<(), E> {
    let mut number = 0;
    let mut line = Vec::new();
    loop {
        line.clear();
        number += 1;
        let most = MAX_LINE_BYTES as u64;
        if io::Read::take(&mut text, most).read_until(b'\n', &mut line)? == 0 {
            return Ok(());
        }
        if !line.trim_ascii().is_empty() {
            take(number, AuditLine::parse(&line))?;
        }
    }
}
