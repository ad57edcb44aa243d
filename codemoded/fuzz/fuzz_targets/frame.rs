//! Any bytes as the frames of either end: refused, or understood in one way only.
#![no_main]

use codemoded_fuzz::protocol::{FromWorker, HEADER_BYTES, ProtocolError, ToWorker, body_length};
use libfuzzer_sys::fuzz_target;

const MOST: usize = 1 << 20;

fuzz_target!(|bytes: &[u8]| {
    if let Ok(frame) = FromWorker::decode(bytes) {
        is_the_frame(&frame.encode(), bytes);
    }
    if let Ok(frame) = ToWorker::decode(bytes) {
        is_the_frame(&frame.encode(), bytes);
    }
    if let Some(header) = bytes.first_chunk::<HEADER_BYTES>() {
        let length = u32::from_le_bytes(*header) as usize;
        let expected = if length > MOST { Err(ProtocolError::TooLong(length)) } else { Ok(length) };
        assert_eq!(body_length(*header, MOST), expected);
    }
});

/// What was understood is all that was said.
fn is_the_frame(encoded: &[u8], body: &[u8]) {
    let (header, encoded) = encoded.split_first_chunk::<HEADER_BYTES>().expect("a frame has a header");
    assert_eq!(body_length(*header, usize::MAX), Ok(body.len()));
    assert_eq!(encoded, body);
}
