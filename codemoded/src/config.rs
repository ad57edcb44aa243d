//! The configuration: what an operator wrote, checked once. Whoever holds a [`Config`] need not check anything again.
//!
//! [`Sources`] are merged, typed by `raw`, whose types are the only list of keys, and checked against each other and
//! the file system. All faults are found in one go, each with its place.

mod admin;
mod audit;
mod fault;
mod fixed;
mod group;
mod identity;
mod json;
mod limits;
mod place;
mod plugins;
mod policy;
mod quantity;
mod rates;
mod raw;
mod reading;
mod reference;
mod referred;
mod server;
mod sources;
mod summary;
mod telemetry;
mod workers;

#[cfg(test)]
mod tests;

pub use admin::Admin;
pub use fault::{ConfigFault, Problem};
pub use fixed::{Fixed, FixedValue, changed};
pub use identity::{Identity, Jwt, Static};
pub use place::{KeyPath, Place};
pub use plugins::PluginSpec;
pub use policy::{Policy, Reference, Rego};
pub use rates::Rates;
pub use server::{EndpointPath, Listen, PublicUrl, Server, SocketAccess};
pub use sources::{Flag, Sources};
pub use summary::Summary;
pub use workers::{Sandbox, Workers};

use std::path;

use crate::limits::Limits;
use crate::origin::Origin;
use reading::Reading;

/// Only valid values; every path is absolute.
#[derive(Debug)]
pub struct Config {
    /// The file's folder; paths in the file are relative to it.
    pub folder: path::PathBuf,
    pub server: Server,
    pub admin: Admin,
    pub identity: Identity,
    pub rates: Rates,
    pub policy: Policy,
    pub disabled: Vec<Disabled>,
    pub workers: Workers,
    pub limits: Limits,
    pub log: crate::telemetry::Settings,
    pub audit: crate::audit::Settings,
    /// Nothing where no spans are sent.
    pub traces: Option<crate::telemetry::spans::Settings>,
    pub plugins: Vec<PluginSpec>,
    /// The file itself.
    pub origin: Origin,
    /// What values were read from beside the file itself.
    pub secret_files: Vec<path::PathBuf>,
    pub summary: Summary,
}

/// The ID of a capability that nobody shall see.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Disabled {
    pub id: String,
    /// Where the configuration names it, for messages.
    pub place: String,
}

/// How clients reach the daemon that this configuration is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transport {
    Http,
    /// One local client, which started the daemon.
    Stdio,
}

impl Config {
    /// Reads and checks all sources, or tells every fault in the order of the file.
    pub fn load(sources: &Sources, transport: Transport) -> Result<Self, Vec<ConfigFault>> {
        let merged = sources.merge()?;
        let folder = path::absolute(sources.file()).ok().and_then(|file| file.parent().map(path::Path::to_owned));
        let folder = folder.unwrap_or_default();
        let mut reading = Reading::new(merged, folder.clone());
        let root: raw::Root = reading.read(&KeyPath::root());

        let server = Server::check(&mut reading, root.server);
        let clients = (transport == Transport::Http).then_some(&server.listen);
        let admin = Admin::check(&mut reading, root.admin, clients);
        let identity = Identity::check(&mut reading, root.identity, &server, transport);
        let rates = rates::check(&root.rates);
        let policy = Policy::check(&mut reading, root.policy);
        let disabled = disabled(&mut reading, root.catalog.disabled);
        let workers = workers::check(&root.workers);
        let limits = limits::check(&root.limits);
        let log = telemetry::check_log(root.log);
        let traces = telemetry::check_traces(&mut reading, root.traces);
        let audit = audit::check(&mut reading, root.audit, transport);
        let plugins = plugins::check(&mut reading, root.plugin_dirs, root.plugins);
        let file = path::absolute(sources.file()).unwrap_or_else(|_| sources.file().to_owned());
        let origin = Origin::of(&file, reading.merged().document.raw().as_bytes());
        let secret_files = reading.secret_files().to_vec();
        let summary = Summary::of(reading.merged());
        match (identity, policy, reading.is_sound()) {
            (Some(identity), Some(policy), true) => Ok(Self {
                folder,
                server,
                admin,
                identity,
                rates,
                policy,
                disabled,
                workers,
                limits,
                log,
                audit,
                traces,
                plugins,
                origin,
                secret_files,
                summary,
            }),
            (_, _, _) => Err(reading.into_faults()),
        }
    }
}

fn disabled(reading: &mut Reading, list: raw::List<String>) -> Vec<Disabled> {
    let key = KeyPath::new(["catalog", "disabled"]);
    let ids = server::once_each(reading, &key, list);
    let place = |index: usize| format!("{}: {}", reading.place(&key.index(index)), key.index(index));
    ids.into_iter().enumerate().map(|(index, id)| Disabled { id, place: place(index) }).collect()
}
