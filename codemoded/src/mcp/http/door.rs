//! Who may come in, and what the others are told: the part of the edge that a generation brings along.

use std::net::SocketAddr;
use std::sync::Arc;

use super::advertised::{Advertised, Protection};
use crate::identity::Identity;
use crate::listener::Listener;
use crate::mcp::guard::{Guard, Names};
use crate::rate::Rates;

/// The checks that a request passes first: hosts and origins, identity, rates.
#[derive(Debug)]
pub struct Door {
    pub(super) guard: Guard,
    pub(super) advertised: Advertised,
    pub(super) identity: Identity,
    pub(super) rates: Arc<Rates>,
}

/// What the operator says of callers.
#[derive(Debug)]
pub struct DoorSettings {
    pub names: Names,
    pub identity: Identity,
    /// Whose tokens the identity takes, where it takes any of others'.
    pub protection: Option<Protection>,
    /// Counts; taken over from the generation before, where the rates are the same.
    pub rates: Arc<Rates>,
}

/// Where the endpoint is reached, as long as the process lives.
#[derive(Clone, Debug)]
pub struct Reached {
    address: Option<SocketAddr>,
    url: String,
    path: String,
    is_local: bool,
}

impl Door {
    pub fn new(reached: &Reached, settings: DoorSettings) -> Self {
        let DoorSettings { names, identity, protection, rates } = settings;
        let guard = Guard::new(reached.address, names);
        let own = format!("{}{}", reached.url, reached.path);
        Self { guard, advertised: Advertised::new(protection, &own, &reached.path), identity, rates }
    }

    /// The door of a daemon that serves no HTTP: nobody comes in.
    pub fn shut(rates: Arc<Rates>) -> Self {
        let (guard, advertised) = (Guard::new(None, Names::default()), Advertised::new(None, "", ""));
        Self { guard, advertised, identity: Identity::Nobody, rates }
    }

    /// Who is told apart, and how.
    pub fn identity(&self) -> &Identity {
        &self.identity
    }

    /// What has been counted of whom.
    pub fn rates(&self) -> &Arc<Rates> {
        &self.rates
    }
}

impl Reached {
    /// Through a listener, at a path with its leading slash.
    pub fn through(listener: &Listener, path: &str) -> Self {
        let (address, url) = (listener.address(), listener.url());
        Self { address, url, path: path.to_owned(), is_local: listener.is_local() }
    }

    /// Whether only this machine can connect.
    pub fn is_local(&self) -> bool {
        self.is_local
    }

    /// The listener alone, without the endpoint's path.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// The one path that is served.
    pub(super) fn path(&self) -> &str {
        &self.path
    }
}
