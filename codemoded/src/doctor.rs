//! What this host gives the daemon that a configuration describes: one finding a thing, each fault with its mend.
//!
//! Everything is tried and not guessed: addresses are bound, a worker is started and confined, each plugin is started in
//! a child, the policy is asked. Nothing of it serves anybody, and nothing is left behind.

mod callers;
mod clock;
mod files;
mod homes;
mod host;
mod listening;
mod loaded;
mod table;
mod workers;
mod written;

pub use table::Table;
pub use written::no_place;

use serde::Serialize;

use crate::causes::with_causes;
use crate::config::{Config, ConfigFault};
use crate::unit;

/// One thing that was looked at.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// What was looked at, in a word or two.
    pub what: String,
    pub severity: Severity,
    /// What is so.
    pub found: String,
    /// What to do about it, where something is to be done.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mend: Option<String>,
}

/// How bad it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    Ok,
    /// It serves, and not as well or as safely as it could.
    Warning,
    /// It does not start, or does not serve.
    Fault,
}

impl Finding {
    fn ok(what: impl Into<String>, found: impl Into<String>) -> Self {
        Self { what: what.into(), severity: Severity::Ok, found: found.into(), mend: None }
    }

    fn warning(what: impl Into<String>, found: impl Into<String>, mend: impl Into<String>) -> Self {
        Self { what: what.into(), severity: Severity::Warning, found: found.into(), mend: Some(mend.into()) }
    }

    fn fault(what: impl Into<String>, found: impl Into<String>, mend: impl Into<String>) -> Self {
        Self { what: what.into(), severity: Severity::Fault, found: found.into(), mend: Some(mend.into()) }
    }
}

/// Looks at everything, in the order in which a start would need it.
pub async fn examine(config: &Config) -> Vec<Finding> {
    let file = config.origin.file().to_owned();
    // Without an answer there is no unit.
    let unit = tokio::task::spawn_blocking(move || unit::serving(&file)).await.ok().flatten();
    let mut findings = vec![Finding::ok("configuration", config.summary.to_string())];
    findings.extend(host::findings(config));
    findings.extend(workers::findings(config).await);
    findings.extend(listening::findings(config, unit.as_ref()));
    findings.extend(loaded::findings(config).await);
    findings.extend(callers::findings(config).await);
    findings.push(written::finding(&config.audit.to));
    findings.extend(homes::findings(config, unit.as_ref()));
    findings
}

/// What is left to say to root of a configuration that this user's unit serves.
pub fn as_root(user: &str) -> Vec<Finding> {
    let mend = format!("as root: `runuser -u {user} -- codemoded --config FILE doctor`; nothing else was looked at");
    vec![Finding::fault("user", format!("root asks, and {} runs as `{user}`", unit::NAME), mend)]
}

/// What is left to say of a configuration that cannot be used.
pub fn unusable(faults: &[ConfigFault]) -> Vec<Finding> {
    let mend = "mend the configuration; nothing else was looked at";
    faults.iter().map(|fault| Finding::fault("configuration", with_causes(fault), mend)).collect()
}
