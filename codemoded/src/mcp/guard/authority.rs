//! Hosts and origins, read strictly and compared by what they mean.

use std::fmt;
use std::net::{IpAddr, Ipv6Addr};
use std::str::FromStr;

use serde::Deserialize;

/// A host and, where one is named, a port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Host {
    name: HostName,
    port: Option<u16>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum HostName {
    /// In lower case.
    Dns(String),
    Address(IpAddr),
}

/// A host under which the server may be reached.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct AllowedHost {
    name: HostName,
    port: AllowedPort,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum AllowedPort {
    Any,
    Exactly(u16),
    /// This port, or none named, which is the scheme's.
    OrDefault(u16),
}

/// A scheme, host and port, with the scheme's port where none is named.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct Origin {
    scheme: Scheme,
    name: HostName,
    /// Absent only where neither a port is named nor the scheme has one.
    port: Option<u16>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Scheme {
    Http,
    Https,
    /// An application's own, such as an editor's, in lower case.
    Other(String),
}

/// The text is no host, no `host:port`, or no origin.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidAuthority {
    #[error(
        "`{0}` is no host; write a name or address, with a port if only that one is meant, such as \"mcp.internal\""
    )]
    Host(String),
    #[error("`{0}` is no origin; write a scheme and a host and no path, such as \"https://console.example.com\"")]
    Origin(String),
}

impl Host {
    pub fn localhost() -> Self {
        Self { name: HostName::Dns("localhost".to_owned()), port: None }
    }

    pub fn address(address: IpAddr) -> Self {
        Self { name: HostName::Address(address), port: None }
    }
}

impl AllowedHost {
    pub fn any_port(host: Host) -> Self {
        Self { name: host.name, port: AllowedPort::Any }
    }

    /// The host on one port; a request without a port means 80.
    pub fn on_port(host: Host, port: u16) -> Self {
        Self { name: host.name, port: AllowedPort::Exactly(port) }
    }

    pub fn admits(&self, host: &Host) -> bool {
        self.name == host.name
            && match self.port {
                AllowedPort::Any => true,
                AllowedPort::Exactly(port) => host.port.or(Scheme::Http.port()) == Some(port),
                AllowedPort::OrDefault(port) => host.port.is_none_or(|named| named == port),
            }
    }
}

impl Origin {
    pub fn http(host: Host, port: u16) -> Self {
        Self { scheme: Scheme::Http, name: host.name, port: Some(port) }
    }

    /// The origin's host as a request to it names it.
    pub fn as_allowed_host(&self) -> AllowedHost {
        let port = match self.port {
            Some(port) if self.port == self.scheme.port() => AllowedPort::OrDefault(port),
            Some(port) => AllowedPort::Exactly(port),
            None => AllowedPort::Any,
        };
        AllowedHost { name: self.name.clone(), port }
    }

    /// The origin of a URL, whatever its path.
    pub fn of_url(url: &str) -> Result<Self, InvalidAuthority> {
        let end = url.find("://").and_then(|at| url.get(at + 3..)?.find(['/', '?', '#']).map(|slash| at + 3 + slash));
        let origin = end.and_then(|end| url.get(..end)).unwrap_or(url);
        origin.parse().map_err(|_| InvalidAuthority::Origin(url.to_owned()))
    }
}

impl Scheme {
    fn new(text: &str) -> Option<Self> {
        let sound = text.starts_with(|first: char| first.is_ascii_alphabetic())
            && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.'));
        sound.then(|| match text.to_ascii_lowercase().as_str() {
            "http" => Self::Http,
            "https" => Self::Https,
            other => Self::Other(other.to_owned()),
        })
    }

    fn as_str(&self) -> &str {
        match self {
            Self::Http => "http",
            Self::Https => "https",
            Self::Other(name) => name,
        }
    }

    fn port(&self) -> Option<u16> {
        match self {
            Self::Http => Some(80),
            Self::Https => Some(443),
            Self::Other(_) => None,
        }
    }
}

impl FromStr for Host {
    type Err = InvalidAuthority;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        read(text).ok_or_else(|| InvalidAuthority::Host(text.to_owned()))
    }
}

impl FromStr for AllowedHost {
    type Err = InvalidAuthority;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let Host { name, port } = text.parse()?;
        Ok(Self { name, port: port.map_or(AllowedPort::Any, AllowedPort::Exactly) })
    }
}

impl FromStr for Origin {
    type Err = InvalidAuthority;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let invalid = || InvalidAuthority::Origin(text.to_owned());
        let (scheme, host) = text.split_once("://").ok_or_else(invalid)?;
        let scheme = Scheme::new(scheme).ok_or_else(invalid)?;
        let Host { name, port } = read(host).ok_or_else(invalid)?;
        Ok(Self { port: port.or(scheme.port()), scheme, name })
    }
}

impl TryFrom<String> for AllowedHost {
    type Error = InvalidAuthority;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}

impl TryFrom<String> for Origin {
    type Error = InvalidAuthority;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}

impl fmt::Display for HostName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Dns(name) => f.write_str(name),
            Self::Address(IpAddr::V4(address)) => write!(f, "{address}"),
            Self::Address(IpAddr::V6(address)) => write!(f, "[{address}]"),
        }
    }
}

impl fmt::Display for AllowedHost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.port {
            AllowedPort::Any => self.name.fmt(f),
            AllowedPort::Exactly(port) | AllowedPort::OrDefault(port) => write!(f, "{}:{port}", self.name),
        }
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}://{}", self.scheme.as_str(), self.name)?;
        match self.port {
            Some(port) if self.port != self.scheme.port() => write!(f, ":{port}"),
            Some(_) | None => Ok(()),
        }
    }
}

/// `name`, `name:port`, `1.2.3.4:port` or `[v6]:port`; no user part, no trailing dot, no white space.
fn read(text: &str) -> Option<Host> {
    if let Some(rest) = text.strip_prefix('[') {
        let (address, rest) = rest.split_once(']')?;
        let address: Ipv6Addr = address.parse().ok()?;
        let name = HostName::Address(IpAddr::V6(address).to_canonical());
        let port = match rest.strip_prefix(':') {
            Some(port) => Some(read_port(port)?),
            None if rest.is_empty() => None,
            None => return None,
        };
        return Some(Host { name, port });
    }
    let (name, port) = match text.split_once(':') {
        Some((name, port)) => (name, Some(read_port(port)?)),
        None => (text, None),
    };
    let name = match name.parse::<std::net::Ipv4Addr>() {
        Ok(address) => HostName::Address(IpAddr::V4(address)),
        Err(_) if is_dns_name(name) => HostName::Dns(name.to_ascii_lowercase()),
        Err(_) => return None,
    };
    Some(Host { name, port })
}

fn read_port(text: &str) -> Option<u16> {
    // `parse` alone would take a sign.
    if text.bytes().all(|byte| byte.is_ascii_digit()) { text.parse().ok() } else { None }
}

fn is_dns_name(text: &str) -> bool {
    let is_label = |label: &str| {
        !label.is_empty() && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'))
    };
    text.len() <= 253 && text.split('.').all(is_label)
}
