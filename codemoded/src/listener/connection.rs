//! One connection, HTTP/1.1 or HTTP/2 in clear text, from accept to close.
//!
//! A connection that is answering nothing is closed after a while, whatever it is doing instead: saying nothing,
//! sending a request's head byte by byte, or half of HTTP/2's preface. One watch over the number of requests in hand
//! covers all of these, in both versions.

use std::any::Any;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::{Body, HttpBody};
use http::header::{CONNECTION, HeaderValue};
use http::{Request, Response, Version};
use http_body_util::BodyExt;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use hyper_util::service::TowerToHyperService;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use tower_http::catch_panic::CatchPanicLayer;

use super::serving::{Answers, Times};
use crate::identity::peer::Peer;

/// An HTTP/2 peer that is gone shows by not answering a ping.
const PING: Duration = Duration::from_secs(20);

/// How long a connection that answers nothing stays when the server drains: a request that is on its way is still answered.
const LINGER: Duration = Duration::from_millis(250);

/// Requests in hand at once on one HTTP/2 connection.
const MAX_STREAMS: u32 = 100;

/// Serves one connection until it closes, is idle for too long, or has nothing in hand while the server drains.
pub(super) async fn serve(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    peer: Peer,
    times: Times,
    endpoint: Arc<impl Answers>,
    draining: CancellationToken,
) {
    let (in_hand, mut watched) = watch::channel(0_usize);
    let drained_at = draining.clone();
    let panicked = endpoint.panicked();
    let service = Router::new()
        .fallback(move |request: Request<Body>| {
            let has_no_frames = request.version() < Version::HTTP_2;
            let (endpoint, in_hand, draining) = (Arc::clone(&endpoint), InHand::new(&in_hand), draining.clone());
            async move {
                let response = answer(endpoint, in_hand, peer, request).await;
                if has_no_frames { last_if(&draining, response) } else { response }
            }
        })
        .layer(CatchPanicLayer::custom(move |_: Box<dyn Any + Send>| panicked()));
    let builder = builder();
    let connection = builder.serve_connection(TokioIo::new(stream), TowerToHyperService::new(service));
    let mut connection = std::pin::pin!(connection);
    let mut busy = watched.clone();
    let drain = async move {
        drained_at.cancelled().await;
        // A request that comes meanwhile makes this its connection's last, which its answer then says.
        drop(tokio::time::timeout(LINGER, busy.wait_for(|in_hand| *in_hand > 0)).await);
    };
    let mut drain = std::pin::pin!(drain);
    let mut drained = false;
    loop {
        tokio::select! {
            closed = connection.as_mut() => {
                if let Err(error) = closed {
                    tracing::debug!(%peer, %error, "a connection broke off");
                }
                return;
            }
            () = idle(&mut watched, times) => return,
            () = drain.as_mut(), if !drained => {
                drained = true;
                connection.as_mut().graceful_shutdown();
            }
        }
    }
}

fn builder() -> Builder<TokioExecutor> {
    let mut builder = Builder::new(TokioExecutor::new());
    builder.http1().timer(TokioTimer::new()).header_read_timeout(None);
    builder
        .http2()
        .timer(TokioTimer::new())
        .max_concurrent_streams(MAX_STREAMS)
        .keep_alive_interval(Some(PING))
        .keep_alive_timeout(PING);
    builder
}

async fn answer(endpoint: Arc<impl Answers>, in_hand: InHand, peer: Peer, request: Request<Body>) -> Response<Body> {
    let response = endpoint.answer(peer, request).await;
    // A body of known size is in memory and handed over at once; a stream is in hand until it ends.
    if response.body().size_hint().exact().is_some() {
        return response;
    }
    response.map(|body| {
        Body::new(body.map_frame(move |frame| {
            let _held = &in_hand;
            frame
        }))
    })
}

/// Where the server drains, an answer says that nothing more is taken on its connection. HTTP/2 has other words for it.
fn last_if(draining: &CancellationToken, mut response: Response<Body>) -> Response<Body> {
    if draining.is_cancelled() {
        response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
    }
    response
}

/// Returns once nothing has been in hand for the allowed time.
async fn idle(watched: &mut watch::Receiver<usize>, times: Times) {
    let mut patience = times.head;
    loop {
        let busy = *watched.borrow_and_update() > 0;
        let changed = tokio::select! {
            changed = watched.changed() => changed,
            () = tokio::time::sleep(patience), if !busy => return,
        };
        if changed.is_err() {
            // The service is gone, and with it the connection.
            return std::future::pending().await;
        }
        patience = times.idle;
    }
}

/// Counts one request for as long as it lives.
struct InHand(watch::Sender<usize>);

impl InHand {
    fn new(count: &watch::Sender<usize>) -> Self {
        count.send_modify(|count| *count += 1);
        Self(count.clone())
    }
}

impl Drop for InHand {
    fn drop(&mut self) {
        self.0.send_modify(|count| *count -= 1);
    }
}
