//! What the log says, and where spans go.

use std::collections::BTreeMap;

use http::header::{CONNECTION, CONTENT_LENGTH, CONTENT_TYPE, HOST, TRANSFER_ENCODING};
use http::{HeaderMap, HeaderName, HeaderValue};

use super::fault::Problem;
use super::place::KeyPath;
use super::raw;
use super::reading::Reading;
use crate::run::trace::Sampling;
use crate::telemetry::{Settings, spans};

/// What whoever sends the spans says itself.
const OURS: [HeaderName; 5] = [CONNECTION, CONTENT_LENGTH, CONTENT_TYPE, HOST, TRANSFER_ENCODING];

pub(super) fn check_log(raw: raw::Log) -> Settings {
    Settings { format: raw.format.unwrap_or_default(), level: raw.level.unwrap_or_default() }
}

/// Nothing where no collector is named.
pub(super) fn check_traces(reading: &mut Reading, raw: raw::Traces) -> Option<spans::Settings> {
    let headers = headers(reading, raw.headers);
    if raw.endpoint.is_none() && (raw.sample.is_some() || !headers.is_empty()) {
        let mend = "name the collector, such as `endpoint = \"http://127.0.0.1:4318\"`";
        reading.missing(KeyPath::new(["traces", "endpoint"]), mend);
    }
    Some(spans::Settings { collector: raw.endpoint?, headers, sampling: raw.sample.unwrap_or(Sampling::ALL) })
}

/// A value may be a credential, so nothing shows it.
fn headers(reading: &mut Reading, given: BTreeMap<String, Option<String>>) -> HeaderMap {
    let section = KeyPath::new(["traces", "headers"]);
    let mut headers = HeaderMap::new();
    for (name, value) in given {
        let Some(value) = value else { continue };
        let parsed = HeaderName::try_from(&name).ok().filter(|name| !OURS.contains(name));
        match (parsed, HeaderValue::try_from(value)) {
            (Some(parsed), Ok(mut value)) => {
                value.set_sensitive(true);
                if headers.insert(&parsed, value).is_some() {
                    reading.fault(section.key(&name), Problem::RepeatedHeader { given: name });
                }
            }
            (None, _) => reading.fault(section.key(&name), Problem::NoHeader { given: name }),
            (Some(_), Err(_)) => reading.fault(section.key(&name), Problem::NoHeaderValue),
        }
    }
    headers
}
