//! How workers are started, and how strictly they are confined.

use super::raw;
use crate::worker::Start;

/// The workers' settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Workers {
    /// How many are kept started ahead of need.
    pub ready: usize,
    pub start: Start,
    pub sandbox: Sandbox,
}

/// What becomes of a confinement that the kernel does not give.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sandbox {
    /// The daemon does not start without all of it.
    Require,
    /// What is missing is logged once.
    #[default]
    Prefer,
    /// Workers do not confine themselves.
    DangerOff,
}

impl std::fmt::Display for Sandbox {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Require => "require",
            Self::Prefer => "prefer",
            Self::DangerOff => "danger_off",
        })
    }
}

impl Default for Workers {
    fn default() -> Self {
        Self { ready: 2, start: Start::default(), sandbox: Sandbox::default() }
    }
}

pub(super) fn check(raw: &raw::Workers) -> Workers {
    let default = Workers::default();
    Workers {
        ready: raw.ready.map_or(default.ready, Into::into),
        start: raw.start.unwrap_or(default.start),
        sandbox: raw.sandbox.unwrap_or(default.sandbox),
    }
}
