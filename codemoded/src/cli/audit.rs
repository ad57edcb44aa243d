//! `codemoded audit`: reads back who called what.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, BufReader, Read as _, Write};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use clap::{Args, Subcommand};

use crate::audit::Destination;
use crate::audit::reading::{AuditLine, Broken, Filter, each_line, shown};
use crate::file::{self, FileFault};
use crate::run::record::Outcome;

/// How often a followed file is looked at.
const LOOK_EVERY: Duration = Duration::from_millis(200);

/// What can be done with the audit.
#[derive(Debug, Subcommand)]
pub(super) enum AuditCommand {
    /// Shows the last lines.
    Tail {
        /// Shows what is added, until it is interrupted; also after the file was rotated.
        #[arg(long, short)]
        follow: bool,
        /// How many lines.
        #[arg(long, short = 'n', value_name = "NUMBER", default_value_t = 10)]
        lines: usize,
        /// The file; without it, the configured one.
        file: Option<PathBuf>,
        #[command(flatten)]
        wanted: Wanted,
    },
    /// Shows every line that fits, in the order of the files.
    Query {
        /// The files, rotated ones first; `-` reads standard input. Without any, the configured one.
        files: Vec<PathBuf>,
        #[command(flatten)]
        wanted: Wanted,
    },
}

/// Which lines, and how.
#[derive(Debug, Args)]
pub(super) struct Wanted {
    /// Of this run: the `codemoded/run` that its client was given.
    #[arg(long, value_name = "ID", value_parser = run_id)]
    run: Option<String>,
    /// Of this subject.
    #[arg(long, value_name = "ID")]
    subject: Option<String>,
    /// Calls of this capability, by its ID or its name.
    #[arg(long, value_name = "ID")]
    capability: Option<String>,
    /// That ended like this.
    #[arg(long, value_name = "OUTCOME", value_parser = Outcome::NAMES)]
    outcome: Option<String>,
    /// That began then or later: a time such as `2026-11-30T07:00:00Z`, or an age such as `90s`, `15m`, `2h`, `7d`.
    #[arg(long, value_name = "TIME", value_parser = moment)]
    since: Option<DateTime<Utc>>,
    /// That began before then.
    #[arg(long, value_name = "TIME", value_parser = moment)]
    until: Option<DateTime<Utc>>,
    /// As they are in the file, instead of a table.
    #[arg(long)]
    json: bool,
}

/// Why the audit could not be read.
#[derive(Debug, thiserror::Error)]
pub(super) enum AuditError {
    #[error("audit.to is `journald`: `journalctl -t codemoded-audit -o cat | codemoded audit query -` reads it")]
    InTheJournal,
    #[error("audit.to is `{0}`, which is no file: say which file to read")]
    NoFile(Destination),
    #[error(transparent)]
    File(#[from] FileFault),
    #[error("cannot read `{}`", .0.display())]
    Read(PathBuf, #[source] io::Error),
    #[error("cannot write what was found")]
    Write(#[source] io::Error),
}

/// Where lines are shown, and which.
struct Show<'a> {
    out: io::BufWriter<File>,
    filter: &'a Filter,
    json: bool,
    /// How many lines have been.
    shown: u64,
}

/// Reads what the command names; `configured` tells where the daemon writes.
pub(super) fn carry_out<E: From<AuditError>>(
    command: AuditCommand,
    out: File,
    configured: impl FnOnce() -> Result<Destination, E>,
) -> Result<(), E> {
    let file = || match configured()? {
        Destination::File(path) => Ok(path),
        Destination::Journald => Err(E::from(AuditError::InTheJournal)),
        other @ (Destination::Off | Destination::Stdout) => Err(E::from(AuditError::NoFile(other))),
    };
    let done = match command {
        AuditCommand::Tail { follow, lines, file: given, wanted } => {
            let file = given.map_or_else(file, Ok)?;
            let filter = wanted.filter();
            tail(&file, lines, follow, &mut Show::new(out, &filter, wanted.json))
        }
        AuditCommand::Query { files, wanted } => {
            let files = if files.is_empty() { vec![file()?] } else { files };
            let filter = wanted.filter();
            let mut show = Show::new(out, &filter, wanted.json);
            query(&files, &mut show)
        }
    };
    match done {
        // Whoever reads has seen enough.
        Err(AuditError::Write(error)) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        done => done.map_err(E::from),
    }
}

/// Nothing is shown where one of the files cannot be opened.
fn query(paths: &[PathBuf], show: &mut Show<'_>) -> Result<(), AuditError> {
    let open = |path: &PathBuf| -> Result<Box<dyn io::Read>, AuditError> {
        Ok(if path.as_os_str() == "-" { Box::new(io::stdin()) } else { Box::new(file::open(path)?) })
    };
    let texts = paths.iter().map(open).collect::<Result<Vec<_>, _>>()?;
    paths.iter().zip(texts).try_for_each(|(path, text)| read(path, text, |line| show.line(&line)))?;
    if show.shown == 0 {
        // Nothing is left to tell where standard error is gone.
        let _ = writeln!(io::stderr(), "no line fits");
    }
    show.flush()
}

fn tail(path: &Path, lines: usize, follow: bool, show: &mut Show<'_>) -> Result<(), AuditError> {
    let mut file = file::open(path)?;
    let mut last = VecDeque::new();
    let filter = show.filter;
    read(path, &mut file, |line| {
        if filter.wants(&line) {
            last.push_back(line);
            if last.len() > lines {
                last.pop_front();
            }
        }
        Ok(())
    })?;
    last.iter().try_for_each(|line| show.line(line))?;
    show.flush()?;
    if follow {
        return self::follow(path, file, show);
    }
    Ok(())
}

/// Shows what is added to a file, from where it was read to, until reading or showing fails.
fn follow(path: &Path, mut file: File, show: &mut Show<'_>) -> Result<(), AuditError> {
    let mut rest = Vec::new();
    loop {
        std::thread::sleep(LOOK_EVERY);
        file.read_to_end(&mut rest).map_err(|cause| AuditError::Read(path.to_owned(), cause))?;
        // What is half written is shown once it is whole.
        let whole = rest.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
        let lines: Vec<u8> = rest.drain(..whole).collect();
        read(path, &*lines, |line| show.line(&line))?;
        show.flush()?;
        if let Some(next) = successor(path, &file) {
            (file, rest) = (next, Vec::new());
        }
    }
}

/// The file that has taken the place of the one that is read, or the same from its start where it was cut.
fn successor(path: &Path, file: &File) -> Option<File> {
    let (old, next) = (file.metadata().ok()?, file::open(path).ok()?);
    let new = next.metadata().ok()?;
    let at = io::Seek::stream_position(&mut &*file).ok()?;
    ((old.dev(), old.ino()) != (new.dev(), new.ino()) || new.len() < at).then_some(next)
}

/// Gives each line to `take`; a broken one is told on standard error, with its place.
fn read(
    path: &Path,
    text: impl io::Read,
    mut take: impl FnMut(AuditLine) -> Result<(), AuditError>,
) -> Result<(), AuditError> {
    let name = shown(&path.to_string_lossy());
    let done = each_line(BufReader::new(text), |number, line| match line {
        Ok(line) => take(line).map_err(Stopped::By),
        Err(Broken) => {
            // Nothing is left to tell where standard error is gone.
            let _ = writeln!(io::stderr(), "{name}:{number}: {Broken}");
            Ok(())
        }
    });
    done.map_err(|stopped| match stopped {
        Stopped::Reading(cause) => AuditError::Read(path.to_owned(), cause),
        Stopped::By(error) => error,
    })
}

/// Why no further line is read.
enum Stopped {
    Reading(io::Error),
    By(AuditError),
}

impl From<io::Error> for Stopped {
    fn from(cause: io::Error) -> Self {
        Self::Reading(cause)
    }
}

impl<'a> Show<'a> {
    fn new(out: File, filter: &'a Filter, json: bool) -> Self {
        Self { out: io::BufWriter::new(out), filter, json, shown: 0 }
    }

    fn line(&mut self, line: &AuditLine) -> Result<(), AuditError> {
        if !self.filter.wants(line) {
            return Ok(());
        }
        self.shown += 1;
        let text = if self.json { line.json() } else { line.row() };
        writeln!(self.out, "{text}").map_err(AuditError::Write)
    }

    fn flush(&mut self) -> Result<(), AuditError> {
        self.out.flush().map_err(AuditError::Write)
    }
}

impl Wanted {
    fn filter(&self) -> Filter {
        Filter {
            run: self.run.clone(),
            subject: self.subject.clone(),
            capability: self.capability.clone(),
            outcome: self.outcome.clone(),
            since: self.since,
            until: self.until,
        }
    }
}

fn run_id(text: &str) -> Result<String, &'static str> {
    match text.len() == 32 && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f')) {
        true => Ok(text.to_owned()),
        false => Err("a run's ID has 32 digits of 0-9 and a-f"),
    }
}

/// A time with its offset, or how long ago.
fn moment(text: &str) -> Result<DateTime<Utc>, &'static str> {
    if let Ok(time) = DateTime::parse_from_rfc3339(text) {
        return Ok(time.to_utc());
    }
    let wrong = "write a time such as 2026-11-30T07:00:00Z, or an age such as 90s, 15m, 2h or 7d";
    let unit = text.chars().next_back().ok_or(wrong)?;
    let number: i64 = text.strip_suffix(unit).and_then(|number| number.parse().ok()).ok_or(wrong)?;
    let age = match unit {
        's' => TimeDelta::try_seconds(number),
        'm' => TimeDelta::try_minutes(number),
        'h' => TimeDelta::try_hours(number),
        'd' => TimeDelta::try_days(number),
        _ => None,
    };
    age.and_then(|age| Utc::now().checked_sub_signed(age)).ok_or(wrong)
}
