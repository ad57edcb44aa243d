//! Which policy decides, and the files it is made of.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;

use serde::Deserialize;

use super::fault::Problem;
use super::place::{KeyPath, message_place};
use super::reading::Reading;
use super::server::once_each;
use super::{raw, reference};

/// Who decides about a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Policy {
    Rego(Rego),
    /// Said explicitly: every call of every subject is allowed.
    AllowAll,
}

/// Rego modules and data, and the decisions asked of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rego {
    pub modules: Vec<PathBuf>,
    pub data: Vec<PathBuf>,
    pub execute: Reference,
    pub discover: Option<Reference>,
    pub reason: Option<Reference>,
    /// Built-ins whose cost the operator takes upon himself.
    pub danger_builtins: Vec<String>,
    /// Where each of these keys that is given stands, for messages.
    pub places: BTreeMap<&'static str, String>,
}

/// One ground reference into `data`, such as `data.codemode.authz.allow`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct Reference(String);

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no rule; write `data.` and the package and rule, such as \"data.codemode.authz.allow\"")]
pub struct InvalidReference(String);

impl Reference {
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for Reference {
    type Error = InvalidReference;

    fn try_from(text: String) -> Result<Self, InvalidReference> {
        let is_name = |step: &str| {
            let (head, tail) = (step.chars().next(), step.chars().skip(1));
            head.is_some_and(|c| c.is_ascii_alphabetic() || c == '_')
                && tail.into_iter().all(|c| c.is_ascii_alphanumeric() || c == '_')
        };
        let steps = text.strip_prefix("data.").map(|rest| rest.split('.'));
        let sound = steps.is_some_and(|mut steps| steps.clone().count() >= 2 && steps.all(is_name));
        if sound { Ok(Self(text)) } else { Err(InvalidReference(text)) }
    }
}

impl fmt::Display for Reference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Policy {
    pub(super) fn check(reading: &mut Reading, given: raw::Moded) -> Option<Self> {
        let section = KeyPath::new(["policy"]);
        if given.is_none() {
            reading.missing(
                section,
                "nothing is allowed by default; add a `[policy]` section with `mode = \"rego\"`, or say \
                 `mode = \"allow-all\"` if every caller may do everything",
            );
            return None;
        }
        let head: raw::PolicyHead = reading.read(&section);
        match head.mode {
            Some(raw::PolicyMode::Rego) => rego(reading, &section).map(Self::Rego),
            Some(raw::PolicyMode::AllowAll) => {
                let raw::AllowAllPolicy { .. } = reading.read(&section);
                Some(Self::AllowAll)
            }
            None => {
                reading.missing(section.key("mode"), "set `mode` to \"rego\" or \"allow-all\"");
                None
            }
        }
    }
}

fn rego(reading: &mut Reading, section: &KeyPath) -> Option<Rego> {
    let raw: raw::RegoPolicy = reading.read(section);
    if raw.modules.is_empty() {
        reading.missing(section.key("modules"), "list the Rego files, such as `modules = [\"policy/authz.rego\"]`");
    }
    let modules = files(reading, &section.key("modules"), raw.modules);
    let data = files(reading, &section.key("data"), raw.data);
    let danger_builtins = once_each(reading, &section.key("danger_builtins"), raw.danger_builtins);
    let Some(execute) = raw.execute else {
        reading.missing(
            section.key("execute"),
            "name the rule that allows a call, such as `execute = \"data.codemode.authz.allow\"`",
        );
        return None;
    };
    let said = [
        ("execute", true),
        ("discover", raw.discover.is_some()),
        ("reason", raw.reason.is_some()),
        ("danger_builtins", !danger_builtins.is_empty()),
    ];
    let place = |(name, is_said): (&'static str, bool)| {
        let key = section.key(name);
        is_said.then(|| (name, message_place(&reading.place(&key), &key)))
    };
    let places = said.into_iter().filter_map(place).collect();
    Some(Rego { modules, data, execute, discover: raw.discover, reason: raw.reason, danger_builtins, places })
}

/// Absolute paths of files that are there.
fn files(reading: &mut Reading, key: &KeyPath, list: raw::List<String>) -> Vec<PathBuf> {
    let mut found: Vec<(usize, PathBuf)> = Vec::new();
    for (index, file) in list.into_iter().enumerate() {
        let Some(file) = file else { continue };
        let path = reading.absolute(&file);
        if let Some((first, _)) = found.iter().find(|(_, other)| *other == path) {
            let first = reading.place(&key.index(*first));
            reading.fault(key.index(index), Problem::Repeated { given: file, first });
        } else if let Err(problem) = reference::check_file(&path) {
            reading.fault(key.index(index), problem);
        } else {
            found.push((index, path));
        }
    }
    found.into_iter().map(|(_, path)| path).collect()
}
