//! What the log says, and where spans go.

use super::place::KeyPath;
use super::raw;
use super::reading::Reading;
use crate::run::trace::Sampling;
use crate::telemetry::{Settings, spans};

pub(super) fn check_log(raw: raw::Log) -> Settings {
    Settings { format: raw.format.unwrap_or_default(), level: raw.level.unwrap_or_default() }
}

/// Nothing where no collector is named.
pub(super) fn check_traces(reading: &mut Reading, raw: raw::Traces) -> Option<spans::Settings> {
    if raw.endpoint.is_none() && raw.sample.is_some() {
        let mend = "name the collector, such as `endpoint = \"http://127.0.0.1:4318\"`";
        reading.missing(KeyPath::new(["traces", "endpoint"]), mend);
    }
    Some(spans::Settings { collector: raw.endpoint?, sampling: raw.sample.unwrap_or(Sampling::ALL) })
}
