//! Every answer that the HTTP layers give by themselves.

use axum::body::Body;
use http::header::{ALLOW, CONTENT_TYPE, HeaderName, HeaderValue, WWW_AUTHENTICATE};
use http::{Response, StatusCode};

use crate::failure::Failure;
use crate::limits::Limit;
use crate::mcp::body::{Code, Rejection};
use crate::mcp::guard::Forbidden;
use crate::mcp::text;
use crate::value::Value;

const JSON: HeaderValue = HeaderValue::from_static("application/json");
const TEXT: HeaderValue = HeaderValue::from_static("text/plain; charset=utf-8");
const POST: HeaderValue = HeaderValue::from_static("POST");
const CHALLENGE: HeaderValue = HeaderValue::from_static("Bearer realm=\"codemoded\"");

/// Why a request goes no further.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Refusal {
    Forbidden(Forbidden),
    WrongPath,
    Unauthenticated,
    WrongMethod,
    NotAcceptable,
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
            Self::WrongPath => StatusCode::NOT_FOUND,
            Self::Unauthenticated => StatusCode::UNAUTHORIZED,
            Self::WrongMethod => StatusCode::METHOD_NOT_ALLOWED,
            Self::NotAcceptable => StatusCode::NOT_ACCEPTABLE,
            Self::UnsupportedMediaType => StatusCode::UNSUPPORTED_MEDIA_TYPE,
            Self::TooLarge => StatusCode::PAYLOAD_TOO_LARGE,
            Self::TooSlow => StatusCode::REQUEST_TIMEOUT,
            Self::Incomplete | Self::Body(_) | Self::Version(_) => StatusCode::BAD_REQUEST,
            Self::Library(status, _) => *status,
            Self::Panic => StatusCode::INTERNAL_SERVER_ERROR,
        }
    }

    fn header(&self) -> Option<(HeaderName, HeaderValue)> {
        match self {
            Self::Unauthenticated => Some((WWW_AUTHENTICATE, CHALLENGE)),
            Self::WrongMethod => Some((ALLOW, POST)),
            Self::Forbidden(_)
            | Self::WrongPath
            | Self::NotAcceptable
            | Self::UnsupportedMediaType
            | Self::TooLarge
            | Self::TooSlow
            | Self::Incomplete
            | Self::Body(_)
            | Self::Version(_)
            | Self::Library(..)
            | Self::Panic => None,
        }
    }

    fn rejection(self) -> Option<Rejection> {
        let invalid = |message: &str| Some(Rejection::new(None, Code::InvalidRequest, message));
        match self {
            Self::Unauthenticated => None,
            Self::Forbidden(what) => invalid(&what.to_string()),
            Self::WrongPath => invalid("not found: nothing is served at this path"),
            Self::WrongMethod => invalid("method not allowed: send messages with POST"),
            Self::NotAcceptable => invalid("not acceptable: `Accept` must include `application/json`"),
            Self::UnsupportedMediaType => invalid("unsupported media type: send `application/json`, not compressed"),
            Self::TooLarge => invalid(&text(&Failure::Limit(Limit::MaxRequestBytes))),
            Self::TooSlow => invalid("the body took too long"),
            Self::Incomplete => invalid("the body broke off"),
            Self::Body(rejection) => Some(rejection),
            Self::Version(id) => {
                let message = "invalid request: unsupported `MCP-Protocol-Version`";
                Some(Rejection::new(id, Code::InvalidRequest, message))
            }
            Self::Library(status, id) if status.is_client_error() => {
                Some(Rejection::new(id, Code::InvalidRequest, "invalid request"))
            }
            Self::Library(_, id) => Some(Rejection::new(id, Code::InternalError, text(&Failure::Internal))),
            Self::Panic => Some(Rejection::new(None, Code::InternalError, text(&Failure::Internal))),
        }
    }
}

impl From<Forbidden> for Refusal {
    fn from(what: Forbidden) -> Self {
        Self::Forbidden(what)
    }
}

impl From<Rejection> for Refusal {
    fn from(rejection: Rejection) -> Self {
        Self::Body(rejection)
    }
}
