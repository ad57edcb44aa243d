//! Every answer that the HTTP layers give by themselves.

use axum::body::Body;
use http::header::{ALLOW, CONTENT_TYPE, HeaderName, HeaderValue, RETRY_AFTER, WWW_AUTHENTICATE};
use http::{Response, StatusCode};

use crate::failure::Failure;
use crate::limits::Limit;
use crate::mcp::body::{Code, Rejection};
use crate::mcp::guard::Forbidden;
use crate::mcp::text;
use crate::rate::TooMany;
use crate::value::Value;

const JSON: HeaderValue = HeaderValue::from_static("application/json");
const TEXT: HeaderValue = HeaderValue::from_static("text/plain; charset=utf-8");
const METHODS: HeaderValue = HeaderValue::from_static("POST");
const METHODS_OF_SESSIONS: HeaderValue = HeaderValue::from_static("GET, POST, DELETE");
/// Seconds after which an identity that could not be decided may be.
const RETRY_UNDECIDED: HeaderValue = HeaderValue::from_static("30");

/// Why a request goes no further.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Refusal {
    Forbidden(Forbidden),
    WrongPath,
    /// With what the client is told of getting a credential.
    Unauthenticated(HeaderValue),
    /// The credential is good, but not for this.
    Insufficient(HeaderValue),
    /// Whether the credential is good cannot be told at the moment.
    Undecided,
    TooMany(TooMany),
    WrongMethod {
        /// Whether there are sessions, which know further methods.
        sessions: bool,
    },
    NotAcceptable,
    /// A stream of events is all that there is to have.
    NotStreamable,
    UnsupportedMediaType,
    TooLarge,
    /// The body did not arrive in time.
    TooSlow,
    /// The body broke off.
    Incomplete,
    /// The body is no message that is served.
    Body(Rejection),
    /// The header names a revision that is not served.
    Version(Option<Value>),
    /// The protocol library answered with an error of its own, in its own words.
    Library(StatusCode, Option<Value>),
    /// Unknown, over, or somebody else's.
    NoSession,
    /// The request makes sense in a session only.
    SessionMissing,
    TooManySessions(Option<Value>),
    /// In its session, a request with this ID is still being answered.
    IdInUse(Option<Value>),
    /// The client called its own request off.
    CalledOff(Option<Value>),
    /// Answering panicked.
    Panic,
}

impl Refusal {
    pub(super) fn into_response(self) -> Response<Body> {
        let status = self.status();
        let extra = self.header();
        let (kind, body) = match self.rejection() {
            Some(rejection) => (JSON, rejection.to_json()),
            // The same bytes whatever the reason: it is for the host's log alone.
            None => (TEXT, text(&Failure::Unauthenticated)),
        };
        let mut response = Response::new(Body::from(body));
        *response.status_mut() = status;
        response.headers_mut().insert(CONTENT_TYPE, kind);
        response.headers_mut().extend(extra);
        response
    }

    fn status(&self) -> StatusCode {
        match self {
            Self::Forbidden(_) => StatusCode::FORBIDDEN,
            Self::WrongPath | Self::NoSession => StatusCode::NOT_FOUND,
            Self::Unauthenticated(_) => StatusCode::UNAUTHORIZED,
            Self::Insufficient(_) => StatusCode::FORBIDDEN,
            Self::Undecided => StatusCode::SERVICE_UNAVAILABLE,
            Self::TooMany(_) => StatusCode::TOO_MANY_REQUESTS,
            Self::WrongMethod { .. } => StatusCode::METHOD_NOT_ALLOWED,
            Self::NotAcceptable | Self::NotStreamable => StatusCode::NOT_ACCEPTABLE,
            Self::UnsupportedMediaType => StatusCode::UNSUPPORTED_MEDIA_TYPE,
            Self::TooLarge => StatusCode::PAYLOAD_TOO_LARGE,
            Self::TooSlow => StatusCode::REQUEST_TIMEOUT,
            Self::Incomplete | Self::Body(_) | Self::Version(_) | Self::SessionMissing | Self::IdInUse(_) => {
                StatusCode::BAD_REQUEST
            }
            Self::TooManySessions(_) => StatusCode::SERVICE_UNAVAILABLE,
            Self::CalledOff(_) => StatusCode::OK,
            Self::Library(status, _) => *status,
            Self::Panic => StatusCode::INTERNAL_SERVER_ERROR,
        }
    }

    fn header(&self) -> Option<(HeaderName, HeaderValue)> {
        match self {
            Self::Unauthenticated(challenge) | Self::Insufficient(challenge) => {
                Some((WWW_AUTHENTICATE, challenge.clone()))
            }
            Self::Undecided => Some((RETRY_AFTER, RETRY_UNDECIDED)),
            // A second early is one refusal more.
            Self::TooMany(TooMany { wait }) => Some((RETRY_AFTER, (wait.as_secs() + 1).into())),
            Self::WrongMethod { sessions: true } => Some((ALLOW, METHODS_OF_SESSIONS)),
            Self::WrongMethod { sessions: false } => Some((ALLOW, METHODS)),
            Self::Forbidden(_)
            | Self::WrongPath
            | Self::NotAcceptable
            | Self::NotStreamable
            | Self::UnsupportedMediaType
            | Self::TooLarge
            | Self::TooSlow
            | Self::Incomplete
            | Self::Body(_)
            | Self::Version(_)
            | Self::Library(..)
            | Self::NoSession
            | Self::SessionMissing
            | Self::TooManySessions(_)
            | Self::IdInUse(_)
            | Self::CalledOff(_)
            | Self::Panic => None,
        }
    }

    fn rejection(self) -> Option<Rejection> {
        let invalid_request = |id, message: &str| Some(Rejection::new(id, Code::InvalidRequest, message));
        let invalid = |message: &str| invalid_request(None, message);
        match self {
            Self::Unauthenticated(_) => None,
            Self::Insufficient(_) => invalid("insufficient scope"),
            Self::Undecided => Some(Rejection::new(None, Code::InternalError, text(&Failure::Internal))),
            Self::TooMany(_) => invalid("too many requests: come back after `Retry-After`"),
            Self::Forbidden(what) => invalid(&what.to_string()),
            Self::WrongPath => invalid("not found: nothing is served at this path"),
            Self::WrongMethod { .. } => invalid("method not allowed: send messages with POST"),
            Self::NotAcceptable => invalid("not acceptable: `Accept` must include `application/json`"),
            Self::NotStreamable => invalid("not acceptable: `Accept` must include `text/event-stream`"),
            Self::UnsupportedMediaType => invalid("unsupported media type: send `application/json`, not compressed"),
            Self::TooLarge => invalid(&text(&Failure::Limit(Limit::MaxRequestBytes))),
            Self::TooSlow => invalid("the body took too long"),
            Self::Incomplete => invalid("the body broke off"),
            Self::Body(rejection) => Some(rejection),
            Self::Version(id) => invalid_request(id, "invalid request: unsupported `MCP-Protocol-Version`"),
            Self::Library(status, id) if status.is_client_error() => invalid_request(id, "invalid request"),
            Self::Library(_, id) => Some(Rejection::new(id, Code::InternalError, text(&Failure::Internal))),
            Self::NoSession => invalid("not found: no such session; start a new one with `initialize`"),
            Self::SessionMissing => invalid("invalid request: `Mcp-Session-Id` is missing"),
            Self::TooManySessions(id) => invalid_request(id, "too many sessions are open; try again later"),
            Self::IdInUse(id) => {
                invalid_request(id, "invalid request: a request with this `id` is still being answered")
            }
            Self::CalledOff(id) => Some(Rejection::new(id, Code::InternalError, text(&Failure::Cancelled))),
            Self::Panic => Some(Rejection::new(None, Code::InternalError, text(&Failure::Internal))),
        }
    }
}

impl From<Forbidden> for Refusal {
    fn from(what: Forbidden) -> Self {
        Self::Forbidden(what)
    }
}

impl From<TooMany> for Refusal {
    fn from(too_many: TooMany) -> Self {
        Self::TooMany(too_many)
    }
}

impl From<Rejection> for Refusal {
    fn from(rejection: Rejection) -> Self {
        Self::Body(rejection)
    }
}
