//! An answer in a session: it is carried to its end whether or not the client still listens.

use axum::body::Body;
use bytes::Bytes;
use futures_util::stream;
use http::Response;
use http_body_util::BodyExt;
use tokio::sync::{mpsc, oneshot};

use super::sessions::Flight;
use super::stream::{Answering, is_stream};

/// Pieces of an answer that may wait for a slow client.
const MAX_WAITING: usize = 16;

/// The answer, which goes on without its listener and ends early where it is called off: then, if nothing of it has
/// been sent yet, `called_off` takes its place.
pub(super) fn carried(answering: Answering, flight: Flight, called_off: Response<Body>) -> Answering {
    let (reply, replied) = oneshot::channel();
    tokio::spawn(async move {
        tokio::select! {
            biased;
            // Dropping the answer ends what makes it.
            () = flight.called_off() => {}
            () = carry(answering, reply) => {}
        }
    });
    Box::pin(async { replied.await.unwrap_or(called_off) })
}

/// Nobody may be there to take the answer; it is made all the same.
async fn carry(answering: Answering, reply: oneshot::Sender<Response<Body>>) {
    let (head, mut body) = answering.await.into_parts();
    if !is_stream(&head.headers) {
        let _ = reply.send(Response::from_parts(head, body));
        return;
    }
    let (pieces, received) = mpsc::channel(MAX_WAITING);
    let received = stream::unfold(received, |mut received: mpsc::Receiver<Bytes>| async {
        let piece = received.recv().await?;
        Some((Ok::<_, axum::Error>(piece), received))
    });
    let _ = reply.send(Response::from_parts(head, Body::from_stream(received)));
    while let Some(Ok(frame)) = body.frame().await {
        if let Ok(piece) = frame.into_data() {
            let _ = pieces.send(piece).await;
        }
    }
}
