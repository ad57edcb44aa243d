//! Whose failures are counted together: an address, as far as it can be told.

use std::net::{IpAddr, Ipv6Addr};

use http::HeaderMap;

use crate::identity::peer::{Peer, PeerRule};

const FORWARDED_FOR: &str = "x-forwarded-for";

/// The host part of an IPv6 address is the client's own to choose.
const V6_BITS: u32 = 64;

/// Where a request came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Client {
    /// Of an IPv6 address its network.
    Address(IpAddr),
    User(u32),
}

impl Client {
    /// The peer itself, or, where a listed proxy says so, the last address before the listed ones. What is further left
    /// in the header was written by the client.
    pub(super) fn of(peer: &Peer, headers: &HeaderMap, proxies: &[PeerRule]) -> Self {
        let own = match peer {
            Peer::Tcp(address) => Self::address(address.ip()),
            Peer::Unix { uid } => Self::User(*uid),
        };
        if !proxies.iter().any(|proxy| proxy.admits(peer)) {
            return own;
        }
        let values: Vec<_> = headers.get_all(FORWARDED_FOR).iter().filter_map(|value| value.to_str().ok()).collect();
        let mut nearest = own;
        for entry in values.iter().rev().flat_map(|value| value.rsplit(',')) {
            // Behind something that is no address, nothing is known to be a proxy's word.
            let Some(address) = read(entry.trim()) else { return nearest };
            nearest = Self::address(address);
            if !proxies.iter().any(|proxy| proxy.admits_address(address)) {
                return nearest;
            }
        }
        nearest
    }

    fn address(address: IpAddr) -> Self {
        Self::Address(match address.to_canonical() {
            IpAddr::V4(address) => IpAddr::V4(address),
            IpAddr::V6(address) => {
                let network = u128::from(address) >> (128 - V6_BITS) << (128 - V6_BITS);
                IpAddr::V6(Ipv6Addr::from(network))
            }
        })
    }
}

/// An address, as some proxies write it with its port.
fn read(entry: &str) -> Option<IpAddr> {
    entry.parse().ok().or_else(|| entry.parse::<std::net::SocketAddr>().ok().map(|address| address.ip()))
}

#[cfg(test)]
mod tests {
    use http::{HeaderName, HeaderValue};

    use super::*;

    #[track_caller]
    fn check(peer: &str, forwarded: &[&str], expected: &str) {
        let proxies = ["10.0.0.0/8", "127.0.0.1/32", "uid:33"].map(|rule| rule.to_owned().try_into().unwrap());
        let mut headers = HeaderMap::new();
        for value in forwarded {
            headers.append(HeaderName::from_static(FORWARDED_FOR), HeaderValue::from_str(value).unwrap());
        }
        let peer = match peer.strip_prefix("uid:") {
            Some(uid) => Peer::Unix { uid: uid.parse().unwrap() },
            None => Peer::Tcp(peer.parse().unwrap()),
        };
        let expected = match expected.strip_prefix("uid:") {
            Some(uid) => Client::User(uid.parse().unwrap()),
            None => Client::Address(expected.parse().unwrap()),
        };
        assert_eq!(Client::of(&peer, &headers, &proxies), expected, "{forwarded:?}");
    }

    #[test]
    fn a_stranger_is_who_it_is_whatever_it_says() {
        check("192.0.2.1:99", &["198.51.100.7"], "192.0.2.1");
        check("uid:1000", &["198.51.100.7"], "uid:1000");
        check("[2001:db8:1:2:3:4:5:6]:99", &[], "2001:db8:1:2::");
        check("[::ffff:192.0.2.1]:99", &[], "192.0.2.1");
    }

    #[test]
    fn a_listed_peer_says_who_came_before_it() {
        check("10.0.0.1:99", &[], "10.0.0.1");
        check("10.0.0.1:99", &["198.51.100.7"], "198.51.100.7");
        check("uid:33", &["198.51.100.7"], "198.51.100.7");
        check("10.0.0.1:99", &["203.0.113.5, 198.51.100.7, 10.0.0.9"], "198.51.100.7");
        check("10.0.0.1:99", &["203.0.113.5", "198.51.100.7", "10.0.0.9"], "198.51.100.7");
        check("10.0.0.1:99", &["2001:db8:9:9::1"], "2001:db8:9:9::");
        check("10.0.0.1:99", &["[2001:db8:9:9::1]:443, 10.0.0.9:80"], "2001:db8:9:9::");
        check("10.0.0.1:99", &["10.0.0.8, 10.0.0.9"], "10.0.0.8");
        check("10.0.0.1:99", &["198.51.100.7, unknown, 10.0.0.9"], "10.0.0.9");
        check("10.0.0.1:99", &["nonsense"], "10.0.0.1");
    }
}
