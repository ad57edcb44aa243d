//! The paths of the administration's listener, and what stands in front of them.

use std::sync::Arc;

use axum::body::Body;
use http::header::{ALLOW, CACHE_CONTROL, CONTENT_TYPE, HeaderValue};
use http::request::Parts;
use http::{Method, Request, Response, StatusCode};
use serde::Serialize;

use super::State;
use super::loaded::Loaded;
use super::readiness::Readiness;
use crate::identity::peer::Peer;
use crate::listener::Answers;
use crate::mcp::guard::{Forbidden, Guard};
use crate::metrics::Metrics;

const TEXT: HeaderValue = HeaderValue::from_static("text/plain; charset=utf-8");
const JSON: HeaderValue = HeaderValue::from_static("application/json");
const METRICS: HeaderValue = HeaderValue::from_static(Metrics::MEDIA_TYPE);
/// An answer is true for the moment.
const NO_STORE: HeaderValue = HeaderValue::from_static("no-store");

/// Everything that can be asked.
#[derive(Debug)]
pub(super) struct Endpoint {
    guard: Guard,
    state: Arc<State>,
}

/// Why a request is not answered.
#[derive(Debug, thiserror::Error)]
enum Refusal {
    #[error("forbidden: this host is not one of the listener's; see the setting `admin.allowed_hosts`")]
    Host,
    #[error("forbidden: this origin is not trusted; see the setting `admin.trusted_origins`")]
    Origin,
    #[error("not found: there are /generation, /healthz, /metrics, /readyz")]
    Path,
    #[error("method not allowed: use {0}")]
    Method(&'static str),
    #[error("the answer could not be written")]
    Unwritable(#[from] serde_json::Error),
    #[error("the first generation is being built")]
    NotYet,
    #[error("the figures could not be written")]
    Figures(#[from] std::fmt::Error),
    #[error("answering failed inside the daemon")]
    Panic,
}

impl Endpoint {
    pub(super) fn new(guard: Guard, state: Arc<State>) -> Self {
        Self { guard, state }
    }

    async fn pass(&self, head: &Parts) -> Result<Response<Body>, Refusal> {
        self.guard.check(head)?;
        match head.uri.path() {
            "/healthz" => {
                reads(head)?;
                Ok(answer(StatusCode::OK, TEXT, "alive\n".to_owned()))
            }
            "/readyz" => {
                reads(head)?;
                let readiness = Readiness::of(&self.state).await;
                let status = if readiness.ready { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
                json(status, &readiness)
            }
            "/generation" => {
                reads(head)?;
                let generation = self.state.current().ok_or(Refusal::NotYet)?;
                json(StatusCode::OK, &Loaded::of(&generation))
            }
            "/metrics" => {
                reads(head)?;
                let text = self.state.instruments.metrics.text(self.state.levels())?;
                Ok(answer(StatusCode::OK, METRICS, text))
            }
            _ => Err(Refusal::Path),
        }
    }
}

impl Answers for Endpoint {
    async fn answer(&self, _peer: Peer, request: Request<Body>) -> Response<Body> {
        let (head, _) = request.into_parts();
        self.pass(&head).await.unwrap_or_else(Refusal::into_response)
    }

    fn panicked(&self) -> fn() -> Response<Body> {
        || Refusal::Panic.into_response()
    }
}

fn reads(head: &Parts) -> Result<(), Refusal> {
    if head.method == Method::GET || head.method == Method::HEAD { Ok(()) } else { Err(Refusal::Method("GET, HEAD")) }
}

fn json(status: StatusCode, body: &impl Serialize) -> Result<Response<Body>, Refusal> {
    Ok(answer(status, JSON, serde_json::to_string(body)? + "\n"))
}

fn answer(status: StatusCode, kind: HeaderValue, body: String) -> Response<Body> {
    let mut response = Response::new(Body::from(body));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, kind);
    response.headers_mut().insert(CACHE_CONTROL, NO_STORE);
    response
}

impl Refusal {
    fn into_response(self) -> Response<Body> {
        let status = match self {
            Self::Host | Self::Origin => StatusCode::FORBIDDEN,
            Self::Path => StatusCode::NOT_FOUND,
            Self::NotYet => StatusCode::SERVICE_UNAVAILABLE,
            Self::Method(_) => StatusCode::METHOD_NOT_ALLOWED,
            Self::Unwritable(_) | Self::Figures(_) | Self::Panic => StatusCode::INTERNAL_SERVER_ERROR,
        };
        let mut response = answer(status, TEXT, format!("{self}\n"));
        if let Self::Method(methods) = self {
            response.headers_mut().insert(ALLOW, HeaderValue::from_static(methods));
        }
        response
    }
}

impl From<Forbidden> for Refusal {
    fn from(what: Forbidden) -> Self {
        match what {
            Forbidden::Host => Self::Host,
            Forbidden::Origin => Self::Origin,
        }
    }
}
