//! Building one generation, beside the one that serves where there is one.

use std::path::Path;
use std::sync::{Arc, Weak};

use codemode_plugin_api::descriptor::CapabilityDescriptor;

use super::fault::UnknownToAudit;
use super::{StartError, door, probe};
use crate::audit;
use crate::capability::Id;
use crate::capability::catalog::{Catalog, Registration};
use crate::config::{self, Config, Sandbox};
use crate::generation::{Generation, Parts};
use crate::mcp::http::Reached;
use crate::plugin::{self, PluginSpec, Plugins, THIS_EXECUTABLE};
use crate::policy::{Policy, PolicyError, PolicySource};
use crate::worker::{Pool, Spawner};

/// What is there already when a generation is built.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ground<'a> {
    pub(super) spawner: &'a Spawner,
    /// Nothing where no callers come over HTTP.
    pub(super) reached: Option<&'a Reached>,
    /// The generation that serves meanwhile.
    pub(super) before: Option<&'a Generation>,
}

/// A generation that has shown that it works, or every fault that can be seen without the others mended. Nothing that
/// serves waits for it.
pub(super) async fn build(config: &Arc<Config>, ground: Ground<'_>) -> Result<Generation, StartError> {
    let running = ground.before.map(|before| before.plugins.instances().iter().map(Arc::downgrade).collect());
    let running: Vec<_> = running.unwrap_or_default();
    let (for_policy, for_plugins) = (Arc::clone(config), Arc::clone(config));
    let (offered, policy, credentials) = tokio::join!(
        aside(move || offered(&for_plugins, &running)),
        aside(move || policy(&for_policy.policy).map_err(StartError::Policy)),
        door::credentials(config, ground),
    );
    let (((plugins, catalog), policy), credentials) = both(both(offered, policy), credentials)?;
    let door = door::open(config, credentials, &plugins, ground)?;
    let number = ground.before.map_or(1, |before| before.number + 1);
    let (configuration, limits) = (config.origin.clone(), config.limits.clone());
    let parts = Parts { number, configuration, catalog, policy, plugins, limits, door };
    let confine = config.workers.sandbox != Sandbox::DangerOff;
    let pool = |outfit| Pool::start(ground.spawner.clone(), outfit, config.workers.ready);
    let generation = Generation::new(parts, config.workers.start, confine, pool)?;
    probe::all(&generation, ground.before, config.workers.sandbox).await?;
    for stranger in generation.policy.strangers(&generation.catalog) {
        tracing::warn!(cause = %stranger, "a rule of the policy names a capability that is not there");
    }
    Ok(generation)
}

/// Starts the plugins, and makes a catalog of what they offer. Blocks meanwhile.
fn offered(config: &Config, running: &[Weak<plugin::Instance>]) -> Result<(Plugins, Catalog), StartError> {
    let most = config.limits.max_handlers;
    let started = Plugins::start_beside(running, &specs(config), most, Path::new(THIS_EXECUTABLE));
    let mut plugins = started.map_err(StartError::Plugins)?;
    let disabled: Vec<_> = config.disabled.iter().map(|each| (each.place.clone(), Id::new(&each.id))).collect();
    let catalog = Catalog::build(registrations(&mut plugins), &disabled).map_err(StartError::Catalog)?;
    known_to(&catalog, &config.audit)?;
    Ok((plugins, catalog))
}

fn known_to(catalog: &Catalog, audit: &audit::Settings) -> Result<(), StartError> {
    let is_known = |id: &Id| catalog.by_id(id.as_str()).is_some() || catalog.disabled().contains(id);
    let unknown: Vec<_> = audit.arguments.of.keys().filter(|id| !is_known(id)).cloned().map(UnknownToAudit).collect();
    if unknown.is_empty() { Ok(()) } else { Err(StartError::Audit(unknown)) }
}

/// Does what takes long on a thread where no request waits.
async fn aside<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, StartError> + Send + 'static,
) -> Result<T, StartError> {
    tokio::task::spawn_blocking(work).await.map_err(StartError::Panicked)?
}

fn both<A, B>(one: Result<A, StartError>, other: Result<B, StartError>) -> Result<(A, B), StartError> {
    match (one, other) {
        (Ok(one), Ok(other)) => Ok((one, other)),
        (Err(one), Err(other)) => Err(StartError::Several(vec![one, other])),
        (Err(fault), Ok(_)) | (Ok(_), Err(fault)) => Err(fault),
    }
}

/// Every instance that is configured.
pub(crate) fn specs(config: &Config) -> Vec<PluginSpec> {
    let folder = config.folder.clone();
    let spec = |given: &config::PluginSpec| PluginSpec {
        place: given.place.clone(),
        name: given.name.clone().unwrap_or_else(|| name_of(&given.library)),
        library: given.library.clone(),
        settings: given.settings.clone(),
        folder: folder.clone(),
    };
    config.plugins.iter().map(spec).collect()
}

/// `libcodemode_records.so` is `records` where the configuration gives it no name.
fn name_of(library: &Path) -> String {
    let stem = library.file_stem().unwrap_or_default().to_string_lossy();
    let stem = stem.strip_prefix("lib").unwrap_or(&stem);
    stem.strip_prefix("codemode_").unwrap_or(stem).to_owned()
}

fn registrations(plugins: &mut Plugins) -> Vec<Registration> {
    let of = |(instance, offers): (Arc<plugin::Instance>, Vec<CapabilityDescriptor>)| {
        let (name, library): (Arc<str>, Arc<str>) =
            (Arc::clone(instance.name()), instance.library().to_string_lossy().into());
        offers.into_iter().map(move |each| Registration::new(&name, &library, each))
    };
    plugins.take_offers().into_iter().flat_map(of).collect()
}

fn policy(config: &config::Policy) -> Result<Policy, Vec<PolicyError>> {
    let config::Policy::Rego(rego) = config else { return Ok(Policy::AllowAll) };
    Policy::load(&policy_source(rego)?)
}

/// Reads the files of a policy.
pub fn policy_source(rego: &config::Rego) -> Result<PolicySource, Vec<PolicyError>> {
    let mut source = PolicySource::read(&rego.modules, &rego.data, rego.execute.as_str().to_owned())?;
    source.discover = rego.discover.as_ref().map(|reference| reference.as_str().to_owned());
    source.reason = rego.reason.as_ref().map(|reference| reference.as_str().to_owned());
    source.danger_builtins.clone_from(&rego.danger_builtins);
    source.places.clone_from(&rego.places);
    Ok(source)
}
