//! From a checked configuration to a running daemon; the only module that knows all others.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use codemode_plugin_api::descriptor::CapabilityDescriptor;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::capability::Id;
use crate::capability::catalog::{Catalog, CatalogFault, Registration};
use crate::config::{self, Config, Sandbox};
use crate::generation::{Current, Generation, GenerationError};
use crate::identity::jwt::{Jwt, KeysFault};
use crate::identity::plugin::{Authenticator, NoAuthenticator};
use crate::identity::tokens::{TokenFileError, Tokens};
use crate::identity::{Identity, SubjectId};
use crate::listener::{ListenError, Listener};
use crate::mcp::guard::Names;
use crate::mcp::http::{Http, Protection, Settings};
use crate::mcp::server::Server;
use crate::plugin::{self, PluginFault, PluginSpec, Plugins, THIS_EXECUTABLE};
use crate::policy::{Policy, PolicyError, PolicySource};
use crate::rate;
use crate::run::Runs;
use crate::run::record::Recorder;
use crate::worker::protocol::{Confinement, FromWorker, ToWorker};
use crate::worker::{Pool, Spawner, Worker, WorkerFault};

/// How long the probe run may take.
const PROBE_TIME: Duration = Duration::from_secs(5);
/// How long open requests may take to finish when the daemon stops.
const DRAIN_TIME: Duration = Duration::from_secs(10);
const PROBE: &str = "def main():\n    return 1\n";

/// Everything that serves requests, whatever the transport.
#[derive(Debug)]
pub struct Daemon {
    pub current: Current,
    pub runs: Runs,
}

/// Why the daemon does not start. Each fault is one line.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    #[error("{}", lines(.0))]
    Plugins(Vec<PluginFault>),
    #[error("{}", lines(.0))]
    Catalog(Vec<CatalogFault>),
    #[error("{}", lines(.0))]
    Policy(Vec<PolicyError>),
    #[error("cannot build the generation")]
    Generation(#[from] GenerationError),
    #[error("cannot start the thread that starts workers")]
    Spawner(#[source] io::Error),
    #[error("the probe run failed")]
    Probe(#[source] WorkerFault),
    #[error("the probe run did not return what it must")]
    WrongProbe,
    #[error("the probe run did not end within {} seconds", PROBE_TIME.as_secs())]
    ProbeTime,
    #[error("workers.sandbox: this system cannot confine workers as required: no {0}")]
    Sandbox(String),
    #[error("identity.jwks_file: there are no keys to check tokens with")]
    Keys(#[from] KeysFault),
    #[error("identity.tokens_file: the tokens cannot be used")]
    Tokens(#[from] TokenFileError),
    #[error("identity.plugin: no plugin instance has the name `{0}`")]
    NoPlugin(String),
    #[error("identity.plugin")]
    NoAuthenticator(#[from] NoAuthenticator),
    #[error("server.listen: nothing can be heard")]
    Listen(#[from] ListenError),
    #[error(
        "identity.mode: `static` would let everyone who reaches {url} be `{subject}`; hand over a Unix socket or one on \
         a loopback address, or set `identity.danger_allow_non_loopback = true`"
    )]
    OpenToAll { url: String, subject: SubjectId },
}

fn lines<T: ToString>(faults: &[T]) -> String {
    faults.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
}

impl Daemon {
    /// Builds the generation that the configuration describes and shows with a probe run that workers work.
    pub async fn start(config: &Config, recorder: Recorder) -> Result<Self, StartError> {
        let spawner = Spawner::start().map_err(StartError::Spawner)?;
        let generation = build(config, &spawner).await?;
        let current = Current::new(generation);
        let runs = Runs::new(current.clone(), recorder);
        Ok(Self { current, runs })
    }

    pub fn server(&self) -> Server {
        Server::new(self.current.clone(), self.runs.clone())
    }

    /// Serves HTTP on what was opened.
    pub async fn serve_http(&self, listener: Listener, config: &Config) -> Result<Http, StartError> {
        if let config::Identity::Static(one) = &config.identity
            && !one.danger_allow_non_loopback
            && !listener.is_local()
        {
            return Err(StartError::OpenToAll { url: listener.url(), subject: one.subject.id.clone() });
        }
        make_room(config.server.max_connections);
        let settings = Settings {
            path: config.server.path.as_str().to_owned(),
            names: names(&config.server),
            identity: self.identity(config).await?,
            protection: protection(config),
            rates: rates(config),
            times: config.server.times,
            max_connections: config.server.max_connections,
            sessions: config.server.sessions,
        };
        Ok(Http::start(listener, settings, self.server()))
    }

    /// Reads what tells callers apart: keys, tokens, or the plugin that is asked.
    pub async fn identity(&self, config: &Config) -> Result<Identity, StartError> {
        Ok(match &config.identity {
            config::Identity::Static(one) => Identity::Static(one.subject.clone()),
            config::Identity::Proxy(proxy) => Identity::Proxy(proxy.clone()),
            config::Identity::Jwt(jwt) => Identity::Jwt(Jwt::start(jwt.rules.clone()).await?),
            config::Identity::Tokens(path) => Identity::Tokens(Tokens::open(path.clone())?),
            config::Identity::Plugin(name) => {
                let generation = self.current.get();
                let instance = generation.plugins.get(name).ok_or_else(|| StartError::NoPlugin(name.clone()))?;
                Identity::Plugin(Authenticator::new(Arc::clone(instance), config.limits.max_call_time)?)
            }
        })
    }
}

/// Descriptors that the daemon wants beside those of its connections: workers, plugins, logs.
const OWN_DESCRIPTORS: u64 = 1_000;

/// Each connection takes a descriptor; the usual limit dates from programs that cannot handle more than 1,024.
fn make_room(max_connections: usize) {
    let limit = getrlimit(Resource::Nofile);
    let raised = Rlimit { current: limit.maximum, maximum: limit.maximum };
    if let Err(error) = setrlimit(Resource::Nofile, raised) {
        tracing::warn!(%error, "the limit of open files could not be raised");
    }
    let wanted = OWN_DESCRIPTORS.saturating_add(max_connections as u64);
    if let Some(most) = limit.maximum.filter(|most| *most < wanted) {
        tracing::warn!(most, wanted, "the limit of open files is too low for server.max_connections");
    }
}

/// Lets open requests finish.
pub async fn drain(http: Http) {
    http.drain(DRAIN_TIME).await;
}

async fn build(config: &Config, spawner: &Spawner) -> Result<Generation, StartError> {
    let specs = specs(config);
    let most = config.limits.max_handlers;
    let started = tokio::task::spawn_blocking(move || Plugins::start(&specs, most, Path::new(THIS_EXECUTABLE)));
    let mut plugins = started.await.map_err(|_| StartError::Plugins(Vec::new()))?.map_err(StartError::Plugins)?;
    let disabled: Vec<_> = config.disabled.iter().map(|each| (each.place.clone(), Id::new(&each.id))).collect();
    let catalog = Catalog::build(registrations(&mut plugins), &disabled).map_err(StartError::Catalog)?;
    let policy = policy(&config.policy).map_err(StartError::Policy)?;
    let confine = config.workers.sandbox != Sandbox::DangerOff;
    let pool = |outfit| Pool::start(spawner.clone(), outfit, config.workers.ready);
    let generation =
        Generation::new(catalog, policy, plugins, config.limits.clone(), config.workers.start, confine, pool)?;
    let confinement = probe(&generation.pool).await?;
    report_missing(config.workers.sandbox, confinement)?;
    Ok(generation)
}

fn specs(config: &Config) -> Vec<PluginSpec> {
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
        offers.into_iter().map(move |each| Registration {
            plugin: Arc::clone(&name),
            library: Arc::clone(&library),
            name: each.name,
            id: each.id,
            summary: each.summary,
            description: each.description,
            search_terms: each.search_terms,
            hints: crate::capability::Hints {
                read_only: each.hints.read_only,
                destructive: each.hints.destructive,
                idempotent: each.hints.idempotent,
                open_world: each.hints.open_world,
            },
            input: each.input.into_text(),
            output: each.output.into_text(),
        })
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
    Ok(source)
}

async fn probe(pool: &Pool) -> Result<Confinement, StartError> {
    let conversation = async {
        let mut worker: Worker = pool.take().await?;
        worker.send(&ToWorker::Program(PROBE.to_owned())).await?;
        let answer = worker.receive().await?;
        let confinement = worker.confinement();
        worker.end(());
        Ok((confinement, answer))
    };
    match tokio::time::timeout(PROBE_TIME, conversation).await {
        Ok(Ok((confinement, FromWorker::Returned(json)))) if json == b"1" => Ok(confinement),
        Ok(Ok(_)) => Err(StartError::WrongProbe),
        Ok(Err(fault)) => Err(StartError::Probe(fault)),
        Err(_) => Err(StartError::ProbeTime),
    }
}

fn report_missing(sandbox: Sandbox, confinement: Confinement) -> Result<(), StartError> {
    let parts =
        [("seccomp", confinement.seccomp), ("landlock", confinement.landlock), ("resource limits", confinement.limits)];
    let missing: Vec<_> = parts.into_iter().filter(|(_, there)| !there).map(|(name, _)| name).collect();
    match sandbox {
        Sandbox::Require if !missing.is_empty() => Err(StartError::Sandbox(missing.join(", "))),
        Sandbox::Prefer if !missing.is_empty() => {
            tracing::warn!(missing = missing.join(", "), "this system cannot confine workers fully");
            Ok(())
        }
        Sandbox::DangerOff => {
            tracing::warn!("workers run without confinement");
            Ok(())
        }
        Sandbox::Require | Sandbox::Prefer => Ok(()),
    }
}

fn names(server: &config::Server) -> Names {
    Names {
        public: server.public_url.as_ref().map(|url| url.origin().clone()),
        allowed_hosts: server.allowed_hosts.clone(),
        trusted_origins: server.trusted_origins.clone(),
    }
}

fn rates(config: &Config) -> rate::Settings {
    let mut proxies = config.server.trusted_proxies.clone();
    if let config::Identity::Proxy(proxy) = &config.identity {
        proxies.extend(&proxy.peers);
    }
    let config::Rates { requests_per_minute, failures_per_minute } = config.rates;
    rate::Settings { requests_per_minute, failures_per_minute, proxies }
}

fn protection(config: &Config) -> Option<Protection> {
    match &config.identity {
        config::Identity::Jwt(jwt) => Some(Protection {
            resource: config.server.public_url.as_ref().map(ToString::to_string),
            authorization_servers: jwt.authorization_servers.clone(),
            scopes: jwt.rules.required_scopes.clone(),
        }),
        config::Identity::Static(_)
        | config::Identity::Proxy(_)
        | config::Identity::Tokens(_)
        | config::Identity::Plugin(_) => None,
    }
}
