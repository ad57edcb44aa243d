//! What a configuration comes to, as text: for telling two of them apart, also where one is a running daemon's.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::Daemon;
use crate::capability::signature::signature;
use crate::config::{Config, Fixed, FixedValue, Policy, Transport};
use crate::generation::Generation;
use crate::origin::Hash;

/// Things by section and name, each with what is known of it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Facts(Vec<(String, BTreeMap<String, Thing>)>);

/// What is known of one thing, the part that says the most first.
type Thing = Vec<(String, Known)>;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum Known {
    Text(String),
    /// That it differs is all that may be shown of it.
    Digest([u8; 32]),
}

impl Daemon {
    /// What the generation in force, and the configuration that it was built from, come to.
    pub fn facts(&self, config: &Config) -> Facts {
        Facts::of(&self.current.get(), config, &config.fixed(Transport::Http))
    }
}

impl Facts {
    /// Of a generation, the configuration that it was built from, and what of that holds until a restart.
    pub(super) fn of(generation: &Generation, config: &Config, fixed: &[Fixed]) -> Self {
        let sections = [
            ("capability", capabilities(generation)),
            ("disabled", generation.catalog.disabled().iter().map(|id| (id.to_string(), Vec::new())).collect()),
            ("plugin", plugins(generation)),
            ("policy", policy(config, generation)),
            ("limit", limits(generation)),
            ("setting", settings(config)),
            (
                "restart-only",
                fixed.iter().map(|each| (each.key.to_owned(), thing([("", Known::from(&each.value))]))).collect(),
            ),
        ];
        Self(sections.into_iter().map(|(name, things)| (name.to_owned(), things)).collect())
    }

    /// One line for each difference, in the order of the sections: `+` is new, `-` is gone, `~` has changed. A section
    /// or a part that one of the two does not know, being another version's, is no difference.
    pub fn differences(&self, after: &Self) -> Vec<String> {
        let both = |(name, before)| Some((name, before, after.0.iter().find(|(other, _)| other == name)?));
        let sections = self.0.iter().filter_map(|(name, before)| both((name, before)));
        sections.flat_map(|(section, before, (_, after))| differences(section, before, after)).collect()
    }
}

fn differences(section: &str, before: &BTreeMap<String, Thing>, after: &BTreeMap<String, Thing>) -> Vec<String> {
    let names: BTreeSet<_> = before.keys().chain(after.keys()).collect();
    let mut lines = Vec::new();
    for name in names {
        match (before.get(name), after.get(name)) {
            (None, Some(new)) => lines.push(format!("+ {section} {name}{}", shown(new))),
            (Some(old), None) => lines.push(format!("- {section} {name}{}", shown(old))),
            (Some(old), Some(new)) => {
                for (part, old) in old {
                    let new = new.iter().find(|(other, new)| other == part && new != old);
                    lines.extend(new.map(|(_, new)| change(section, name, part, old, new)));
                }
            }
            (None, None) => {}
        }
    }
    lines
}

/// The first thing that is known, which says the most.
fn shown(thing: &Thing) -> String {
    match thing.first() {
        Some((_, Known::Text(text))) => format!(": {text}"),
        Some((_, Known::Digest(_))) | None => String::new(),
    }
}

fn change(section: &str, name: &str, part: &str, old: &Known, new: &Known) -> String {
    let part = if part.is_empty() { String::new() } else { format!(" {part}") };
    match (old, new) {
        (Known::Text(old), Known::Text(new)) => format!("~ {section} {name}{part}: {old} -> {new}"),
        (_, _) => format!("~ {section} {name}{part}: changed"),
    }
}

impl From<&FixedValue> for Known {
    fn from(value: &FixedValue) -> Self {
        match value {
            FixedValue::Text(text) => Self::Text(text.clone()),
            FixedValue::Digest(digest) => Self::Digest(*digest),
        }
    }
}

fn thing<const PARTS: usize>(parts: [(&str, Known); PARTS]) -> Thing {
    parts.into_iter().map(|(part, known)| (part.to_owned(), known)).collect()
}

/// A thing of which one text is known.
fn only(text: impl Into<String>) -> Thing {
    thing([("", Known::Text(text.into()))])
}

fn capabilities(generation: &Generation) -> BTreeMap<String, Thing> {
    let describe = |name: &str| generation.catalog.describe(name);
    let known = |capability: &crate::capability::Capability| {
        let described = describe(capability.name.as_str());
        let json =
            |part: Option<serde_json::Result<String>>| Known::Text(part.and_then(Result::ok).unwrap_or_default());
        let fields = described.as_ref();
        thing([
            ("signature", Known::Text(signature(&capability.name, &capability.input))),
            ("id", Known::Text(capability.id.to_string())),
            ("plugin", Known::Text(capability.plugin.to_string())),
            ("hints", json(Some(serde_json::to_string(&capability.hints)))),
            ("input", json(fields.map(|described| serde_json::to_string(&described.input)))),
            ("output", json(fields.map(|described| serde_json::to_string(&described.output)))),
            ("summary", Known::Text(capability.summary.clone())),
            ("description", Known::Digest(Sha256::digest(&capability.description).into())),
        ])
    };
    generation.catalog.iter().map(|each| (each.name.to_string(), known(each))).collect()
}

fn plugins(generation: &Generation) -> BTreeMap<String, Thing> {
    let instances = generation.plugins.instances().iter();
    let things = instances.map(|each| {
        let known = thing([
            ("version", Known::Text(each.version().to_owned())),
            ("library", Known::Text(each.library().display().to_string())),
            ("sha256", Known::Text(Hash(*each.digest()).to_string())),
            ("settings", Known::Digest(*each.settings_digest())),
        ]);
        (each.name().to_string(), known)
    });
    things.collect()
}

fn policy(config: &Config, generation: &Generation) -> BTreeMap<String, Thing> {
    let Policy::Rego(rego) = &config.policy else {
        return BTreeMap::from([("mode".to_owned(), only("allow-all"))]);
    };
    let decisions =
        [("execute", Some(&rego.execute)), ("discover", rego.discover.as_ref()), ("reason", rego.reason.as_ref())];
    let decisions = decisions.into_iter().filter_map(|(name, rule)| Some((name.to_owned(), only(rule?.as_str()))));
    let name = |path: &Path| path.strip_prefix(&config.folder).unwrap_or(path).display().to_string();
    // As they were read, whatever they are now.
    let files = generation.policy.origins().iter();
    let files = files.map(|origin| (name(origin.file()), only(origin.sha256().to_string())));
    let costly = rego.danger_builtins.iter().map(|name| (format!("danger_builtins {name}"), Vec::new()));
    let mode = std::iter::once(("mode".to_owned(), only("rego")));
    mode.chain(decisions).chain(files).chain(costly).collect()
}

fn limits(generation: &Generation) -> BTreeMap<String, Thing> {
    generation.limits.texts().into_iter().map(|(name, text)| (name, only(text))).collect()
}

/// What else a reload changes.
fn settings(config: &Config) -> BTreeMap<String, Thing> {
    let (server, workers, rates) = (&config.server, &config.workers, &config.rates);
    let list = |items: Vec<String>| items.join(", ");
    let texts = [
        ("identity", config.identity.to_string()),
        ("log.level", config.log.level.to_string()),
        ("rates.requests_per_minute", rates.requests_per_minute.to_string()),
        ("rates.failures_per_minute", rates.failures_per_minute.to_string()),
        ("server.public_url", server.public_url.as_ref().map(ToString::to_string).unwrap_or_default()),
        ("server.trusted_origins", list(server.trusted_origins.iter().map(ToString::to_string).collect())),
        ("server.allowed_hosts", list(server.allowed_hosts.iter().map(ToString::to_string).collect())),
        ("server.trusted_proxies", list(server.trusted_proxies.iter().map(ToString::to_string).collect())),
        ("server.drain_timeout", format!("{:?}", server.drain_timeout)),
        ("workers.ready", workers.ready.to_string()),
        ("workers.start", workers.start.to_string()),
        ("workers.sandbox", workers.sandbox.to_string()),
    ];
    texts.into_iter().map(|(key, text)| (key.to_owned(), only(text))).collect()
}
