//! Whether the service would find what a command finds: a unit with `ProtectHome=` has no homes (`systemd.exec(5)`).

use std::iter::once;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::Finding;
use crate::config::{Config, Policy};
use crate::unit::{self, Unit};

const WHAT: &str = "homes";
const HOMES: [&str; 3] = ["/home", "/root", "/run/user"];

/// Nothing where no unit serves this configuration, or one that has the homes.
pub(super) fn findings(config: &Config, unit: Option<&Unit>) -> Vec<Finding> {
    match unit {
        Some(Unit { hides_homes: true, .. }) => in_homes(config).iter().map(|path| lost(path)).collect(),
        Some(_) | None => Vec::new(),
    }
}

fn lost(path: &Path) -> Finding {
    let found = format!("{} does not see `{}` (`ProtectHome=`)", unit::NAME, path.display());
    Finding::fault(WHAT, found, "put it elsewhere, such as below /srv, or lay `ProtectHome=read-only` over the unit")
}

/// All that the configuration names there.
fn in_homes(config: &Config) -> Vec<PathBuf> {
    let libraries = config.plugins.iter().map(|plugin| plugin.library.clone());
    let settings = config.plugins.iter().flat_map(|plugin| existing(&plugin.settings, &config.folder));
    let rego = match &config.policy {
        Policy::Rego(rego) => rego.modules.iter().chain(&rego.data).cloned().collect(),
        Policy::AllowAll => Vec::new(),
    };
    let named = libraries.chain(settings).chain(rego).chain(config.secret_files.iter().cloned());
    once(config.origin.file().to_owned())
        .chain(named)
        .filter(|path| HOMES.iter().any(|home| path.starts_with(home)))
        .collect()
}

/// The texts of a plugin's settings that lead to something; what else they are only the plugin knows.
fn existing(settings: &Value, folder: &Path) -> Vec<PathBuf> {
    match settings {
        Value::String(text) => Some(folder.join(text)).filter(|path| path.exists()).into_iter().collect(),
        Value::Array(items) => items.iter().flat_map(|item| existing(item, folder)).collect(),
        Value::Object(members) => members.values().flat_map(|member| existing(member, folder)).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) => Vec::new(),
    }
}
