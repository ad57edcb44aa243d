//! What the daemon says of itself while it works: its log, and where it is asked to, spans.

mod directives;
mod otlp;
pub mod spans;

use std::io::{self, IsTerminal as _};
use std::os::fd::AsFd as _;
use std::sync::{Arc, Mutex, PoisonError};

use tracing::Level;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::{SubscriberInitExt as _, TryInitError};
use tracing_subscriber::{Layer, Registry, fmt, reload};

pub use directives::{Directives, InvalidDirective};

/// How the log is written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Settings {
    pub format: Format,
    pub level: Directives,
}

/// The shape of a line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Format {
    /// For people.
    #[default]
    Human,
    /// One object a line, for machines.
    Json,
}

impl std::fmt::Display for Format {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Human => "human",
            Self::Json => "json",
        })
    }
}

/// The log's levels while it is written; clones are the same.
#[derive(Clone, Debug)]
pub struct Levels {
    filter: reload::Handle<Targets, Registry>,
    now: Arc<Mutex<Directives>>,
}

/// The levels stay as they are.
#[derive(Debug, thiserror::Error)]
#[error("the log's levels cannot be changed")]
pub struct LevelsError(#[from] reload::Error);

/// Begins to write the log to standard error.
///
/// # Errors
/// Something else in this process writes a log already.
pub fn start(settings: &Settings) -> Result<Levels, TryInitError> {
    let (filter, handle) = reload::Layer::new(settings.level.targets());
    let lines = fmt::layer().with_writer(io::stderr);
    let has_time = !is_journal();
    // A file and a journal take no colours.
    let colours = io::stderr().is_terminal();
    let lines: Box<dyn Layer<Registry> + Send + Sync> = match (settings.format, has_time) {
        (Format::Human, true) => lines.with_ansi(colours).boxed(),
        (Format::Human, false) => lines.with_ansi(colours).without_time().boxed(),
        (Format::Json, true) => lines.json().flatten_event(true).with_span_list(false).boxed(),
        (Format::Json, false) => lines.json().flatten_event(true).with_span_list(false).without_time().boxed(),
    };
    tracing_subscriber::registry().with(lines.with_filter(filter)).try_init()?;
    Ok(Levels { filter: handle, now: Arc::new(Mutex::new(settings.level.clone())) })
}

impl Levels {
    /// Changes the levels from now on; `by` is who wants it, for the log.
    pub fn set(&self, directives: Directives, by: &str) -> Result<(), LevelsError> {
        let mut now = self.now.lock().unwrap_or_else(PoisonError::into_inner);
        if *now == directives {
            return Ok(());
        }
        let tell = || tracing::info!(levels = %directives, by, "the log's levels change");
        // Before or after, whichever is heard: who switched the log off is in it.
        let is_heard = tracing::enabled!(Level::INFO);
        if is_heard {
            tell();
        }
        self.filter.reload(directives.targets())?;
        if !is_heard {
            tell();
        }
        *now = directives;
        Ok(())
    }

    /// The levels as they were last set.
    pub fn now(&self) -> Directives {
        self.now.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// Whether standard error is the journal's, which notes the time itself. Systemd says which file it is.
fn is_journal() -> bool {
    let Ok(stream) = std::env::var("JOURNAL_STREAM") else { return false };
    let stat = rustix::fs::fstat(io::stderr().as_fd());
    stat.is_ok_and(|stat| stream == format!("{}:{}", stat.st_dev, stat.st_ino))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_change_while_the_log_is_written() {
        let levels = start(&Settings::default()).unwrap();
        let debug = || tracing::enabled!(target: "codemoded::run", Level::DEBUG);
        assert!(!debug() && levels.now().to_string() == "info");
        levels.set("warn,codemoded::run=debug".parse().unwrap(), "a test").unwrap();
        assert!(debug() && levels.now().to_string() == "warn,codemoded::run=debug");
        levels.set("off".parse().unwrap(), "a test").unwrap();
        assert!(!debug());
    }
}
