//! All figures as text: those that were counted, and those that are looked at when somebody asks.

use std::fmt;
use std::time::{SystemTime, UNIX_EPOCH};

use prometheus_client::encoding::prometheus_text::{self, CONTENT_TYPE};
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::registry::Registry;

use super::{Metrics, gauge};

/// What is so at the moment.
#[derive(Clone, Copy, Debug)]
pub struct Levels {
    /// The number of the generation in force.
    pub generation: u64,
    pub loaded_at: SystemTime,
    pub capabilities: usize,
    /// Workers that wait for a program.
    pub workers_ready: usize,
    /// Workers that have one.
    pub workers_live: usize,
    /// Runs that wait for a slot.
    pub runs_waiting: usize,
    /// Records that the audit has lost so far.
    pub audit_lost: u64,
}

impl Metrics {
    /// The media type of [`Metrics::text`].
    pub const MEDIA_TYPE: &'static str = CONTENT_TYPE;

    /// Every figure, in the Prometheus text format. Without a generation there are no levels.
    pub fn text(&self, levels: Option<Levels>) -> Result<String, fmt::Error> {
        let mut text = String::new();
        prometheus_text::encode(&mut text, &self.0.registry)?;
        if let Some(levels) = levels {
            prometheus_text::encode(&mut text, &levels.registry())?;
        }
        Ok(text)
    }
}

impl Levels {
    fn registry(self) -> Registry {
        let mut registry = Registry::with_prefix("codemoded");
        let loaded_at = self.loaded_at.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
        for (name, help, value) in [
            ("generation", "The number of the generation in force", self.generation),
            ("generation_loaded_timestamp_seconds", "When it was loaded", loaded_at),
        ] {
            gauge(&mut registry, name, help).set(i64::try_from(value).unwrap_or(i64::MAX));
        }
        for (name, help, value) in [
            ("capabilities", "Capabilities that are enabled", self.capabilities),
            ("workers_ready", "Workers that wait for a program", self.workers_ready),
            ("workers_live", "Workers that have a program", self.workers_live),
            ("runs_waiting", "Runs that wait for a slot", self.runs_waiting),
        ] {
            gauge(&mut registry, name, help).set(i64::try_from(value).unwrap_or(i64::MAX));
        }
        let lost = ConstCounter::new(self.audit_lost);
        registry.register("audit_records_lost", "Records that could not be kept", lost);
        registry
    }
}
