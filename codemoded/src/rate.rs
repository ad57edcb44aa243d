//! How often a subject may ask, and how often somebody may fail to be a subject.
//!
//! A credential is checked before its sender's failures are looked at, so failures of others at the same address, or
//! behind the same proxy, never keep a good one out.

mod client;
mod table;

use std::hash::Hash;
use std::num::NonZeroU32;
use std::time::Duration;

use governor::clock::{Clock, MonotonicClock};
use governor::{Quota, RateLimiter};
use http::HeaderMap;

use crate::identity::SubjectId;
use crate::identity::peer::{Peer, PeerRule};
use client::Client;
use table::Table;

/// How many a minute; as many may come at once after a quiet minute.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Requests of one subject.
    pub requests_per_minute: NonZeroU32,
    /// Failed authentications from one address.
    pub failures_per_minute: NonZeroU32,
    /// Whose word on addresses is taken.
    pub proxies: Vec<PeerRule>,
}

/// What has been used up lately.
#[derive(Debug)]
pub struct Rates {
    subjects: Limit<SubjectId>,
    failures: Limit<Client>,
    settings: Settings,
}

/// Too many lately.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooMany {
    /// Until one more is taken.
    pub wait: Duration,
}

type Limit<K> = RateLimiter<K, Table<K>, MonotonicClock>;

impl Settings {
    /// As much as can be counted, for a server that nobody but a test reaches.
    pub fn plenty() -> Self {
        Self { requests_per_minute: NonZeroU32::MAX, failures_per_minute: NonZeroU32::MAX, proxies: Vec::new() }
    }
}

impl Rates {
    pub fn new(settings: Settings) -> Self {
        Self { subjects: limit(settings.requests_per_minute), failures: limit(settings.failures_per_minute), settings }
    }

    /// What it was made with.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Whether this peer's word is taken for what came before it.
    pub fn trusts(&self, peer: &Peer) -> bool {
        self.settings.proxies.iter().any(|proxy| proxy.admits(peer))
    }

    /// Counts a request of a subject.
    pub fn request(&self, subject: &SubjectId) -> Result<(), TooMany> {
        count(&self.subjects, subject)
    }

    /// Counts a failed authentication, for the address that it came from.
    pub fn failure(&self, peer: &Peer, headers: &HeaderMap) -> Result<(), TooMany> {
        count(&self.failures, &Client::of(peer, headers, &self.settings.proxies))
    }
}

fn limit<K: Hash + Eq + Clone>(per_minute: NonZeroU32) -> Limit<K> {
    RateLimiter::new(Quota::per_minute(per_minute), Table::default(), MonotonicClock)
}

fn count<K: Hash + Eq + Clone>(limit: &Limit<K>, key: &K) -> Result<(), TooMany> {
    limit.check_key(key).map_err(|early| TooMany { wait: early.wait_time_from(limit.clock().now()) })
}
