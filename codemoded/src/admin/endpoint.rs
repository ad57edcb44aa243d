//! The paths of the administration's listener, and what stands in front of them.

use std::sync::Arc;

use axum::body::Body;
use http::header::{ALLOW, CACHE_CONTROL, CONTENT_TYPE, HeaderValue};
use http::request::Parts;
use http::{Method, Request, Response, StatusCode};
use serde::Serialize;
use tokio::task::JoinError;

use super::control::{self, Operator};
use super::loaded::Loaded;
use super::readiness::Readiness;
use super::{BOUNDS, State};
use crate::identity::peer::Peer;
use crate::listener::Answers;
use crate::mcp::guard::{Forbidden, Guard};
use crate::metrics::Metrics;
use crate::telemetry::{InvalidDirective, LevelsError};

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
pub(super) enum Refusal {
    #[error("forbidden: this host is not one of the listener's; see the setting `admin.allowed_hosts`")]
    Host,
    #[error("forbidden: this origin is not trusted; see the setting `admin.trusted_origins`")]
    Origin,
    #[error(
        "forbidden: only root and the daemon's own user may, over a Unix socket; see the setting `admin.listen`, and the \
         command `codemoded log-level`"
    )]
    NoOperator,
    #[error(
        "not found: there are /generation, /healthz, /metrics, /readyz, and over a Unix socket /facts, /log-level, /reload"
    )]
    Path,
    #[error("method not allowed: use {0}")]
    Method(&'static str),
    #[error("the answer could not be written")]
    Unwritable(#[from] serde_json::Error),
    #[error("the first generation is being built")]
    NotYet,
    #[error("the daemon is stopping")]
    Stopping,
    #[error("the levels are no text of at most {} bytes", control::MAX_LEVELS_BYTES)]
    Unreadable,
    #[error(transparent)]
    Levels(#[from] InvalidDirective),
    #[error(transparent)]
    Unchangeable(#[from] LevelsError),
    #[error("the figures could not be written")]
    Figures(#[from] std::fmt::Error),
    #[error("answering failed inside the daemon")]
    Panic,
    #[error("what is served could not be told")]
    Untold(#[from] JoinError),
}

impl Endpoint {
    pub(super) fn new(guard: Guard, state: Arc<State>) -> Self {
        Self { guard, state }
    }

    async fn pass(&self, peer: Peer, request: Request<Body>) -> Result<Response<Body>, Refusal> {
        let (head, body) = request.into_parts();
        let head = &head;
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
            "/facts" => {
                Operator::of(peer)?;
                reads(head)?;
                let serving = self.state.serving.get().ok_or(Refusal::NotYet)?;
                json(StatusCode::OK, &serving.reloader.facts().await?)
            }
            "/log-level" => self.log_level(Operator::of(peer)?, head, body).await,
            "/reload" => self.reload(Operator::of(peer)?, head).await,
            _ => Err(Refusal::Path),
        }
    }

    async fn log_level(&self, operator: Operator, head: &Parts, body: Body) -> Result<Response<Body>, Refusal> {
        let levels = &self.state.instruments.levels;
        match head.method {
            Method::GET | Method::HEAD => {}
            Method::PUT => {
                let wanted = tokio::time::timeout(BOUNDS.times.body, control::levels(body)).await;
                levels.set(wanted.map_err(|_| Refusal::Unreadable)??, &operator.to_string())?;
            }
            _ => return Err(Refusal::Method("GET, HEAD, PUT")),
        }
        Ok(answer(StatusCode::OK, TEXT, format!("{}\n", levels.now())))
    }

    async fn reload(&self, operator: Operator, head: &Parts) -> Result<Response<Body>, Refusal> {
        if head.method != Method::POST {
            return Err(Refusal::Method("POST"));
        }
        let reloaded = control::reload(operator, &self.state).await?;
        let status = if reloaded.reloaded { StatusCode::OK } else { StatusCode::UNPROCESSABLE_ENTITY };
        json(status, &reloaded)
    }
}

impl Answers for Endpoint {
    async fn answer(&self, peer: Peer, request: Request<Body>) -> Response<Body> {
        self.pass(peer, request).await.unwrap_or_else(Refusal::into_response)
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
            Self::Host | Self::Origin | Self::NoOperator => StatusCode::FORBIDDEN,
            Self::Path => StatusCode::NOT_FOUND,
            Self::NotYet | Self::Stopping => StatusCode::SERVICE_UNAVAILABLE,
            Self::Unreadable | Self::Levels(_) => StatusCode::BAD_REQUEST,
            Self::Method(_) => StatusCode::METHOD_NOT_ALLOWED,
            Self::Unwritable(_) | Self::Figures(_) | Self::Unchangeable(_) | Self::Untold(_) | Self::Panic => {
                StatusCode::INTERNAL_SERVER_ERROR
            }
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
