//! The modules of `codemoded` that read what others wrote, taken from its sources one by one, and a daemon to talk to.

mod daemon;

#[path = "../../src"]
mod source {
    pub mod limits;
    #[path = "worker/protocol.rs"]
    pub mod protocol;
    pub mod value;
}

pub use daemon::Daemon;
pub use source::{limits, protocol, value};
