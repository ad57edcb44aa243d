//! What the daemon says of itself while it works: its log, and where it is asked to, spans.

mod directives;
mod otlp;
pub mod spans;

use std::io::{self, IsTerminal as _};
use std::os::fd::AsFd as _;
use std::sync::{Arc, Mutex, PoisonError};

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

/// The log's levels while it is written; clones are the same.
#[derive(Clone, Debug)]
pub struct Levels {
    filter: reload::Handle<Targets, Registry>,
    now: Arc<Mutex<Directives>>,
}

/// Why the levels stay as they are.
#[derive(Debug, thiserror::Error)]
pub enum LevelsError {
    #[error(transparent)]
    Invalid(#[from] InvalidDirective),
    #[error("the log is not there any longer")]
    Gone(#[source] reload::Error),
}

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
    /// Changes the levels from now on, in the words of `log.level`.
    pub fn set(&self, directives: &str) -> Result<(), LevelsError> {
        let directives: Directives = directives.parse()?;
        let mut now = self.now.lock().unwrap_or_else(PoisonError::into_inner);
        self.filter.reload(directives.targets()).map_err(LevelsError::Gone)?;
        *now = directives;
        Ok(())
    }

    /// The levels as they were last set.
    pub fn now(&self) -> String {
        self.now.lock().unwrap_or_else(PoisonError::into_inner).to_string()
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
    use tracing::Level;

    use super::*;

    #[test]
    fn levels_change_while_the_log_is_written_or_stay_as_they_were() {
        let levels = start(&Settings::default()).unwrap();
        let debug = || tracing::enabled!(target: "codemoded::run", Level::DEBUG);
        assert!(!debug() && levels.now() == "info");
        levels.set("warn,codemoded::run=debug").unwrap();
        assert!(debug() && levels.now() == "warn,codemoded::run=debug");
        assert!(matches!(levels.set("loud"), Err(LevelsError::Invalid(_))));
        assert!(debug() && levels.now() == "warn,codemoded::run=debug");
        levels.set("off").unwrap();
        assert!(!debug());
    }
}
