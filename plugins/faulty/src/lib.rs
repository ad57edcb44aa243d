//! Misbehaves on request, for the tests: in start as its settings say, in calls as their capability and arguments say.
//!
//! Nothing lingers: what hangs gives up after a minute. What is wrong with a whole library is in `examples/`.
#![forbid(unsafe_code)]

mod authenticator;
mod calls;
mod hang;
mod numbered;
mod recording;

use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::AtomicUsize;
use std::time::Duration;

use codemode_plugin_api::prelude::*;

/// How an instance misbehaves.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Settings {
    /// What happens while the instance starts.
    #[serde(default)]
    start: Start,
    /// The file to which `faulty.record` and `faulty.note` append a line for each call; relative to the configuration.
    record: Option<PathBuf>,
    /// Whether the instance says that it cannot work.
    #[serde(default)]
    unhealthy: bool,
    /// What `faulty.marker` gives, so that a test can tell instances apart.
    #[serde(default)]
    marker: String,
    /// How long the instance takes to end; then it appends `ended` to the record.
    end_milliseconds: Option<u64>,
}

#[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Start {
    /// It starts.
    #[default]
    Well,
    /// It gives an error.
    Error,
    /// It panics.
    Panic,
    /// It does not come back for a minute.
    Hang,
    /// It takes half a second.
    Slow,
    /// It aborts the process.
    Crash,
    /// It ends the process as if all were well.
    Exit,
}

struct Faulty {
    record: Option<PathBuf>,
    /// One line at a time.
    recording: Mutex<()>,
    /// Calls of `faulty.crowd` in flight, now and at most.
    in_crowd: AtomicUsize,
    largest_crowd: AtomicUsize,
    unhealthy: bool,
    marker: String,
    end: Option<Duration>,
}

/// How long a slow start takes.
const SLOW: Duration = Duration::from_millis(500);

impl Plugin for Faulty {
    type Settings = Settings;

    #[expect(clippy::panic, reason = "on request")]
    fn start(settings: Settings, host: &Host) -> Result<Self, StartError> {
        match settings.start {
            Start::Well => {}
            Start::Error => return Err(StartError::new("asked to fail")),
            Start::Panic => panic!("asked to panic in start"),
            Start::Hang => hang::until_a_minute_has_passed(),
            Start::Slow => std::thread::sleep(SLOW),
            Start::Crash => std::process::abort(),
            Start::Exit => std::process::exit(0),
        }
        let record = settings.record.map(|path| host.resolve(path));
        Ok(Self {
            record,
            recording: Mutex::new(()),
            in_crowd: AtomicUsize::new(0),
            largest_crowd: AtomicUsize::new(0),
            unhealthy: settings.unhealthy,
            marker: settings.marker,
            end: settings.end_milliseconds.map(Duration::from_millis),
        })
    }

    fn capabilities(c: &mut Capabilities<Self>) {
        c.namespace_configurable();
        if let Some(count) = numbered::wanted() {
            return numbered::offer(c, count);
        }
        authenticator::offer(c);
        calls::offer(c);
        hang::offer(c);
        recording::offer(c);
    }

    fn health(&self) -> Result<(), CapabilityError> {
        if self.unhealthy { Err(CapabilityError::private("asked to be unhealthy")) } else { Ok(()) }
    }
}

impl Drop for Faulty {
    fn drop(&mut self) {
        if let (Some(time), Some(path)) = (self.end, &self.record) {
            std::thread::sleep(time);
            // A record that is missing is what a test looks for.
            let _ = recording::append_line(path, "ended");
        }
    }
}

export!(Faulty);
