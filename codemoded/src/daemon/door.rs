//! From the configuration to the door of a generation: who is told apart, and how.

use std::sync::Arc;

use super::StartError;
use super::build::Ground;
use crate::config::{self, Config};
use crate::generation::Generation;
use crate::identity::Identity;
use crate::identity::jwt::Jwt;
use crate::identity::plugin::Authenticator;
use crate::identity::tokens::Tokens;
use crate::mcp::guard::Names;
use crate::mcp::http::{Door, DoorSettings, Protection, Reached};
use crate::plugin::Plugins;
use crate::rate::{self, Rates};

/// Reads what tells callers apart: keys or tokens. Nothing where nobody is told apart, or a plugin does it. Keys that an
/// issuer has given before serve on: it may be away just now.
pub(super) async fn credentials(config: &Config, ground: Ground<'_>) -> Result<Option<Identity>, StartError> {
    match ground.reached {
        Some(_) => read(config, ground.before.map(|before| before.door.identity())).await,
        None => Ok(None),
    }
}

/// The door for callers over HTTP, or a shut one.
pub(super) fn open(
    config: &Config,
    credentials: Option<Identity>,
    plugins: &Plugins,
    ground: Ground<'_>,
) -> Result<Door, StartError> {
    let rates = rates(config, ground.before);
    let Some(reached) = ground.reached else { return Ok(Door::shut(rates)) };
    refuse_open_to_all(config, reached)?;
    let identity = match credentials {
        Some(identity) => identity,
        None => authenticator(config, plugins)?,
    };
    let settings = DoorSettings { names: names(&config.server), identity, protection: protection(config), rates };
    Ok(Door::new(reached, settings))
}

/// Whether callers could be told apart.
pub(super) async fn check(config: &Config, plugins: &Plugins) -> Result<(), StartError> {
    match read(config, None).await? {
        Some(_) => Ok(()),
        None => authenticator(config, plugins).map(drop),
    }
}

async fn read(config: &Config, before: Option<&Identity>) -> Result<Option<Identity>, StartError> {
    Ok(Some(match &config.identity {
        config::Identity::Static(one) => Identity::Static(one.subject.clone()),
        config::Identity::Proxy(proxy) => Identity::Proxy(proxy.clone()),
        config::Identity::Jwt(jwt) => {
            let held = before.and_then(|before| before.with_rules(&jwt.rules));
            match held {
                Some(held) => held,
                None => Identity::Jwt(Jwt::start(jwt.rules.clone()).await?),
            }
        }
        config::Identity::Tokens(path) => Identity::Tokens(Tokens::open(path.clone())?),
        config::Identity::Plugin(_) => return Ok(None),
    }))
}

fn authenticator(config: &Config, plugins: &Plugins) -> Result<Identity, StartError> {
    let config::Identity::Plugin(name) = &config.identity else { return Ok(Identity::Nobody) };
    let instance = plugins.get(name).ok_or_else(|| StartError::NoPlugin(name.clone()))?;
    Ok(Identity::Plugin(Authenticator::new(Arc::clone(instance), config.limits.max_call_time)?))
}

/// What the configuration could not know: where a socket of systemd's listens.
fn refuse_open_to_all(config: &Config, reached: &Reached) -> Result<(), StartError> {
    match &config.identity {
        config::Identity::Static(one) if !one.danger_allow_non_loopback && !reached.is_local() => {
            Err(StartError::OpenToAll { url: reached.url().to_owned(), subject: one.subject.id.clone() })
        }
        config::Identity::Static(_)
        | config::Identity::Proxy(_)
        | config::Identity::Jwt(_)
        | config::Identity::Tokens(_)
        | config::Identity::Plugin(_) => Ok(()),
    }
}

/// What has been counted counts on where the rates stay: a reload is no amnesty.
fn rates(config: &Config, before: Option<&Generation>) -> Arc<Rates> {
    let mut proxies = config.server.trusted_proxies.clone();
    if let config::Identity::Proxy(proxy) = &config.identity {
        proxies.extend(&proxy.peers);
    }
    let config::Rates { requests_per_minute, failures_per_minute } = config.rates;
    let settings = rate::Settings { requests_per_minute, failures_per_minute, proxies };
    let before = before.map(|before| before.door.rates()).filter(|before| *before.settings() == settings);
    before.map_or_else(|| Arc::new(Rates::new(settings)), Arc::clone)
}

fn names(server: &config::Server) -> Names {
    Names {
        public: server.public_url.as_ref().map(|url| url.origin().clone()),
        allowed_hosts: server.allowed_hosts.clone(),
        trusted_origins: server.trusted_origins.clone(),
    }
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
