//! The file as it is written: every key, its type and its bounds. An absent key is `None`; nothing is decided here.

mod identity;
mod keyed;

pub(super) use identity::{
    IdentityHead, IdentityMode, JwtIdentity, PluginIdentity, ProxyIdentity, StaticIdentity, TokensIdentity,
};
pub(super) use keyed::table;

use std::collections::BTreeMap;
use std::fmt::Display;
use std::str::FromStr;

use figment::value::Value;
use http::HeaderName;
use serde::de::{Error as _, IgnoredAny};
use serde::{Deserialize, Deserializer};

use self::keyed::tables;
use super::admin::AdminListen;
use super::plugins::InstanceName;
use super::policy::Reference;
use super::quantity::{Count, Period, Size};
use super::server::{EndpointPath, Listen, Permissions, PublicUrl};
use super::workers::Sandbox;
use crate::audit::arguments::Keep;
use crate::audit::{Destination, Overflow};
use crate::identity::SubjectId;
use crate::identity::peer::PeerRule;
use crate::mcp::guard::{AllowedHost, Origin};
use crate::run::trace::Sampling;
use crate::telemetry::spans::Collector;
use crate::telemetry::{Directives, Format};
use crate::worker::Start;

/// An array; an element whose fault is already told is `None`.
pub(super) type List<T> = Vec<Option<T>>;

/// A section whose keys depend on its mode.
pub(super) type Moded = Option<IgnoredAny>;

/// The largest value that one frame between daemon and worker may carry.
const FRAME: u64 = 64 << 20;
const TEBIBYTE: u64 = 1 << 40;

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default, expecting = "a table")]
pub(super) struct Root {
    pub(super) plugin_dirs: List<String>,
    #[serde(deserialize_with = "table")]
    pub(super) server: Server,
    #[serde(deserialize_with = "table")]
    pub(super) admin: Admin,
    pub(super) identity: Moded,
    #[serde(deserialize_with = "table")]
    pub(super) rates: Rates,
    pub(super) policy: Moded,
    #[serde(deserialize_with = "table")]
    pub(super) catalog: Catalog,
    #[serde(deserialize_with = "table")]
    pub(super) workers: Workers,
    #[serde(deserialize_with = "table")]
    pub(super) limits: Limits,
    #[serde(deserialize_with = "table")]
    pub(super) log: Log,
    #[serde(deserialize_with = "table")]
    pub(super) audit: Audit,
    #[serde(deserialize_with = "table")]
    pub(super) traces: Traces,
    #[serde(deserialize_with = "tables")]
    pub(super) plugins: List<Plugin>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default, expecting = "a table")]
pub(super) struct Server {
    pub(super) listen: Option<Listen>,
    pub(super) path: Option<EndpointPath>,
    pub(super) public_url: Option<PublicUrl>,
    pub(super) trusted_origins: List<Origin>,
    pub(super) allowed_hosts: List<AllowedHost>,
    pub(super) header_timeout: Option<Period>,
    pub(super) body_timeout: Option<Period>,
    pub(super) idle_timeout: Option<Period>,
    pub(super) max_connections: Option<Count<1_000_000>>,
    pub(super) drain_timeout: Option<Period>,
    pub(super) sessions: Option<bool>,
    pub(super) session_timeout: Option<Period>,
    pub(super) max_sessions: Option<Count<1_000_000>>,
    pub(super) max_sessions_per_subject: Option<Count<1_000_000>>,
    pub(super) trusted_proxies: List<PeerRule>,
    pub(super) socket_mode: Option<Permissions>,
    pub(super) socket_group: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default, expecting = "a table")]
pub(super) struct Admin {
    pub(super) listen: Option<AdminListen>,
    pub(super) allowed_hosts: List<AllowedHost>,
    pub(super) trusted_origins: List<Origin>,
    pub(super) socket_mode: Option<Permissions>,
    pub(super) socket_group: Option<String>,
    pub(super) danger_allow_non_loopback: Option<bool>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default, expecting = "a table")]
pub(super) struct Rates {
    pub(super) requests_per_minute: Option<Count<1_000_000_000>>,
    pub(super) failures_per_minute: Option<Count<1_000_000_000>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PolicyMode {
    Rego,
    AllowAll,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, expecting = "a table")]
pub(super) struct PolicyHead {
    pub(super) mode: Option<PolicyMode>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default, expecting = "a table")]
pub(super) struct RegoPolicy {
    #[serde(rename = "mode")]
    _mode: IgnoredAny,
    pub(super) modules: List<String>,
    pub(super) data: List<String>,
    pub(super) execute: Option<Reference>,
    pub(super) discover: Option<Reference>,
    pub(super) reason: Option<Reference>,
    pub(super) danger_builtins: List<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default, expecting = "a table")]
pub(super) struct AllowAllPolicy {
    #[serde(rename = "mode")]
    _mode: IgnoredAny,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default, expecting = "a table")]
pub(super) struct Catalog {
    pub(super) disabled: List<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default, expecting = "a table")]
pub(super) struct Workers {
    pub(super) ready: Option<Count<1_000>>,
    pub(super) start: Option<Start>,
    pub(super) sandbox: Option<Sandbox>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default, expecting = "a table")]
pub(super) struct Limits {
    pub(super) max_source_bytes: Option<Size<1, FRAME>>,
    pub(super) max_execution_steps: Option<Count<1_000_000_000_000>>,
    pub(super) max_execution_time: Option<Period>,
    pub(super) max_native_calls: Option<Count<1_000_000_000>>,
    pub(super) max_parallel_calls: Option<Count<1_000>>,
    /// Values are read by recursion, here and in the client's JSON parser.
    pub(super) max_value_depth: Option<Count<100>>,
    pub(super) max_value_bytes: Option<Size<1, FRAME>>,
    pub(super) max_intermediate_value_bytes: Option<Size<1, TEBIBYTE>>,
    pub(super) max_result_bytes: Option<Size<1, FRAME>>,
    /// The interpreter does not start in less.
    pub(super) max_worker_memory: Option<Size<{ 32 << 20 }, TEBIBYTE>>,
    pub(super) max_call_time: Option<Period>,
    pub(super) max_handlers: Option<Count<10_000>>,
    pub(super) max_concurrent_executions: Option<Count<10_000>>,
    pub(super) max_concurrent_executions_per_subject: Option<Count<10_000>>,
    pub(super) max_queued_executions: Option<Count<1_000_000>>,
    pub(super) max_search_query_bytes: Option<Size<1, FRAME>>,
    pub(super) max_search_results: Option<Count<20_000>>,
    pub(super) max_request_bytes: Option<Size<1, FRAME>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default, expecting = "a table")]
pub(super) struct Log {
    pub(super) format: Option<Format>,
    #[serde(deserialize_with = "parsed")]
    pub(super) level: Option<Directives>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default, expecting = "a table")]
pub(super) struct Traces {
    #[serde(deserialize_with = "parsed")]
    pub(super) endpoint: Option<Collector>,
    #[serde(deserialize_with = "share")]
    pub(super) sample: Option<Sampling>,
    pub(super) headers: BTreeMap<String, Option<String>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default, expecting = "a table")]
pub(super) struct Audit {
    #[serde(deserialize_with = "parsed")]
    pub(super) to: Option<Destination>,
    pub(super) arguments: Option<Keep>,
    /// By the capability's ID.
    pub(super) arguments_of: BTreeMap<String, Option<Keep>>,
    pub(super) key_file: Option<String>,
    pub(super) overflow: Option<Overflow>,
    pub(super) max_queued: Option<Count<1_000_000>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default, expecting = "a table")]
pub(super) struct Plugin {
    pub(super) name: Option<InstanceName>,
    pub(super) library: Option<String>,
    pub(super) config: BTreeMap<String, Value>,
}

impl<'de> Deserialize<'de> for PolicyMode {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        choice(deserializer, &["rego", "allow-all"], &[Self::Rego, Self::AllowAll])
    }
}

impl<'de> Deserialize<'de> for Keep {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        choice(deserializer, &["off", "hashed", "full"], &[Self::Off, Self::Hashed, Self::Full])
    }
}

impl<'de> Deserialize<'de> for Overflow {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        choice(deserializer, &["drop", "refuse"], &[Self::Drop, Self::Refuse])
    }
}

impl<'de> Deserialize<'de> for Format {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        choice(deserializer, &["human", "json"], &[Self::Human, Self::Json])
    }
}

impl<'de> Deserialize<'de> for Start {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        choice(deserializer, &["exec", "fork"], &[Self::Exec, Self::Fork])
    }
}

impl<'de> Deserialize<'de> for Sandbox {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        choice(deserializer, &["require", "prefer", "danger_off"], &[Self::Require, Self::Prefer, Self::DangerOff])
    }
}

/// By name only: a derived enum would also take a variant's number.
fn choice<'de, D: Deserializer<'de>, T: Copy>(
    deserializer: D,
    names: &'static [&'static str],
    choices: &[T],
) -> Result<T, D::Error> {
    let given = String::deserialize(deserializer)?;
    let chosen = names.iter().zip(choices).find(|(name, _)| **name == given);
    chosen.map(|(_, choice)| *choice).ok_or_else(|| D::Error::unknown_variant(&given, names))
}

fn subject<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<SubjectId>, D::Error> {
    let text = String::deserialize(deserializer)?;
    SubjectId::new(&text).map(Some).map_err(D::Error::custom)
}

fn parsed<'de, D: Deserializer<'de>, T: FromStr<Err: Display>>(deserializer: D) -> Result<Option<T>, D::Error> {
    let text = String::deserialize(deserializer)?;
    text.parse().map(Some).map_err(D::Error::custom)
}

fn header<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<HeaderName>, D::Error> {
    let text = String::deserialize(deserializer)?;
    // The library's words name nothing.
    text.parse().map(Some).map_err(|_| D::Error::custom(format_args!("`{text}` is no name of a header")))
}

fn share<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Sampling>, D::Error> {
    let share = f64::deserialize(deserializer)?;
    Sampling::share(share).map(Some).map_err(D::Error::custom)
}
