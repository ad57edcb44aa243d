//! Where the daemon tells of itself, and who may ask.

use std::fmt;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;

use serde::de::{Error as _, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};

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
    pub listen: Vec<Listen>,
    pub allowed_hosts: Vec<AllowedHost>,
    pub trusted_origins: Vec<Origin>,
    /// Of a Unix socket.
    pub socket: SocketAccess,
}

/// Addresses, or none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct AdminListen(Vec<Listen>);

#[derive(Deserialize)]
#[serde(try_from = "String")]
struct Address(Listen);

struct Addresses;

impl Admin {
    pub(super) fn check(reading: &mut Reading, raw: raw::Admin, clients: Option<&Listen>) -> Self {
        let section = KeyPath::new(["admin"]);
        let absolute = |listen| match listen {
            Listen::Unix(path) => Listen::Unix(reading.absolute(path)),
            other => other,
        };
        let listen: Vec<_> = raw.listen.unwrap_or_default().0.into_iter().map(absolute).collect();
        if !raw.danger_allow_non_loopback.unwrap_or_default() {
            for open in listen.iter().filter(|listen| listen.is_open()) {
                reading.fault(section.key("listen"), Problem::AdminOpenToAll { listen: open.to_string() });
            }
        }
        for (at, one) in listen.iter().enumerate() {
            let others = listen.get(..at).unwrap_or_default().iter().map(|other| (other, "admin.listen"));
            let taken = clients.map(|listen| (listen, "server.listen")).into_iter().chain(others);
            if let Some((_, by)) = taken.into_iter().find(|(other, _)| one.overlaps(other)) {
                reading.fault(section.key("listen"), Problem::Taken { listen: one.to_string(), by });
            }
        }
        let allowed_hosts = once_each(reading, &section.key("allowed_hosts"), raw.allowed_hosts);
        let trusted_origins = once_each(reading, &section.key("trusted_origins"), raw.trusted_origins);
        let socket = group::socket(reading, &section, raw.socket_mode, raw.socket_group);
        Self { listen, allowed_hosts, trusted_origins, socket }
    }

    /// Where the daemon can be changed while it runs.
    pub fn unix_socket(&self) -> Option<&Path> {
        self.listen.iter().find_map(|listen| match listen {
            Listen::Unix(path) => Some(path.as_path()),
            Listen::Tcp(_) | Listen::Systemd => None,
        })
    }
}

impl Default for AdminListen {
    fn default() -> Self {
        Self(vec![Listen::Tcp(SocketAddr::from((Ipv4Addr::LOCALHOST, 8788)))])
    }
}

impl<'de> Deserialize<'de> for AdminListen {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Addresses)
    }
}

impl<'de> Visitor<'de> for Addresses {
    type Value = AdminListen;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an address or an array of addresses")
    }

    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<AdminListen, E> {
        match text {
            "off" => Ok(AdminListen(Vec::new())),
            _ => Address::try_from(text.to_owned()).map(|one| AdminListen(vec![one.0])).map_err(E::custom),
        }
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<AdminListen, A::Error> {
        let (mut listen, mut is_empty) = (Vec::new(), true);
        // Nothing stands where an element was whose fault is already told.
        while let Some(element) = list.next_element::<Option<Address>>()? {
            is_empty = false;
            listen.extend(element.map(|one| one.0));
        }
        match is_empty {
            true => Err(A::Error::custom("an empty array; write \"off\" where nothing shall be heard")),
            false => Ok(AdminListen(listen)),
        }
    }
}

impl TryFrom<String> for Address {
    type Error = Malformed;

    fn try_from(text: String) -> Result<Self, Malformed> {
        match Listen::try_from(text.clone()) {
            Ok(listen @ (Listen::Tcp(_) | Listen::Unix(_))) => Ok(Self(listen)),
            Ok(Listen::Systemd) | Err(_) => Err(Malformed::AdminListen(text)),
        }
    }
}
