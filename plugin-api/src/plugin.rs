//! What an author implements.

use std::error::Error;
use std::fmt;
use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::capabilities::Capabilities;
use crate::document::HostDocument;
use crate::error::{CapabilityError, with_causes};

/// A plugin: what it is configured with, how an instance starts, and what instances can do.
///
/// One library may be configured several times: each instance has its own settings and is a value of this type. It is
/// shared by all calls, which run at the same time on several threads, so what changes needs its own lock. An instance
/// is dropped after its last call ended. Everything is wrapped so that a panic is an error of the one call or start.
///
/// ```
/// use codemode_plugin_api::prelude::*;
///
/// struct Clock;
///
/// impl Plugin for Clock {
///     type Settings = NoSettings;
///
///     fn start(_: NoSettings, _: &Host) -> Result<Self, StartError> {
///         Ok(Clock)
///     }
///
///     fn capabilities(c: &mut Capabilities<Self>) {
///         c.add("clock.seconds", seconds).summary("Seconds since 1970.").read_only();
///     }
/// }
///
/// fn seconds(_: &Clock, _: &Call, _: NoArguments) -> Result<u64, CapabilityError> {
///     Ok(std::time::UNIX_EPOCH.elapsed()?.as_secs())
/// }
/// # fn main() {}
/// ```
pub trait Plugin: Sized + Send + Sync + 'static {
    /// What an operator writes in `[plugins.config]`. Its schema is checked by the daemon before `start`, so that a
    /// wrong key is reported with its place; unknown keys are refused. Doc comments become the keys' descriptions.
    type Settings: DeserializeOwned + JsonSchema;

    /// Starts an instance. The daemon does this twice for each of its own starts: first in a child process, where a
    /// crash does no harm, then in its own. It waits ten seconds.
    fn start(settings: Self::Settings, host: &Host) -> Result<Self, StartError>;

    /// Says what every instance offers. It is called more than once and must say the same each time.
    fn capabilities(capabilities: &mut Capabilities<Self>);

    /// Whether the instance can do its work now, for the daemon's health page. The message of an error goes to the
    /// operator.
    fn health(&self) -> Result<(), CapabilityError> {
        Ok(())
    }
}

/// What the daemon tells an instance that starts.
#[derive(Clone, Debug)]
pub struct Host(HostDocument);

impl Host {
    /// As the daemon would describe itself, for a plugin's own tests.
    pub fn new(instance: &str, folder: &Path) -> Self {
        Self(HostDocument { instance: instance.to_owned(), folder: folder.to_owned(), version: String::new() })
    }

    pub(crate) fn of(document: HostDocument) -> Self {
        Self(document)
    }

    /// The name under which this instance is configured.
    pub fn instance(&self) -> &str {
        &self.0.instance
    }

    /// A path from the settings as the operator meant it: relative to the folder of the configuration file.
    ///
    /// ```
    /// use std::path::Path;
    /// let host = codemode_plugin_api::Host::new("records", Path::new("/etc/codemode"));
    /// assert_eq!(host.resolve("records.db"), Path::new("/etc/codemode/records.db"));
    /// assert_eq!(host.resolve("/var/records.db"), Path::new("/var/records.db"));
    /// ```
    pub fn resolve(&self, path: impl AsRef<Path>) -> PathBuf {
        self.0.folder.join(path)
    }

    /// The daemon's version; empty where it does not say.
    pub fn version(&self) -> &str {
        &self.0.version
    }
}

/// Why an instance cannot start: the operator reads it after the library's path. Any [`std::error::Error`] becomes one
/// by `?`, with its causes.
pub struct StartError(String);

impl StartError {
    /// A reason, lowercase and without a full stop.
    pub fn new(message: impl Into<String>) -> Self {
        Self(message.into())
    }
}

impl<E: Error> From<E> for StartError {
    fn from(error: E) -> Self {
        Self(with_causes(&error))
    }
}

impl fmt::Display for StartError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for StartError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("StartError").field(&self.0).finish()
    }
}

/// The settings of a plugin that has none.
#[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NoSettings {}

/// The input of a capability that takes no arguments.
#[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NoArguments {}
