//! What is left of a body whose request was refused before its end.
//!
//! A client, or the proxy before it, that still writes while the connection is closed sees a reset, and the answer that
//! says what was wrong is lost (RFC 9112, section 9.6). So the rest is read, and thrown away, within bounds.

use std::time::Duration;

use axum::body::Body;
use http_body_util::BodyExt;

/// A client that sends more than this will not read its answer anyway.
const MAX_BYTES: usize = 16 << 20;

/// Goes on reading while the answer is on its way.
pub(super) fn read_off(body: Body, patience: Duration) {
    tokio::spawn(tokio::time::timeout(patience, discard(body)));
}

async fn discard(mut body: Body) {
    let mut left = MAX_BYTES;
    while let Some(Ok(frame)) = body.frame().await {
        let bytes = frame.data_ref().map_or(0, bytes::Bytes::len);
        let Some(rest) = left.checked_sub(bytes) else { return };
        left = rest;
    }
}
