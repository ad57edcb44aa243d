//! The real executable through its real door, one file a family of promises.
#![expect(
    clippy::expect_used,
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that finds what it does not expect fails right there"
)]

mod admin;
mod attempt;
mod audit;
mod capacity;
mod certain;
mod clients;
mod collector;
mod commands;
mod confinement;
mod conformance;
mod discover;
mod doctor;
mod errors;
mod exact;
mod fairness;
mod faulty;
mod files;
mod frames;
mod frozen;
mod generated;
mod harness;
mod hidden;
mod hostile;
mod identity;
mod inherited;
mod inspection;
mod job;
mod language;
mod limits;
mod logs;
mod metrics;
mod office;
mod packages;
mod policy;
mod project;
mod proxies;
mod reload;
mod requests;
mod scarcity;
mod sessions;
mod slow;
mod soak;
mod starlark;
mod start;
mod stdio;
mod stopping;
mod stream;
mod template;
mod tidy;
mod traces;
mod wire;
