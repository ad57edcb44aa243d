//! Who is at the other end of a connection, as the kernel says it.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use ipnet::{IpNet, Ipv4Net, Ipv6Net};
use serde::Deserialize;

/// The other end of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Peer {
    Tcp(SocketAddr),
    /// A local process, by its user.
    Unix {
        uid: u32,
    },
}

/// Peers that are believed: a network, `ADDRESS/BITS`, or a local user on a Unix socket, `uid:NUMBER`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub enum PeerRule {
    Network(IpNet),
    User(u32),
}

/// A text that describes no peers.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidPeer {
    #[error(
        "`{0}` is no network; write an address and its bits, such as \"127.0.0.1/32\", or the user of a process on the \
         Unix socket, such as \"uid:33\""
    )]
    Neither(String),
    #[error("`{given}` has bits outside its mask; did you mean \"{meant}\"?")]
    Loose { given: String, meant: IpNet },
}

impl Peer {
    /// The address, where there is one. A dual-stack socket reports an IPv4 peer as an IPv6 address.
    pub fn address(&self) -> Option<IpAddr> {
        match self {
            Self::Tcp(address) => Some(address.ip().to_canonical()),
            Self::Unix { .. } => None,
        }
    }
}

impl PeerRule {
    pub fn admits(&self, peer: &Peer) -> bool {
        match (self, peer) {
            (Self::Network(_), Peer::Tcp(address)) => self.admits_address(address.ip()),
            (Self::User(listed), Peer::Unix { uid }) => listed == uid,
            (Self::Network(_), Peer::Unix { .. }) | (Self::User(_), Peer::Tcp(_)) => false,
        }
    }

    pub fn admits_address(&self, address: IpAddr) -> bool {
        match self {
            Self::Network(net) => net.contains(&address.to_canonical()),
            Self::User(_) => false,
        }
    }

    /// Whether any loopback address is in it.
    pub fn meets_loopback(&self) -> bool {
        const MAPPED: Ipv6Addr = Ipv4Addr::new(127, 0, 0, 0).to_ipv6_mapped();
        let loopback = [
            Ipv4Net::new_assert(Ipv4Addr::new(127, 0, 0, 0), 8).into(),
            Ipv6Net::new_assert(Ipv6Addr::LOCALHOST, 128).into(),
            Ipv6Net::new_assert(MAPPED, 104).into(),
        ];
        match self {
            Self::Network(own) => loopback.iter().any(|net: &IpNet| net.contains(own) || own.contains(net)),
            Self::User(_) => false,
        }
    }
}

impl TryFrom<String> for PeerRule {
    type Error = InvalidPeer;

    fn try_from(text: String) -> Result<Self, InvalidPeer> {
        if let Some(user) = text.strip_prefix("uid:").filter(|user| user.bytes().all(|byte| byte.is_ascii_digit())) {
            return user.parse().map(Self::User).map_err(|_| InvalidPeer::Neither(text));
        }
        let Ok(net) = text.parse::<IpNet>() else { return Err(InvalidPeer::Neither(text)) };
        if net.trunc() == net {
            Ok(Self::Network(net))
        } else {
            Err(InvalidPeer::Loose { given: text, meant: net.trunc() })
        }
    }
}

impl fmt::Display for Peer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp(address) => address.fmt(f),
            Self::Unix { uid } => write!(f, "uid:{uid}"),
        }
    }
}

impl fmt::Display for PeerRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Network(net) => net.fmt(f),
            Self::User(uid) => write!(f, "uid:{uid}"),
        }
    }
}
