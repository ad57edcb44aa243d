//! Why a plugin cannot serve, in one line that an operator can act on.

use std::fmt;
use std::path::PathBuf;

use codemode_plugin_api::document::{ErrorDocument, ErrorKind};
use serde::{Deserialize, Serialize};

/// One reason why the plugins of a configuration cannot all serve.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{at}: plugin `{instance}`: `{}` {reason}", library.display())]
pub struct PluginFault {
    /// Where the configuration says what is wrong, such as `plugins[0].config.database`.
    pub at: String,
    /// The instance's name.
    pub instance: String,
    /// The library's path.
    pub library: PathBuf,
    pub reason: Reason,
}

/// What is wrong; read after the library's path. It crosses from the child process that found it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reason {
    #[error("does not exist")]
    Missing,
    #[error("cannot be read: {0}")]
    Unreadable(String),
    #[error("is no regular file")]
    NoFile,
    #[error("{0}")]
    Exposed(Exposure),
    #[error("cannot be copied to memory: {0}")]
    NoCopy(String),
    #[error("cannot be loaded: {0}")]
    Unloadable(String),
    #[error("is no codemode plugin: it exports no `codemode_plugin_abi`")]
    NoPlugin,
    #[error(
        "is built for plugin ABI {found}, and this daemon has ABI {expected}: build it with a plugin API of that ABI"
    )]
    OtherAbi { found: u32, expected: u32 },
    #[error("claims plugin ABI 1 and has another layout: build it with an unmodified plugin API")]
    OtherLayout,
    #[error("does not say what it offers: {0}")]
    NoDescription(String),
    #[error("panicked {phase}: {message}")]
    Panicked { phase: Phase, message: String },
    #[error("has a schema of settings that is none: {0}")]
    SettingsSchema(String),
    #[error("does not accept this setting: {0}")]
    Setting(String),
    #[error("did not start: {0}")]
    NotStarted(String),
    #[error("crashed {phase}: {signal}")]
    Crashed { phase: Phase, signal: String },
    #[error("ended its process {phase}, with status {status}")]
    Exited { phase: Phase, status: i32 },
    #[error("did not come back within {seconds} s {phase}")]
    TimedOut { phase: Phase, seconds: u64 },
    #[error("cannot be tried in a child process: {0}")]
    NoChild(String),
    #[error("is not looked at, because the child process that would load it cannot be confined: {0}")]
    NotConfined(String),
    #[error("has {0} bytes, and {max} are the most", max = super::image::MAX_BYTES)]
    TooLarge(u64),
    #[error("is configured under the name {0:?}: an instance's name is 1 to 64 letters, digits, `_` and `-`")]
    BadName(String),
    #[error("is configured under the name `{0}` twice: give each instance its own")]
    SameName(String),
}

/// Who but root and the daemon's user could change what would be loaded, and how to mend it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Exposure {
    #[error("may be written by others than its owner: mend it with `chmod go-w {}`", .0.display())]
    FileMode(PathBuf),
    #[error("lies in a folder that others than its owner may write: mend it with `chmod go-w {}`", .0.display())]
    FolderMode(PathBuf),
    #[error("belongs to user {owner}, who is neither root nor the daemon's user: mend it with `chown {user} {}`", path.display())]
    FileOwner { path: PathBuf, owner: u32, user: u32 },
    #[error("lies in a folder of user {owner}, who is neither root nor the daemon's user: mend it with `chown {user} {}`", path.display())]
    FolderOwner { path: PathBuf, owner: u32, user: u32 },
}

/// How far the child process had come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    Enter,
    Load,
    Describe,
    Settings,
    Start,
    Stop,
}

/// A reason, and the key of the settings that it concerns, as the path below `config`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Refusal {
    pub(super) key: Option<String>,
    pub(super) reason: Reason,
}

impl Reason {
    /// Why an instance did not start, as its library says.
    pub(super) fn not_started(error: ErrorDocument) -> Self {
        if error.kind == ErrorKind::Panic {
            return Self::Panicked { phase: Phase::Start, message: error.message };
        }
        Self::NotStarted(error.message)
    }

    /// Why a library did not describe itself, as it says.
    pub(super) fn not_described(error: ErrorDocument) -> Self {
        if error.kind == ErrorKind::Panic {
            return Self::Panicked { phase: Phase::Describe, message: error.message };
        }
        Self::NoDescription(error.message)
    }
}

impl From<Reason> for Refusal {
    fn from(reason: Reason) -> Self {
        Self { key: None, reason }
    }
}

impl fmt::Display for Phase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Enter => "before it was loaded",
            Self::Load => "while it was loaded",
            Self::Describe => "while it was asked what it offers",
            Self::Settings => "while its settings were checked",
            Self::Start => "while it was started",
            Self::Stop => "while it was stopped",
        })
    }
}
