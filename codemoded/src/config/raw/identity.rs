//! The keys of `[identity]`, by mode.

use std::collections::BTreeMap;

use figment::value::Value;
use http::HeaderName;
use serde::de::IgnoredAny;
use serde::{Deserialize, Deserializer};

use super::{List, choice, header, subject};
use crate::config::quantity::Period;
use crate::identity::SubjectId;
use crate::identity::jwt::KeysUrl;
use crate::identity::peer::PeerRule;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::config) enum IdentityMode {
    Static,
    Proxy,
    Jwt,
    Tokens,
    Plugin,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, expecting = "a table")]
pub(in crate::config) struct IdentityHead {
    pub(in crate::config) mode: Option<IdentityMode>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default, expecting = "a table")]
pub(in crate::config) struct StaticIdentity {
    #[serde(rename = "mode")]
    _mode: IgnoredAny,
    #[serde(deserialize_with = "subject")]
    pub(in crate::config) subject: Option<SubjectId>,
    pub(in crate::config) claims: BTreeMap<String, Value>,
    pub(in crate::config) danger_allow_non_loopback: bool,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default, expecting = "a table")]
pub(in crate::config) struct ProxyIdentity {
    #[serde(rename = "mode")]
    _mode: IgnoredAny,
    #[serde(deserialize_with = "header")]
    pub(in crate::config) header: Option<HeaderName>,
    #[serde(deserialize_with = "header")]
    pub(in crate::config) groups_header: Option<HeaderName>,
    pub(in crate::config) peers: List<PeerRule>,
    pub(in crate::config) shared_secret_file: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default, expecting = "a table")]
pub(in crate::config) struct JwtIdentity {
    #[serde(rename = "mode")]
    _mode: IgnoredAny,
    pub(in crate::config) issuer: Option<String>,
    pub(in crate::config) audiences: List<String>,
    pub(in crate::config) jwks_url: Option<KeysUrl>,
    pub(in crate::config) jwks_file: Option<String>,
    pub(in crate::config) jwks_max_age: Option<Period>,
    pub(in crate::config) leeway: Option<Period>,
    pub(in crate::config) subject_claim: Option<String>,
    pub(in crate::config) policy_claims: List<String>,
    pub(in crate::config) required_scopes: List<String>,
    pub(in crate::config) authorization_servers: List<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default, expecting = "a table")]
pub(in crate::config) struct TokensIdentity {
    #[serde(rename = "mode")]
    _mode: IgnoredAny,
    pub(in crate::config) tokens_file: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default, expecting = "a table")]
pub(in crate::config) struct PluginIdentity {
    #[serde(rename = "mode")]
    _mode: IgnoredAny,
    pub(in crate::config) plugin: Option<String>,
}

impl<'de> Deserialize<'de> for IdentityMode {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        choice(
            deserializer,
            &["static", "proxy", "jwt", "tokens", "plugin"],
            &[Self::Static, Self::Proxy, Self::Jwt, Self::Tokens, Self::Plugin],
        )
    }
}
