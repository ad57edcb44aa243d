//! What one query finds, until it is answered.

use std::sync::Arc;

use super::Entry;
use crate::capability::Capability;
use crate::capability::search::{self, MAX_RESPONSE_BYTES, SearchResponse};
use crate::limits::Limits;

/// What a query matches. Whoever asks a policy about each capability does so between finding them and answering.
#[derive(Debug)]
pub struct Matches<'a> {
    entries: &'a [Entry],
    matches: search::Matches<'a>,
}

impl<'a> Matches<'a> {
    pub(super) fn new(entries: &'a [Entry], matches: search::Matches<'a>) -> Self {
        Self { entries, matches }
    }

    /// The capabilities, in name order.
    pub fn capabilities(&self) -> impl Iterator<Item = &'a Arc<Capability>> {
        let entries = self.entries;
        self.matches.documents().filter_map(|place| entries.get(place)).map(|entry| &entry.capability)
    }

    /// Forgets each capability at whose place `visible` does not say true.
    pub fn retain(&mut self, visible: &[bool]) {
        self.matches.retain(visible);
    }

    /// Ranks what is left and packs as many of the best as the bounds allow.
    pub fn response(&self, limits: &Limits) -> SearchResponse {
        let total = self.matches.len();
        let mut bytes = SearchResponse::frame_bytes(total);
        let mut results = Vec::new();
        for place in self.matches.ranked(limits.max_search_results) {
            let Some(entry) = self.entries.get(place) else { continue };
            bytes += entry.result_bytes + usize::from(!results.is_empty());
            if bytes > MAX_RESPONSE_BYTES {
                break;
            }
            results.push(entry.result());
        }
        SearchResponse { truncated: results.len() < total, results, total }
    }
}
