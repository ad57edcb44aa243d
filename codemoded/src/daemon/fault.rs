//! Why a daemon, or its next generation, cannot be built.

use std::error::Error;
use std::io;

use super::probe::PROBE_TIME;
use crate::capability::Id;
use crate::capability::catalog::CatalogFault;
use crate::causes::reasons;
use crate::generation::GenerationError;
use crate::identity::SubjectId;
use crate::identity::jwt::KeysFault;
use crate::identity::plugin::NoAuthenticator;
use crate::identity::tokens::TokenFileError;
use crate::listener::ListenError;
use crate::plugin::PluginFault;
use crate::policy::{PolicyError, PolicyFailure};
use crate::worker::WorkerFault;

/// Why the daemon does not start, or keeps the generation that it has. Each fault is one line.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// What is wrong in parts that do not depend on each other.
    #[error("{}", lines(.0))]
    Several(Vec<StartError>),
    #[error("{}", lines(.0))]
    Plugins(Vec<PluginFault>),
    #[error("{}", lines(.0))]
    Catalog(Vec<CatalogFault>),
    #[error("{}", lines(.0))]
    Policy(Vec<PolicyError>),
    #[error("cannot build the generation")]
    Generation(#[from] GenerationError),
    #[error("building the generation panicked")]
    Panicked(#[source] tokio::task::JoinError),
    #[error("cannot start the thread that starts workers")]
    Spawner(#[source] io::Error),
    #[error("the probe run failed")]
    Probe(#[source] WorkerFault),
    #[error("the probe run did not return what it must")]
    WrongProbe,
    #[error("the probe run did not end within {} seconds", PROBE_TIME.as_secs())]
    ProbeTime,
    #[error("policy: it does not decide about a probe")]
    NoDecision(#[source] PolicyFailure),
    #[error("plugin `{instance}` says that it is not well: {said}")]
    Unwell { instance: String, said: String },
    #[error("workers.sandbox: this system cannot confine workers as required: no {0}")]
    Sandbox(String),
    #[error("identity.jwks_file: there are no keys to check tokens with")]
    Keys(#[from] KeysFault),
    #[error("identity.tokens_file: the tokens cannot be used")]
    Tokens(#[from] TokenFileError),
    #[error("identity.plugin: no plugin instance has the name `{0}`")]
    NoPlugin(String),
    #[error("identity.plugin")]
    NoAuthenticator(#[from] NoAuthenticator),
    #[error("{}", lines(.0))]
    Audit(Vec<UnknownToAudit>),
    #[error("server.listen: nothing can be heard")]
    Listen(#[from] ListenError),
    #[error("admin.listen: nothing can be heard")]
    Admin(#[source] ListenError),
    #[error(
        "identity.mode: `static` would let everyone who reaches {url} be `{subject}`; hand over a Unix socket or one on \
         a loopback address, or set `identity.danger_allow_non_loopback = true`"
    )]
    OpenToAll { url: String, subject: SubjectId },
}

/// A capability whose arguments the audit shall treat in its own way, and that is not there: most likely a slip, and
/// then another's arguments are kept that should not be.
#[derive(Debug, thiserror::Error)]
#[error("audit.arguments_of: no capability has the ID `{0}`")]
pub struct UnknownToAudit(pub(super) Id);

impl StartError {
    /// One error of those that there are; nothing where there are none.
    pub(super) fn of_all(faults: impl IntoIterator<Item = Option<Self>>) -> Result<(), Self> {
        let mut faults: Vec<_> = faults.into_iter().flatten().collect();
        match faults.len() {
            0 => Ok(()),
            1 => faults.pop().map_or(Ok(()), Err),
            _ => Err(Self::Several(faults)),
        }
    }
}

fn lines<T: Error>(faults: &[T]) -> String {
    faults.iter().flat_map(|fault| reasons(fault)).collect::<Vec<_>>().join("\n")
}
