//! Where the daemon listens, and which hosts, origins and networks it believes.

use std::fmt;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::str::FromStr as _;
use std::time::Duration;

use http::Uri;
use ipnet::{IpNet, Ipv4Net, Ipv6Net};
use serde::Deserialize;

use super::fault::Problem;
use super::place::KeyPath;
use super::raw;
use super::reading::Reading;
use crate::mcp::guard::{AllowedHost, Origin};
use crate::mcp::http::{SessionBounds, Times};

const HEADER_TIMEOUT: Duration = Duration::from_secs(15);
const BODY_TIMEOUT: Duration = Duration::from_secs(30);
/// Longer than proxies keep an idle connection (nginx: 60 s), so that they close first and never send a request into a
/// connection that is just being closed.
const IDLE_TIMEOUT: Duration = Duration::from_secs(75);
const MAX_CONNECTIONS: usize = 16_384;
const SESSION_TIMEOUT: Duration = Duration::from_secs(30 * 60);
const MAX_SESSIONS: usize = 10_000;
const MAX_SESSIONS_PER_SUBJECT: usize = 100;

/// The HTTP side.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Server {
    pub listen: Listen,
    pub path: EndpointPath,
    pub public_url: Option<PublicUrl>,
    pub trusted_origins: Vec<Origin>,
    pub allowed_hosts: Vec<AllowedHost>,
    /// How long a client may take.
    pub times: Times,
    pub max_connections: usize,
    /// Nothing where every request stands alone.
    pub sessions: Option<SessionBounds>,
}

/// Where to listen.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub enum Listen {
    /// Port 0 takes any free one.
    Tcp(SocketAddr),
}

/// The path of the MCP endpoint: a slash, then unreserved characters.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct EndpointPath(String);

/// The endpoint as clients reach it, to the letter: they compare it with what they were told.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct PublicUrl {
    text: String,
    origin: Origin,
}

/// A network of peers, `ADDRESS/BITS`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct Network(IpNet);

/// A text that is not what its key wants.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Malformed {
    #[error("`{0}` is no address and port; write an IP address and a port, such as \"127.0.0.1:8787\"")]
    Listen(String),
    #[error("`{0}` is no path; write a slash and then letters, digits or any of `-._~/`, such as \"/mcp\"")]
    Path(String),
    #[error("`{0}` is no http or https URL without query and user, such as \"https://mcp.example.com/mcp\"")]
    Url(String),
    #[error("`{0}` is no network; write an address and its bits, such as \"127.0.0.1/32\"")]
    Network(String),
    #[error("`{given}` has bits outside its mask; did you mean \"{meant}\"?")]
    LooseNetwork { given: String, meant: IpNet },
}

impl Server {
    pub(super) fn check(reading: &mut Reading, raw: raw::Server) -> Self {
        let section = KeyPath::new(["server"]);
        let trusted_origins = once_each(reading, &section.key("trusted_origins"), raw.trusted_origins);
        let allowed_hosts = once_each(reading, &section.key("allowed_hosts"), raw.allowed_hosts);
        Self {
            listen: raw.listen.unwrap_or_default(),
            path: raw.path.unwrap_or_default(),
            public_url: raw.public_url,
            trusted_origins,
            allowed_hosts,
            times: Times {
                head: raw.header_timeout.map_or(HEADER_TIMEOUT, Into::into),
                body: raw.body_timeout.map_or(BODY_TIMEOUT, Into::into),
                idle: raw.idle_timeout.map_or(IDLE_TIMEOUT, Into::into),
            },
            max_connections: raw.max_connections.map_or(MAX_CONNECTIONS, Into::into),
            sessions: raw.sessions.unwrap_or_default().then(|| SessionBounds {
                max_sessions: raw.max_sessions.map_or(MAX_SESSIONS, Into::into),
                max_sessions_per_subject: raw.max_sessions_per_subject.map_or(MAX_SESSIONS_PER_SUBJECT, Into::into),
                idle: raw.session_timeout.map_or(SESSION_TIMEOUT, Into::into),
            }),
        }
    }
}

/// The elements, each a fault where it stands a second time.
pub(super) fn once_each<T: PartialEq + fmt::Display>(
    reading: &mut Reading,
    key: &KeyPath,
    list: raw::List<T>,
) -> Vec<T> {
    let mut kept: Vec<(usize, T)> = Vec::new();
    for (index, element) in list.into_iter().enumerate() {
        let Some(element) = element else { continue };
        match kept.iter().find(|(_, other)| *other == element) {
            Some((first, _)) => {
                let first = reading.place(&key.index(*first));
                reading.fault(key.index(index), Problem::Repeated { given: element.to_string(), first });
            }
            None => kept.push((index, element)),
        }
    }
    kept.into_iter().map(|(_, element)| element).collect()
}

impl Listen {
    /// Whether only this machine can connect.
    pub fn is_loopback(&self) -> bool {
        match self {
            Self::Tcp(address) => address.ip().to_canonical().is_loopback(),
        }
    }
}

impl Default for Listen {
    fn default() -> Self {
        Self::Tcp(SocketAddr::from((Ipv4Addr::LOCALHOST, 8787)))
    }
}

impl TryFrom<String> for Listen {
    type Error = Malformed;

    fn try_from(text: String) -> Result<Self, Malformed> {
        text.parse().map(Self::Tcp).map_err(|_| Malformed::Listen(text))
    }
}

impl fmt::Display for Listen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp(address) => address.fmt(f),
        }
    }
}

impl EndpointPath {
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Default for EndpointPath {
    fn default() -> Self {
        Self("/mcp".to_owned())
    }
}

impl TryFrom<String> for EndpointPath {
    type Error = Malformed;

    fn try_from(text: String) -> Result<Self, Malformed> {
        let unreserved = |c: char| c.is_ascii_alphanumeric() || "-._~/".contains(c);
        let sound = text.starts_with('/') && text.chars().all(unreserved) && !text.contains("//");
        let sound = sound && (text.len() == 1 || !text.ends_with('/'));
        if sound { Ok(Self(text)) } else { Err(Malformed::Path(text)) }
    }
}

impl PublicUrl {
    pub fn as_str(&self) -> &str {
        &self.text
    }

    pub fn origin(&self) -> &Origin {
        &self.origin
    }
}

impl TryFrom<String> for PublicUrl {
    type Error = Malformed;

    fn try_from(text: String) -> Result<Self, Malformed> {
        let sound = Uri::from_str(&text).is_ok_and(|uri| {
            let web = matches!(uri.scheme_str(), Some("http" | "https"));
            web && uri.query().is_none() && !text.contains('#')
        });
        match Origin::of_url(&text) {
            Ok(origin) if sound => Ok(Self { text, origin }),
            Ok(_) | Err(_) => Err(Malformed::Url(text)),
        }
    }
}

impl fmt::Display for PublicUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.text.fmt(f)
    }
}

impl Network {
    pub fn net(self) -> IpNet {
        self.0
    }

    /// Whether any loopback address is in it.
    pub fn meets_loopback(&self) -> bool {
        const MAPPED: Ipv6Addr = Ipv4Addr::new(127, 0, 0, 0).to_ipv6_mapped();
        let loopback = [
            Ipv4Net::new_assert(Ipv4Addr::new(127, 0, 0, 0), 8).into(),
            Ipv6Net::new_assert(Ipv6Addr::LOCALHOST, 128).into(),
            Ipv6Net::new_assert(MAPPED, 104).into(),
        ];
        loopback.iter().any(|net: &IpNet| net.contains(&self.0) || self.0.contains(net))
    }
}

impl TryFrom<String> for Network {
    type Error = Malformed;

    fn try_from(text: String) -> Result<Self, Malformed> {
        let Ok(net) = text.parse::<IpNet>() else { return Err(Malformed::Network(text)) };
        if net.trunc() == net {
            Ok(Self(net))
        } else {
            Err(Malformed::LooseNetwork { given: text, meant: net.trunc() })
        }
    }
}

impl fmt::Display for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
