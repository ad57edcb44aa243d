//! A plugin that plays an office suite, for trying the three tools on: mail, calendars, files, chats, tasks. What it
//! holds is invented, fits together, and is forgotten with the instance.
#![forbid(unsafe_code)]

#[path = "office/operations.rs"]
mod operations;
#[path = "office/records.rs"]
mod records;
#[path = "untyped/offer.rs"]
mod untyped;

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use codemode_plugin_api::prelude::*;
use operations::Operation;
use records::Office;
use untyped::Making;

/// Names with summaries and search terms: those on which search is measured.
const TEXTS: &str = include_str!("../../../tests/search/catalogs/office.json");

struct Suite(Mutex<Office>);

impl Plugin for Suite {
    type Settings = NoSettings;

    fn start(_: NoSettings, _: &Host) -> Result<Self, StartError> {
        Ok(Self(Mutex::new(Office::read())))
    }

    fn capabilities(c: &mut Capabilities<Self>) {
        let office = Office::read();
        let texts: BTreeMap<String, (String, String)> = serde_json::from_str(TEXTS).unwrap_or_default();
        for (name, (summary, terms)) in &texts {
            let Some(operation) = Operation::of(name, &office) else { continue };
            let Some((input, output)) = operation.schemas(&office) else { continue };
            let (input, output): (Making, Making) = (Box::new(|| input), Box::new(|| output));
            let own = operation.clone();
            let answer = move |suite: &Self, given| {
                own.perform(&mut suite.0.lock().unwrap_or_else(PoisonError::into_inner), given)
            };
            let offered = untyped::offer(c, name, (input, output), answer);
            offered.summary(summary).terms(terms.split(", "));
            match operation.reads() {
                true => offered.read_only(),
                false => offered.destructive(operation.removes()),
            };
        }
    }
}

export!(Suite);
