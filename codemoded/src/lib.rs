//! The daemon: one MCP endpoint whose tools find typed capabilities and run small programs that compose them.
//! `ARCHITECTURE.md` beside this crate says where things are and what must hold.

pub mod config;
pub mod failure;
pub mod identity;
pub mod limits;
pub mod value;
