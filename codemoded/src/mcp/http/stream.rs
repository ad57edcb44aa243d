//! An answer as a stream of events, for whoever would otherwise wait in silence.
//!
//! Proxies close what is silent, and some hold back even the head of an answer until its first byte. So a stream opens
//! with a comment and repeats it while there is nothing else to say.

use std::time::Duration;

use axum::body::Body;
use bytes::Bytes;
use futures_util::future::BoxFuture;
use futures_util::stream::{self, StreamExt};
use http::header::{CACHE_CONTROL, CONTENT_TYPE, HeaderName, HeaderValue};
use http::{HeaderMap, Response};
use http_body_util::BodyExt;
use tokio::time::{Instant, Interval, MissedTickBehavior, interval_at};

/// How long a client may wait before its answer becomes a stream.
const PATIENCE: Duration = Duration::from_secs(2);

/// Well below what proxies and clients take for death: a minute at most of them, and two at the slowest.
const COMMENT_EVERY: Duration = Duration::from_secs(15);

/// An event stream's line that means nothing.
const COMMENT: Bytes = Bytes::from_static(b":\n\n");

const EVENT_STREAM: HeaderValue = HeaderValue::from_static("text/event-stream");

/// The answer to come. Dropping it is the client's going away.
pub(super) type Answering = BoxFuture<'static, Response<Body>>;

/// The answer as it is where it comes soon, as a stream where it takes long or is one already.
pub(super) async fn soon_or_streamed(mut answering: Answering) -> Response<Body> {
    match tokio::time::timeout(PATIENCE, &mut answering).await {
        Ok(response) if is_stream(response.headers()) => streamed(Source::Sending(response.into_body())),
        Ok(response) => response,
        Err(_) => streamed(Source::Waiting(answering)),
    }
}

/// A stream that says nothing and ends with `ending`.
pub(super) fn silent(ending: impl Future<Output = ()> + Send + 'static) -> Response<Body> {
    streamed(Source::Waiting(Box::pin(async {
        ending.await;
        closed()
    })))
}

/// A stream that has ended already.
pub(super) fn closed() -> Response<Body> {
    let mut response = Response::default();
    response.headers_mut().insert(CONTENT_TYPE, EVENT_STREAM);
    response
}

/// Where a stream's events come from.
enum Source {
    Waiting(Answering),
    Sending(Body),
}

struct Events {
    source: Source,
    comments: Interval,
}

fn streamed(source: Source) -> Response<Body> {
    let mut comments = interval_at(Instant::now() + COMMENT_EVERY, COMMENT_EVERY);
    comments.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let opening = stream::once(std::future::ready(Ok(COMMENT)));
    let events = stream::unfold(Events { source, comments }, |mut events| async {
        let bytes = events.next().await?;
        Some((Ok::<_, axum::Error>(bytes), events))
    });
    let mut response = Response::new(Body::from_stream(opening.chain(events)));
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, EVENT_STREAM);
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    // Some proxies collect an answer before they pass it on, unless they are told.
    headers.insert(HeaderName::from_static("x-accel-buffering"), HeaderValue::from_static("no"));
    response
}

impl Events {
    /// What there is to say, or a comment where there was nothing for a while.
    async fn next(&mut self) -> Option<Bytes> {
        tokio::select! {
            biased;
            _ = self.comments.tick() => Some(COMMENT),
            bytes = self.source.next() => {
                self.comments.reset();
                bytes
            }
        }
    }
}

impl Source {
    /// Dropping the future loses nothing.
    async fn next(&mut self) -> Option<Bytes> {
        loop {
            match self {
                Self::Waiting(answering) => *self = Self::Sending(as_events(answering.await)),
                Self::Sending(body) => match body.frame().await?.ok()?.into_data() {
                    Ok(bytes) => return Some(bytes),
                    Err(_trailers) => {}
                },
            }
        }
    }
}

/// A JSON answer becomes one event.
fn as_events(response: Response<Body>) -> Body {
    let (head, body) = response.into_parts();
    if is_stream(&head.headers) {
        return body;
    }
    // JSON as it is written here has no line breaks, so it is one line of an event.
    Body::from_stream(stream::once(async {
        let json = body.collect().await?.to_bytes();
        Ok::<_, axum::Error>(Bytes::from([&b"data: "[..], &json, b"\n\n"].concat()))
    }))
}

pub(super) fn is_stream(headers: &HeaderMap) -> bool {
    headers.get(CONTENT_TYPE).is_some_and(|kind| kind == EVENT_STREAM)
}
