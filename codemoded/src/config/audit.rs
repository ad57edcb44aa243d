//! What is kept of runs and calls, and where.

use super::place::KeyPath;
use super::reading::Reading;
use super::{Transport, raw, reference};
use crate::audit::arguments::{Arguments, Key};
use crate::audit::{Destination, Settings};
use crate::capability::Id;
use crate::config::Problem;

const MAX_QUEUED: usize = 10_000;

pub(super) fn check(reading: &mut Reading, raw: raw::Audit, by: Transport) -> Settings {
    let section = KeyPath::new(["audit"]);
    let to = match raw.to.unwrap_or_default() {
        Destination::File(path) => Destination::File(reading.absolute(path)),
        other @ (Destination::Off | Destination::Journald | Destination::Stdout) => other,
    };
    if by == Transport::Stdio && to == Destination::Stdout {
        reading.fault(section.key("to"), Problem::StdoutIsTheClients);
    }
    let key = raw.key_file.as_ref().and_then(|file| {
        let path = reading.absolute(file);
        reading.note_secret_file(path.clone());
        let key = reference::read_text(&path)
            .and_then(|text| Key::new(&text).map_err(|cause| Problem::Refused(cause.to_string())));
        key.map_err(|problem| reading.fault(section.key("key_file"), problem)).ok()
    });
    let of = raw.arguments_of.iter().filter_map(|(id, keep)| Some((Id::new(id), (*keep)?)));
    Settings {
        to,
        arguments: Arguments { of_others: raw.arguments.unwrap_or_default(), of: of.collect(), key },
        overflow: raw.overflow.unwrap_or_default(),
        max_queued: raw.max_queued.map_or(MAX_QUEUED, Into::into),
    }
}
