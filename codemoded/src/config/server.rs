//! Where the daemon listens, and which hosts, origins and networks it believes.

use std::fmt;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::str::FromStr as _;
use std::time::Duration;

use http::Uri;
use serde::Deserialize;

use super::fault::Problem;
use super::group;
use super::place::KeyPath;
use super::raw;
use super::reading::Reading;
use crate::identity::peer::PeerRule;
use crate::listener::Times;
use crate::mcp::guard::{AllowedHost, Origin};
use crate::mcp::http::SessionBounds;

const HEADER_TIMEOUT: Duration = Duration::from_secs(15);
const BODY_TIMEOUT: Duration = Duration::from_secs(30);
/// Longer than proxies keep an idle connection (nginx: 60 s), so that they close first and never send a request into a
/// connection that is just being closed.
const IDLE_TIMEOUT: Duration = Duration::from_secs(75);
const MAX_CONNECTIONS: usize = 16_384;
const DRAIN_TIMEOUT: Duration = Duration::from_secs(10);
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
    /// How long what runs may take to finish when the daemon stops.
    pub drain_timeout: Duration,
    /// Nothing where every request stands alone.
    pub sessions: Option<SessionBounds>,
    /// Whose `X-Forwarded-For` is believed.
    pub trusted_proxies: Vec<PeerRule>,
    /// Of a Unix socket of our own making.
    pub socket: SocketAccess,
}

/// Who may connect to a Unix socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SocketAccess {
    pub mode: u32,
    /// By number; the daemon's own where there is none.
    pub group: Option<u32>,
}

/// Permissions as `chmod` takes them, such as `"0660"`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub(super) struct Permissions(pub(super) u32);

/// Where to listen.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub enum Listen {
    /// Port 0 takes any free one.
    Tcp(SocketAddr),
    /// A Unix socket; the path is absolute once the file was checked.
    Unix(PathBuf),
    /// The one socket that systemd hands over.
    Systemd,
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

/// A text that is not what its key wants.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Malformed {
    #[error(
        "`{0}` is no address; write an IP address and a port, such as \"127.0.0.1:8787\", \"unix:\" and a path, or \
         \"systemd\""
    )]
    Listen(String),
    #[error(
        "`{0}` is no address; write an IP address and a port, such as \"127.0.0.1:8788\", \"unix:\" and a path, or \"off\" \
         alone"
    )]
    AdminListen(String),
    #[error("`{0}` is no mode; write octal digits up to \"0777\", such as \"0660\"")]
    Mode(String),
    #[error("`{0}` is no path; write a slash and then letters, digits or any of `-._~/`, such as \"/mcp\"")]
    Path(String),
    #[error("`{0}` is no http or https URL without query and user, such as \"https://mcp.example.com/mcp\"")]
    Url(String),
}

impl Server {
    pub(super) fn check(reading: &mut Reading, raw: raw::Server) -> Self {
        let section = KeyPath::new(["server"]);
        let trusted_origins = once_each(reading, &section.key("trusted_origins"), raw.trusted_origins);
        let allowed_hosts = once_each(reading, &section.key("allowed_hosts"), raw.allowed_hosts);
        let listen = match raw.listen.unwrap_or_default() {
            Listen::Unix(path) => Listen::Unix(reading.absolute(path)),
            other => other,
        };
        let trusted_proxies = once_each(reading, &section.key("trusted_proxies"), raw.trusted_proxies);
        let socket = group::socket(reading, &section, raw.socket_mode, raw.socket_group);
        Self {
            listen,
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
            drain_timeout: raw.drain_timeout.map_or(DRAIN_TIMEOUT, Into::into),
            sessions: raw.sessions.unwrap_or_default().then(|| SessionBounds {
                max_sessions: raw.max_sessions.map_or(MAX_SESSIONS, Into::into),
                max_sessions_per_subject: raw.max_sessions_per_subject.map_or(MAX_SESSIONS_PER_SUBJECT, Into::into),
                idle: raw.session_timeout.map_or(SESSION_TIMEOUT, Into::into),
            }),
            trusted_proxies,
            socket,
        }
    }
}

impl Default for SocketAccess {
    fn default() -> Self {
        Self { mode: 0o660, group: None }
    }
}

impl TryFrom<String> for Permissions {
    type Error = Malformed;

    fn try_from(text: String) -> Result<Self, Malformed> {
        let octal = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        let mode = u32::from_str_radix(&text, 8).ok().filter(|mode| octal && *mode <= 0o777);
        mode.map(Self).ok_or(Malformed::Mode(text))
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
    /// Whether others than this machine can connect, as far as that can be told before the socket is there.
    pub fn is_open(&self) -> bool {
        match self {
            Self::Tcp(address) => !address.ip().to_canonical().is_loopback(),
            Self::Unix(_) | Self::Systemd => false,
        }
    }

    /// Whether what listens at the one leaves no room for the other.
    pub(super) fn overlaps(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Tcp(one), Self::Tcp(other)) => {
                let [a, b] = [one, other].map(|address| address.ip().to_canonical());
                let same = a == b || a.is_unspecified() || b.is_unspecified();
                same && one.port() == other.port() && one.port() != 0
            }
            (one, other) => one == other,
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
        match text.strip_prefix("unix:") {
            Some("") => Err(Malformed::Listen(text)),
            Some(path) => Ok(Self::Unix(path.into())),
            None if text == "systemd" => Ok(Self::Systemd),
            None => text.parse().map(Self::Tcp).map_err(|_| Malformed::Listen(text)),
        }
    }
}

impl fmt::Display for Listen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp(address) => address.fmt(f),
            Self::Unix(path) => write!(f, "unix:{}", path.display()),
            Self::Systemd => f.write_str("systemd"),
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
