//! Changing the daemon while it runs, and who may: its own user and root, over a Unix socket. Over TCP nobody is known.

use std::fmt;

use axum::body::{Body, to_bytes};
use serde::{Deserialize, Serialize};

use super::State;
use super::endpoint::Refusal;
use crate::identity::peer::Peer;
use crate::telemetry::Directives;

/// The longest text of levels that is read.
pub(super) const MAX_LEVELS_BYTES: usize = 4_096;

/// Somebody who may change the daemon.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Operator {
    uid: u32,
}

/// What came of a reload.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reloaded {
    pub reloaded: bool,
    /// The one in force now.
    pub generation: u64,
    /// The settings that have changed and that only a restart can set.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub needs_restart: Vec<String>,
    /// The same, and what else whoever asked must know, in words.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// Why all is as it was.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reasons: Vec<String>,
}

impl Operator {
    pub(super) fn of(peer: Peer) -> Result<Self, Refusal> {
        match peer {
            Peer::Unix { uid } if uid == 0 || uid == rustix::process::geteuid().as_raw() => Ok(Self { uid }),
            Peer::Unix { uid } => {
                tracing::warn!(uid, "somebody who may not change the daemon has tried to");
                Err(Refusal::NoOperator)
            }
            Peer::Tcp(_) => Err(Refusal::NoOperator),
        }
    }
}

impl fmt::Display for Operator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "uid {}", self.uid)
    }
}

/// The levels that a request wants.
pub(super) async fn levels(body: Body) -> Result<Directives, Refusal> {
    let bytes = to_bytes(body, MAX_LEVELS_BYTES).await.map_err(|_| Refusal::Unreadable)?;
    let text = std::str::from_utf8(&bytes).map_err(|_| Refusal::Unreadable)?;
    Ok(text.trim().parse()?)
}

pub(super) async fn reload(operator: Operator, state: &State) -> Result<Reloaded, Refusal> {
    let serving = state.serving.get().ok_or(Refusal::NotYet)?;
    if state.is_draining() {
        return Err(Refusal::Stopping);
    }
    tracing::info!(by = %operator, "asked to reload");
    let outcome = serving.reloader.reload().await;
    let generation = serving.current.get().number;
    Ok(match outcome {
        Ok(made) => Reloaded {
            reloaded: true,
            generation: made.generation,
            notes: made.notes(),
            needs_restart: made.kept.into_iter().map(str::to_owned).collect(),
            reasons: Vec::new(),
        },
        Err(error) => Reloaded {
            reloaded: false,
            generation,
            needs_restart: Vec::new(),
            notes: Vec::new(),
            reasons: error.reasons(),
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_operator_is_root_or_the_daemons_own_user_on_a_unix_socket() {
        let own = rustix::process::geteuid().as_raw();
        for uid in [0, own] {
            assert_eq!(Operator::of(Peer::Unix { uid }).unwrap(), Operator { uid });
        }
        let others = [1, own + 1, u32::MAX].into_iter().filter(|uid| *uid != own);
        let strangers = others.map(|uid| Peer::Unix { uid }).chain([Peer::Tcp(([127, 0, 0, 1], 1).into())]);
        for stranger in strangers {
            assert!(matches!(Operator::of(stranger), Err(Refusal::NoOperator)), "{stranger}");
        }
    }
}
