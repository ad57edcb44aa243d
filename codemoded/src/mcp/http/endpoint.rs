//! What a request passes before the protocol library has it, in this order: host and origin, path, identity, session,
//! rate, method and media types, size, and the message's own shape.

use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::body::{Body, HttpBody};
use bytes::Bytes;
use http::header::{CONTENT_TYPE, EXPECT, HeaderName, HeaderValue};
use http::request::Parts;
use http::{Method, Request, Response, StatusCode};
use http_body_util::{BodyExt, Full, LengthLimitError, Limited};
use rmcp::model::ProtocolVersion;
use rmcp::transport::streamable_http_server::session::never::NeverSessionManager;
use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService};
use tokio_util::sync::CancellationToken;
use tower::ServiceExt;

use super::accept::{sends_json, takes_json, takes_stream, widen};
use super::carried::carried;
use super::door::Door;
use super::refusal::Refusal;
use super::sessions::{Sessions, Visit};
use super::stream::{Answering, closed, silent, soon_or_streamed};
use super::unread::read_off;
use super::{Reached, Served, Settings, Snapshot};
use crate::identity::peer::Peer;
use crate::identity::{self, Subject, Verdict, remove_credentials};
use crate::listener::Answers;
use crate::mcp::body::{Asks, Checked, check};
use crate::mcp::server::Arrival;
use crate::metrics::{Metrics, TooOften};
use crate::run::trace::Remote;
use crate::value::{Bounds, Value, read};

const VERSION_HEADER: &str = "mcp-protocol-version";
const SESSION_HEADER: HeaderName = HeaderName::from_static("mcp-session-id");

/// The one path that is served, and everything in front of it.
pub(super) struct Endpoint<S> {
    reached: Reached,
    sessions: Option<Sessions>,
    body_time: Duration,
    server: S,
    library: StreamableHttpService<S, NeverSessionManager>,
    draining: CancellationToken,
    metrics: Metrics,
}

impl<S: Served> Endpoint<S> {
    pub(super) fn new(settings: Settings, server: S, draining: CancellationToken, closing: CancellationToken) -> Self {
        let config = StreamableHttpServerConfig::default()
            .with_legacy_session_mode(false)
            .with_json_response(true)
            // Streams are kept alive here.
            .with_sse_keep_alive(None)
            .with_cancellation_token(closing)
            // The guard decides, before identity; the library's own check has other words and no origins.
            .disable_allowed_hosts()
            // The body has been read and bounded when the library gets it.
            .with_max_request_body_bytes(usize::MAX);
        let served = server.clone();
        let library = StreamableHttpService::new(move || Ok(served.clone()), Arc::default(), config);
        let Settings { reached, sessions, times, metrics, .. } = settings;
        let sessions = sessions.map(Sessions::new);
        Self { reached, sessions, body_time: times.body, server, library, draining, metrics }
    }

    async fn pass(&self, peer: Peer, mut head: Parts, body: &mut Body) -> Result<Response<Body>, Refusal> {
        let at = Instant::now();
        // A reload meanwhile changes nothing for this request.
        let snapshot = self.server.snapshot();
        let door = snapshot.door();
        door.guard.check(&head)?;
        if let Some(metadata) = door.advertised.metadata(&head) {
            return Ok(metadata);
        }
        if head.uri.path() != self.reached.path() {
            return Err(Refusal::WrongPath);
        }
        let subject = identify(door, &self.metrics, &peer, &mut head).await?;
        let visit = self.visit(&head, &subject)?;
        door.rates.request(&subject.id).inspect_err(|_| self.metrics.refused_by_rate(TooOften::Requests))?;
        if head.method != Method::POST {
            // Whoever listens for long holds nothing of this generation.
            drop(snapshot);
            return self.without_message(&head, visit);
        }
        let takes_stream = admit(&mut head)?;
        let body = self.read(body, snapshot.max_request_bytes()).await?;
        // Whoever is not listed could hang a run under anybody's trace.
        let remote = if door.rates.trusts(&peer) { Remote::read(&head.headers) } else { None };
        head.extensions.insert(Arrival { at, takes_stream, remote });
        head.extensions.insert(snapshot);
        let checked = check(&body)?;
        check_version(&head, &checked)?;
        let opens = visit.is_none() && checked.asks == Asks::Handshake;
        let answering = self.hand_over(head, body, checked.id.clone());
        let answering = match visit {
            Some(visit) => within(visit, answering, checked, takes_stream)?,
            None if opens => return self.open(answering.await, &subject, checked.id).await,
            None => answering,
        };
        Ok(match takes_stream {
            true => soon_or_streamed(answering).await,
            false => answering.await,
        })
    }

    /// The session that the request names, unless there are none: not here, or not in the era that it speaks.
    fn visit(&self, head: &Parts, subject: &Subject) -> Result<Option<Visit>, Refusal> {
        let Some(sessions) = self.sessions.as_ref().filter(|_| !names_stateless(head)) else { return Ok(None) };
        let mut ids = head.headers.get_all(SESSION_HEADER).iter();
        match (ids.next(), ids.next()) {
            (None, _) => Ok(None),
            (Some(id), None) => {
                let visit = id.to_str().ok().and_then(|id| sessions.visit(id, &subject.id));
                visit.map(Some).ok_or(Refusal::NoSession)
            }
            (Some(_), Some(_)) => Err(Refusal::NoSession),
        }
    }

    /// To listen in a session, or to end it.
    fn without_message(&self, head: &Parts, visit: Option<Visit>) -> Result<Response<Body>, Refusal> {
        let sessions = self.sessions.is_some() && !names_stateless(head);
        let known = sessions && (head.method == Method::GET || head.method == Method::DELETE);
        let visit = match visit {
            _ if !known => return Err(Refusal::WrongMethod { sessions }),
            Some(visit) => visit,
            None => return Err(Refusal::SessionMissing),
        };
        if head.method == Method::DELETE {
            visit.close();
            let mut response = Response::default();
            *response.status_mut() = StatusCode::NO_CONTENT;
            return Ok(response);
        }
        if !takes_stream(&head.headers) {
            return Err(Refusal::NotStreamable);
        }
        let draining = self.draining.clone();
        Ok(silent(async move {
            tokio::select! {
                () = visit.listen() => {}
                () = draining.cancelled() => {}
            }
        }))
    }

    /// A handshake that succeeded opens a session, where there are any.
    async fn open(
        &self,
        response: Response<Body>,
        subject: &Subject,
        id: Option<Value>,
    ) -> Result<Response<Body>, Refusal> {
        let Some(sessions) = &self.sessions else { return Ok(response) };
        let (mut head, body) = response.into_parts();
        let json = body.collect().await.map_err(|_| Refusal::Library(StatusCode::INTERNAL_SERVER_ERROR, id.clone()))?;
        let json = json.to_bytes();
        let bounds = Bounds { max_bytes: json.len(), max_depth: usize::MAX };
        let succeeded = read(&json, bounds).is_ok_and(|answer| match answer {
            Value::Map(answer) => answer.contains_key("result"),
            Value::Null | Value::Bool(_) | Value::Int(_) | Value::Float(_) | Value::Str(_) | Value::List(_) => false,
        });
        if succeeded {
            let session = sessions.open(&subject.id).map_err(|_| Refusal::TooManySessions(id))?;
            head.headers.extend(HeaderValue::from_str(&session).ok().map(|session| (SESSION_HEADER, session)));
        }
        Ok(Response::from_parts(head, Body::from(json)))
    }

    async fn read(&self, body: &mut Body, max_bytes: usize) -> Result<Bytes, Refusal> {
        if body.size_hint().lower() > max_bytes as u64 {
            return Err(Refusal::TooLarge);
        }
        let reading = Limited::new(body, max_bytes).collect();
        match tokio::time::timeout(self.body_time, reading).await {
            Ok(Ok(body)) => Ok(body.to_bytes()),
            Ok(Err(error)) if error.is::<LengthLimitError>() => Err(Refusal::TooLarge),
            Ok(Err(_)) => Err(Refusal::Incomplete),
            Err(_) => Err(Refusal::TooSlow),
        }
    }

    fn hand_over(&self, head: Parts, body: Bytes, id: Option<Value>) -> Answering {
        let request = Request::from_parts(head, Full::new(body));
        let answering = self.library.clone().oneshot(request);
        Box::pin(async move {
            let Ok(response) = answering.await;
            // Whatever the library says outside the protocol is in its own words, and may quote what it could not read.
            let (status, kind) = (response.status(), response.headers().get(CONTENT_TYPE));
            let is_json = kind.is_some_and(|kind| kind == "application/json");
            match (status.is_client_error() || status.is_server_error()) && !is_json {
                true => Refusal::Library(status, id).into_response(),
                false => response.map(Body::new),
            }
        })
    }
}

/// The subject goes beside the request; what proved it stays behind.
impl<S: Served> Answers for Endpoint<S> {
    async fn answer(&self, peer: Peer, request: Request<Body>) -> Response<Body> {
        let (head, mut body) = request.into_parts();
        let (at, waits) = (Instant::now(), head.headers.contains_key(EXPECT));
        let response = match self.pass(peer, head, &mut body).await {
            Ok(response) => response,
            Err(refusal) => {
                // Whoever waits to be told to send has sent nothing, unless reading has told it to.
                let told = matches!(refusal, Refusal::TooLarge) && body.size_hint().exact().is_none();
                if !body.is_end_stream() && (told || !waits) {
                    read_off(body, self.body_time.saturating_sub(at.elapsed()));
                }
                refusal.into_response()
            }
        };
        self.metrics.answered(response.status());
        response
    }

    fn connections(&self, open: usize) {
        self.metrics.connections(open);
    }

    fn panicked(&self) -> fn() -> Response<Body> {
        || Refusal::Panic.into_response()
    }
}

async fn identify(door: &Door, metrics: &Metrics, peer: &Peer, head: &mut Parts) -> Result<Subject, Refusal> {
    let subject = match door.identity.authenticate(peer, head).await {
        Ok(subject) => subject,
        Err(reason) => return Err(turn_away(door, metrics, peer, head, reason)),
    };
    remove_credentials(head);
    head.extensions.insert(subject.clone());
    Ok(subject)
}

fn turn_away(door: &Door, metrics: &Metrics, peer: &Peer, head: &Parts, reason: identity::Refusal) -> Refusal {
    metrics.authentication_failed(reason.verdict().into());
    if reason.is_failure()
        && let Err(too_many) = door.rates.failure(peer, &head.headers)
    {
        tracing::debug!(%peer, %reason, "one failure too many");
        metrics.refused_by_rate(TooOften::Failures);
        return too_many.into();
    }
    tracing::warn!(%peer, %reason, "nobody could be made out in a request");
    match reason.verdict() {
        Verdict::Anonymous => Refusal::Unauthenticated(door.advertised.challenge(None)),
        Verdict::Invalid => Refusal::Unauthenticated(door.advertised.challenge(Some("invalid_token"))),
        Verdict::Insufficient => Refusal::Insufficient(door.advertised.challenge(Some("insufficient_scope"))),
        Verdict::Unavailable => Refusal::Undecided,
    }
}

/// In a session a message may call off another, and a request's answer does not end with its listener.
fn within(visit: Visit, answering: Answering, checked: Checked, takes_stream: bool) -> Result<Answering, Refusal> {
    if let Asks::CallOff(id) = &checked.asks {
        visit.call_off(&id.to_json());
    }
    let Some(id) = checked.id else { return Ok(answering) };
    let flight = visit.begin(id.to_json()).ok_or_else(|| Refusal::IdInUse(Some(id.clone())))?;
    // The protocol wants no answer to what was called off, but HTTP wants one.
    let called_off = if takes_stream { closed() } else { Refusal::CalledOff(Some(id)).into_response() };
    Ok(carried(answering, flight, called_off))
}

/// One media type in, and JSON out or, where this says so, a stream.
fn admit(head: &mut Parts) -> Result<bool, Refusal> {
    if !takes_json(&head.headers) {
        return Err(Refusal::NotAcceptable);
    }
    if !sends_json(&head.headers) {
        return Err(Refusal::UnsupportedMediaType);
    }
    let takes_stream = takes_stream(&head.headers);
    widen(&mut head.headers);
    Ok(takes_stream)
}

/// The header names a revision that has neither handshake nor sessions.
fn names_stateless(head: &Parts) -> bool {
    let version = head.headers.get(VERSION_HEADER).map(HeaderValue::as_bytes);
    let mut known = ProtocolVersion::KNOWN_VERSIONS.iter();
    known.any(|known| !known.has_initialize() && Some(known.as_str().as_bytes()) == version)
}

/// A message that names its own revision is the library's to check against the header; for any other, the header
/// alone says what it speaks.
fn check_version(head: &Parts, checked: &Checked) -> Result<(), Refusal> {
    let served = |version: &HeaderValue| {
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
