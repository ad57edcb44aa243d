//! Requests that the daemon itself sends: to an issuer for its keys, to a collector.

use std::sync::Arc;
use std::time::Duration;

use rustls::crypto::ring;
use ureq::tls::{RootCerts, TlsConfig};

/// A client that trusts the authorities that the system trusts. It follows no redirect: what is sent or read is where the
/// operator says, and nowhere else. A request may take so long, from the first packet to the last.
pub fn client(time: Duration, max_idle: usize) -> ureq::Agent {
    let tls = TlsConfig::builder()
        .root_certs(RootCerts::PlatformVerifier)
        .unversioned_rustls_crypto_provider(Arc::new(ring::default_provider()))
        .build();
    let config = ureq::Agent::config_builder()
        .tls_config(tls)
        .max_redirects(0)
        .max_redirects_will_error(false)
        .http_status_as_error(false)
        .timeout_global(Some(time))
        .max_idle_connections(max_idle)
        .user_agent(concat!("codemoded/", env!("CARGO_PKG_VERSION")));
    config.build().into()
}
