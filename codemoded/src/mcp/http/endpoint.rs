//! What a request passes before the protocol library has it, in this order: host and origin, path, identity, method
//! and media types, size, and the message's own shape.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::body::{Body, HttpBody};
use bytes::Bytes;
use http::header::CONTENT_TYPE;
use http::request::Parts;
use http::{Method, Request, Response};
use http_body_util::{BodyExt, Full, LengthLimitError, Limited};
use rmcp::model::ProtocolVersion;
use rmcp::transport::streamable_http_server::session::never::NeverSessionManager;
use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService};
use tokio_util::sync::CancellationToken;
use tower::ServiceExt;

use super::accept::{sends_json, takes_json, widen};
use super::refusal::Refusal;
use crate::identity::{Identity, remove_credentials};
use crate::mcp::body::{Checked, check};
use crate::mcp::guard::Guard;
use crate::mcp::server::{Arrived, Server};

const VERSION_HEADER: &str = "mcp-protocol-version";

/// For the whole body, however it trickles in.
const BODY_TIME: Duration = Duration::from_secs(30);

/// The one path that is served, and everything in front of it.
pub(super) struct Endpoint {
    path: String,
    guard: Guard,
    identity: Identity,
    server: Server,
    library: StreamableHttpService<Server, NeverSessionManager>,
}

impl Endpoint {
    pub(super) fn new(
        path: String,
        guard: Guard,
        identity: Identity,
        server: Server,
        closing: CancellationToken,
    ) -> Self {
        let config = StreamableHttpServerConfig::default()
            .with_legacy_session_mode(false)
            .with_json_response(true)
            .with_cancellation_token(closing)
            // The guard decides, before identity; the library's own check has other words and no origins.
            .disable_allowed_hosts()
            // The body has been read and bounded when the library gets it.
            .with_max_request_body_bytes(usize::MAX);
        let served = server.clone();
        let library = StreamableHttpService::new(move || Ok(served.clone()), Arc::default(), config);
        Self { path, guard, identity, server, library }
    }

    pub(super) async fn answer(&self, peer: SocketAddr, request: Request<Body>) -> Response<Body> {
        self.pass(peer, request).await.unwrap_or_else(Refusal::into_response)
    }

    async fn pass(&self, peer: SocketAddr, request: Request<Body>) -> Result<Response<Body>, Refusal> {
        let (mut head, body) = request.into_parts();
        self.guard.check(&head)?;
        if head.uri.path() != self.path {
            return Err(Refusal::WrongPath);
        }
        self.identify(peer, &mut head)?;
        admit(&mut head)?;
        let body = self.read(body).await?;
        head.extensions.insert(Arrived(Instant::now()));
        let checked = check(&body)?;
        check_version(&head, &checked)?;
        self.hand_over(head, body, checked).await
    }

    /// The subject goes beside the request; what proved it stays behind.
    fn identify(&self, peer: SocketAddr, head: &mut Parts) -> Result<(), Refusal> {
        let subject = self.identity.authenticate(peer, &head.headers).map_err(|reason| {
            tracing::warn!(%peer, %reason, "nobody could be made out in a request");
            Refusal::Unauthenticated
        })?;
        remove_credentials(&mut head.headers);
        head.extensions.insert(subject);
        Ok(())
    }

    async fn read(&self, body: Body) -> Result<Bytes, Refusal> {
        let max_bytes = self.server.max_request_bytes();
        if body.size_hint().lower() > max_bytes as u64 {
            return Err(Refusal::TooLarge);
        }
        let reading = Limited::new(body, max_bytes).collect();
        match tokio::time::timeout(BODY_TIME, reading).await {
            Ok(Ok(body)) => Ok(body.to_bytes()),
            Ok(Err(error)) if error.is::<LengthLimitError>() => Err(Refusal::TooLarge),
            Ok(Err(_)) => Err(Refusal::Incomplete),
            Err(_) => Err(Refusal::TooSlow),
        }
    }

    async fn hand_over(&self, head: Parts, body: Bytes, checked: Checked) -> Result<Response<Body>, Refusal> {
        let request = Request::from_parts(head, Full::new(body));
        let Ok(response) = self.library.clone().oneshot(request).await;
        // Whatever the library says outside the protocol is in its own words, and may quote what it could not read.
        let status = response.status();
        let is_json = response.headers().get(CONTENT_TYPE).is_some_and(|kind| kind == "application/json");
        match (status.is_client_error() || status.is_server_error()) && !is_json {
            true => Err(Refusal::Library(status, checked.id)),
            false => Ok(response.map(Body::new)),
        }
    }
}

/// One method, one media type in, one out.
fn admit(head: &mut Parts) -> Result<(), Refusal> {
    if head.method != Method::POST {
        return Err(Refusal::WrongMethod);
    }
    if !takes_json(&head.headers) {
        return Err(Refusal::NotAcceptable);
    }
    if !sends_json(&head.headers) {
        return Err(Refusal::UnsupportedMediaType);
    }
    widen(&mut head.headers);
    Ok(())
}

/// A message that names its own revision is the library's to check against the header; for any other, the header
/// alone says what it speaks.
fn check_version(head: &Parts, checked: &Checked) -> Result<(), Refusal> {
    let served = |version: &http::HeaderValue| {
        ProtocolVersion::KNOWN_VERSIONS.iter().any(|known| known.as_str().as_bytes() == version.as_bytes())
    };
    let mut versions = head.headers.get_all(VERSION_HEADER).iter();
    let sound = match (versions.next(), versions.next()) {
        (None, _) => true,
        (Some(version), None) => checked.names_its_version || served(version),
        (Some(_), Some(_)) => false,
    };
    if sound { Ok(()) } else { Err(Refusal::Version(checked.id.clone())) }
}
