//! Which hosts and origins may be talked to: the defence against DNS rebinding and against other sites' pages.
//!
//! Runs before identity and before a byte of the body is read. The server's own names come from its configuration
//! and its listener, never from the request: a page that rebinds its name to this address sends that name as `Host`
//! and itself as `Origin`, and the two agree with each other.

mod authority;

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use http::header::{HOST, ORIGIN};
use http::request::Parts;

pub use authority::{AllowedHost, Host, InvalidAuthority, Origin};

/// The names under which the server may be reached, and the origins whose pages may reach it.
#[derive(Clone, Debug)]
pub struct Guard {
    hosts: Vec<AllowedHost>,
    origins: Vec<Origin>,
}

/// What the operator says beyond the listener's own address.
#[derive(Clone, Debug, Default)]
pub struct Names {
    /// The origin of the URL that clients use, where it is not the listener's.
    pub public: Option<Origin>,
    pub allowed_hosts: Vec<AllowedHost>,
    pub trusted_origins: Vec<Origin>,
}

/// Which of the two checks a request failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Forbidden {
    #[error("forbidden: this host is not one of the server's; see the setting `server.allowed_hosts`")]
    Host,
    #[error("forbidden: this origin is not trusted; see the setting `server.trusted_origins`")]
    Origin,
}

impl Guard {
    /// A listener without an address is a Unix socket: clients of this machine name what they like, so loopback names.
    pub fn new(listener: Option<SocketAddr>, names: Names) -> Self {
        let Names { public, mut allowed_hosts, trusted_origins: mut origins } = names;
        match listener {
            Some(listener) => {
                allowed_hosts.extend(own_hosts(listener));
                origins.extend(own_origins(listener));
            }
            None => allowed_hosts.extend(loopback_names().into_iter().map(AllowedHost::any_port)),
        }
        if let Some(public) = public {
            allowed_hosts.push(public.as_allowed_host());
            origins.push(public);
        }
        Self { hosts: allowed_hosts, origins }
    }

    /// Lets a request pass whose host is one of the server's and whose origin, where it has one, is trusted.
    pub fn check(&self, head: &Parts) -> Result<(), Forbidden> {
        self.check_host(head)?;
        let mut origins = head.headers.get_all(ORIGIN).iter();
        let Some(origin) = origins.next() else {
            return Ok(());
        };
        let origin = origin.to_str().ok().and_then(|text| text.parse::<Origin>().ok());
        match (origin, origins.next()) {
            (Some(origin), None) if self.origins.contains(&origin) => Ok(()),
            (Some(_) | None, _) => Err(Forbidden::Origin),
        }
    }

    /// HTTP/2, and HTTP/1.1 with an absolute target, name the host in the target; each name that is there counts.
    fn check_host(&self, head: &Parts) -> Result<(), Forbidden> {
        let header = head.headers.get_all(HOST).iter().map(|value| value.to_str().ok());
        let target = head.uri.authority().map(|authority| Some(authority.as_str()));
        let mut named = false;
        for text in header.chain(target) {
            let host = text.and_then(|text| text.parse::<Host>().ok()).ok_or(Forbidden::Host)?;
            if !self.hosts.iter().any(|allowed| allowed.admits(&host)) {
                return Err(Forbidden::Host);
            }
            named = true;
        }
        if named && head.headers.get_all(HOST).iter().count() <= 1 { Ok(()) } else { Err(Forbidden::Host) }
    }
}

/// An unspecified address may be reached through a forwarded port, so its loopback names have none.
fn own_hosts(listener: SocketAddr) -> Vec<AllowedHost> {
    let (address, port) = (listener.ip().to_canonical(), listener.port());
    match address {
        _ if address.is_unspecified() => loopback_names().into_iter().map(AllowedHost::any_port).collect(),
        _ if address.is_loopback() => {
            vec![AllowedHost::on_port(Host::address(address), port), AllowedHost::on_port(Host::localhost(), port)]
        }
        _ => vec![AllowedHost::on_port(Host::address(address), port)],
    }
}

/// A page of the listener's own origin can exist only where the listener is reachable on loopback.
fn own_origins(listener: SocketAddr) -> Vec<Origin> {
    let address = listener.ip().to_canonical();
    match address.is_unspecified() || address.is_loopback() {
        true => loopback_names().into_iter().map(|name| Origin::http(name, listener.port())).collect(),
        false => Vec::new(),
    }
}

fn loopback_names() -> [Host; 3] {
    [Host::localhost(), Host::address(IpAddr::V4(Ipv4Addr::LOCALHOST)), Host::address(IpAddr::V6(Ipv6Addr::LOCALHOST))]
}

#[cfg(test)]
mod tests;
