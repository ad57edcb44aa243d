//! What a configuration comes to, as text: for telling two of them apart.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use sha2::{Digest as _, Sha256};

use super::Daemon;
use crate::capability::signature::signature;
use crate::config::{Config, Policy, Transport};
use crate::generation::Generation;

/// Things by section and name, each with what is known of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Facts(Vec<(&'static str, BTreeMap<String, Thing>)>);

/// What is known of one thing.
type Thing = Vec<(&'static str, Known)>;

#[derive(Clone, Debug, PartialEq, Eq)]
enum Known {
    Text(String),
    /// That it differs is all that may be shown of it.
    Digest([u8; 32]),
}

impl Daemon {
    /// What the generation in force, and the configuration that it was built from, come to.
    pub fn facts(&self, config: &Config) -> Facts {
        let generation = self.current.get();
        Facts(vec![
            ("capability", capabilities(&generation)),
            ("disabled", generation.catalog.disabled().iter().map(|id| (id.to_string(), Vec::new())).collect()),
            ("plugin", plugins(&generation)),
            ("policy", policy(config)),
            ("limit", limits(&generation)),
            ("setting", settings(config)),
            ("restart-only", restart(config)),
        ])
    }
}

impl Facts {
    /// One line for each difference, in the order of the sections: `+` is new, `-` is gone, `~` has changed.
    pub fn differences(&self, after: &Self) -> Vec<String> {
        let sections = self.0.iter().zip(&after.0);
        sections.flat_map(|((section, before), (_, after))| differences(section, before, after)).collect()
    }
}

fn differences(section: &str, before: &BTreeMap<String, Thing>, after: &BTreeMap<String, Thing>) -> Vec<String> {
    let names: std::collections::BTreeSet<_> = before.keys().chain(after.keys()).collect();
    let mut lines = Vec::new();
    for name in names {
        match (before.get(name), after.get(name)) {
            (None, Some(new)) => lines.push(format!("+ {section} {name}{}", shown(new))),
            (Some(old), None) => lines.push(format!("- {section} {name}{}", shown(old))),
            (Some(old), Some(new)) => {
                let changed = old.iter().zip(new).filter(|(old, new)| old != new);
                lines.extend(changed.map(|((part, old), (_, new))| change(section, name, part, old, new)));
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

fn capabilities(generation: &Generation) -> BTreeMap<String, Thing> {
    let describe = |name: &str| generation.catalog.describe(name);
    let thing = |capability: &crate::capability::Capability| {
        let described = describe(capability.name.as_str());
        let json =
            |part: Option<serde_json::Result<String>>| Known::Text(part.and_then(Result::ok).unwrap_or_default());
        let fields = described.as_ref();
        vec![
            ("signature", Known::Text(signature(&capability.name, &capability.input))),
            ("id", Known::Text(capability.id.to_string())),
            ("plugin", Known::Text(capability.plugin.to_string())),
            ("hints", json(Some(serde_json::to_string(&capability.hints)))),
            ("input", json(fields.map(|described| serde_json::to_string(&described.input)))),
            ("output", json(fields.map(|described| serde_json::to_string(&described.output)))),
            ("summary", Known::Text(capability.summary.clone())),
            ("description", Known::Digest(Sha256::digest(&capability.description).into())),
        ]
    };
    generation.catalog.iter().map(|each| (each.name.to_string(), thing(each))).collect()
}

fn plugins(generation: &Generation) -> BTreeMap<String, Thing> {
    let instances = generation.plugins.instances().iter();
    let things = instances.map(|each| {
        let thing = vec![
            ("version", Known::Text(each.version().to_owned())),
            ("library", Known::Text(each.library().display().to_string())),
            ("sha256", Known::Text(hexadecimal(each.digest()))),
            ("settings", Known::Digest(*each.settings_digest())),
        ];
        (each.name().to_string(), thing)
    });
    things.collect()
}

fn policy(config: &Config) -> BTreeMap<String, Thing> {
    let Policy::Rego(rego) = &config.policy else {
        return BTreeMap::from([("mode".to_owned(), vec![("", Known::Text("allow-all".to_owned()))])]);
    };
    let text = |text: &str| vec![("", Known::Text(text.to_owned()))];
    let decisions =
        [("execute", Some(&rego.execute)), ("discover", rego.discover.as_ref()), ("reason", rego.reason.as_ref())];
    let decisions = decisions.into_iter().filter_map(|(name, rule)| Some((name.to_owned(), text(rule?.as_str()))));
    let name = |path: &Path| path.strip_prefix(&config.folder).unwrap_or(path).display().to_string();
    let files = rego.modules.iter().chain(&rego.data).map(|path| (name(path), text(&digest_of(path))));
    let costly = rego.danger_builtins.iter().map(|name| (format!("danger_builtins {name}"), Vec::new()));
    let mode = std::iter::once(("mode".to_owned(), text("rego")));
    mode.chain(decisions).chain(files).chain(costly).collect()
}

fn limits(generation: &Generation) -> BTreeMap<String, Thing> {
    generation.limits.texts().into_iter().map(|(name, text)| (name, vec![("", Known::Text(text))])).collect()
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
    texts.into_iter().map(|(key, text)| (key.to_owned(), vec![("", Known::Text(text))])).collect()
}

/// What a reload leaves as it is.
fn restart(config: &Config) -> BTreeMap<String, Thing> {
    let fixed = config.fixed(Transport::Http);
    fixed.iter().map(|each| (each.key.to_owned(), vec![("", Known::Text(each.value().to_owned()))])).collect()
}

fn digest_of(path: &Path) -> String {
    fs::read(path).map_or_else(|error| format!("unreadable: {error}"), |bytes| hexadecimal(&Sha256::digest(&bytes)))
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
