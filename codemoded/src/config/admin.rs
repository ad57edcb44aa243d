//! Where the daemon tells of itself, and who may ask.

use std::net::{Ipv4Addr, SocketAddr};

use serde::Deserialize;

use super::fault::Problem;
use super::group;
use super::place::KeyPath;
use super::raw;
use super::reading::Reading;
use super::server::{Listen, Malformed, SocketAccess, once_each};
use crate::mcp::guard::{AllowedHost, Origin};

/// The listener for administration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Admin {
    /// Nothing where it is switched off.
    pub listen: Option<Listen>,
    pub allowed_hosts: Vec<AllowedHost>,
    pub trusted_origins: Vec<Origin>,
    /// Of a Unix socket.
    pub socket: SocketAccess,
}

/// An address, or none.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub(super) struct AdminListen(Option<Listen>);

impl Admin {
    pub(super) fn check(reading: &mut Reading, raw: raw::Admin) -> Self {
        let section = KeyPath::new(["admin"]);
        let listen = match raw.listen.unwrap_or_default().0 {
            Some(Listen::Unix(path)) => Some(Listen::Unix(reading.absolute(path))),
            other => other,
        };
        if let Some(open) = listen.as_ref().filter(|listen| listen.is_open())
            && !raw.danger_allow_non_loopback.unwrap_or_default()
        {
            reading.fault(section.key("listen"), Problem::AdminOpenToAll { listen: open.to_string() });
        }
        let allowed_hosts = once_each(reading, &section.key("allowed_hosts"), raw.allowed_hosts);
        let trusted_origins = once_each(reading, &section.key("trusted_origins"), raw.trusted_origins);
        let socket = group::socket(reading, &section, raw.socket_mode, raw.socket_group);
        Self { listen, allowed_hosts, trusted_origins, socket }
    }
}

impl Default for AdminListen {
    fn default() -> Self {
        Self(Some(Listen::Tcp(SocketAddr::from((Ipv4Addr::LOCALHOST, 8788)))))
    }
}

impl TryFrom<String> for AdminListen {
    type Error = Malformed;

    fn try_from(text: String) -> Result<Self, Malformed> {
        match text.as_str() {
            "off" => Ok(Self(None)),
            "systemd" => Err(Malformed::AdminListen(text)),
            _ => Listen::try_from(text.clone())
                .map(|listen| Self(Some(listen)))
                .map_err(|_| Malformed::AdminListen(text)),
        }
    }
}
