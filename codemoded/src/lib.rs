//! The daemon: one MCP endpoint whose tools find typed capabilities and run small programs that compose them.
//! `ARCHITECTURE.md` beside this crate says where things are and what must hold.

pub mod admin;
pub mod audit;
pub mod capability;
pub mod causes;
pub mod cli;
pub mod config;
pub mod daemon;
pub mod doctor;
pub mod failure;
pub mod file;
pub mod generation;
pub mod identity;
pub mod limits;
pub mod listener;
pub mod mcp;
pub mod metrics;
pub mod origin;
pub mod outgoing;
pub mod plugin;
pub mod policy;
pub mod position;
pub mod program;
pub mod rate;
mod rlimit;
pub mod run;
mod sealed;
pub mod supervisor;
pub mod telemetry;
pub mod text;
pub mod unit;
pub mod value;
pub mod worker;
