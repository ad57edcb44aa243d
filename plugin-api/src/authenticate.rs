//! Saying who sent a request: the author's side of an authenticator.

use std::error::Error;
use std::fmt;
use std::time::{Duration, Instant};

use serde::Serialize;
use serde_json::value::{RawValue, to_raw_value};

use crate::capabilities::Outcome;
use crate::document::{AuthenticateAnswer, AuthenticateRequest, ErrorDocument, ErrorKind};
use crate::error::with_causes;

/// The head of a request whose sender is to be made out. Credentials are in here: do not log it.
pub struct RequestHead {
    document: AuthenticateRequest,
    deadline: Instant,
}

/// Who is calling, and what the policy may know of them.
#[derive(Debug)]
pub struct Caller {
    id: String,
    claims: Result<Box<RawValue>, serde_json::Error>,
}

/// Why nobody was made out. Any [`std::error::Error`] becomes a [`Refusal::Failed`] by `?`.
pub enum Refusal {
    /// The request holds no credential; the client is asked for one.
    NoCredential,
    /// The request holds a credential that does not count.
    BadCredential,
    /// It cannot be told at the moment; the client is asked to come back. The text is not logged by the daemon, since
    /// it may hold what was sent.
    Failed(String),
}

pub(crate) type Authenticator<P> = dyn Fn(&P, &RequestHead) -> Result<Caller, Refusal> + Send + Sync;

impl RequestHead {
    /// A head as the daemon would hand it over, for a plugin's own tests.
    ///
    /// ```
    /// let head = codemode_plugin_api::RequestHead::new(&[("authorization", "Bearer abc")]);
    /// assert_eq!(head.bearer(), Some("abc"));
    /// ```
    pub fn new(headers: &[(&str, &str)]) -> Self {
        let headers = headers.iter().map(|(name, value)| (name.to_ascii_lowercase(), (*value).to_owned())).collect();
        Self::of(AuthenticateRequest {
            method: "POST".to_owned(),
            target: "/mcp".to_owned(),
            headers,
            peer: "127.0.0.1:1".to_owned(),
            deadline_ms: 2_000,
        })
    }

    pub(crate) fn of(document: AuthenticateRequest) -> Self {
        let deadline = Instant::now() + Duration::from_millis(document.deadline_ms).min(Duration::from_hours(1));
        Self { document, deadline }
    }

    /// The method, in capitals.
    pub fn method(&self) -> &str {
        &self.document.method
    }

    /// Path and query.
    pub fn target(&self) -> &str {
        &self.document.target
    }

    /// Who is connected: an address and port, or `uid:NUMBER` on a Unix socket. Behind a proxy, that is the proxy.
    pub fn peer(&self) -> &str {
        &self.document.peer
    }

    /// All headers, as they came.
    pub fn headers(&self) -> impl Iterator<Item = (&str, &str)> {
        self.document.headers.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }

    /// The value of a header that came exactly once: of two copies, one is somebody else's.
    pub fn header(&self, name: &str) -> Option<&str> {
        let mut values = self.headers().filter(|(own, _)| own.eq_ignore_ascii_case(name)).map(|(_, value)| value);
        values.next().filter(|_| values.next().is_none())
    }

    /// The token of `Authorization: Bearer TOKEN`.
    pub fn bearer(&self) -> Option<&str> {
        let (scheme, token) = self.header("authorization")?.split_once(' ')?;
        (scheme.eq_ignore_ascii_case("bearer") && !token.contains([' ', ','])).then_some(token)
    }

    /// When the daemon stops waiting.
    pub fn deadline(&self) -> Instant {
        self.deadline
    }
}

impl Caller {
    /// Somebody with a stable, non-secret name, and no claims.
    pub fn new(id: impl Into<String>) -> Self {
        Self { id: id.into(), claims: to_raw_value(&serde_json::Map::new()) }
    }

    /// What the policy sees as `input.subject.claims`: anything that serialises as an object.
    #[must_use]
    pub fn claims(mut self, claims: &impl Serialize) -> Self {
        self.claims = to_raw_value(claims);
        self
    }
}

impl<E: Error> From<E> for Refusal {
    fn from(error: E) -> Self {
        Self::Failed(with_causes(&error))
    }
}

impl fmt::Debug for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NoCredential => "NoCredential",
            Self::BadCredential => "BadCredential",
            Self::Failed(_) => "Failed",
        })
    }
}

impl fmt::Debug for RequestHead {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RequestHead")
            .field("method", &self.method())
            .field("peer", &self.peer())
            .finish_non_exhaustive()
    }
}

/// Asks an authenticator, and writes its answer.
pub(crate) fn authenticate<P>(plugin: &P, authenticator: &Authenticator<P>, request: &[u8]) -> Outcome {
    let document = serde_json::from_slice(request)
        .map_err(|_| ErrorDocument::new(ErrorKind::Arguments, "the request's head cannot be read"))?;
    let private = |text: String| ErrorDocument::new(ErrorKind::Private, text);
    let answer = match authenticator(plugin, &RequestHead::of(document)) {
        Ok(Caller { id, claims }) => {
            let claims = claims.map_err(|error| private(format!("the claims cannot be written: {error}")))?;
            AuthenticateAnswer::Caller { id, claims }
        }
        Err(Refusal::NoCredential) => AuthenticateAnswer::NoCredential,
        Err(Refusal::BadCredential) => AuthenticateAnswer::BadCredential,
        Err(Refusal::Failed(text)) => return Err(private(text)),
    };
    serde_json::to_vec(&answer).map_err(|error| private(error.to_string()))
}
