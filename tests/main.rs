//! The real executable through its real door, one file a family of promises.
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::string_slice,
    reason = "a test that finds what it does not expect fails right there"
)]

mod harness;
mod job;
mod tidy;
