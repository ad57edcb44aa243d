//! The files in `config/` say what is so.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use figment::error::Kind;
use figment::value::Value;
use serde::Deserialize;

use super::{Folder, least_and};
use crate::config::{Config, Identity, Policy, Sources, Transport, raw};
use crate::limits::Limits;

fn shipped(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../config").join(name)
}

pub(super) fn text(name: &str) -> String {
    fs::read_to_string(shipped(name)).unwrap()
}

/// The keys of a type, as it tells them itself when it is given one that it does not know.
pub(super) fn keys<'de, T: Deserialize<'de>>() -> Vec<&'static str> {
    let unknown = Value::from(figment::util::map! { "?" => 0 });
    match T::deserialize(&unknown).err().map(|error| error.kind) {
        Some(Kind::UnknownField(_, known)) => known.to_vec(),
        other => panic!("{other:?}"),
    }
}

fn sections() -> Vec<(&'static str, Vec<&'static str>)> {
    vec![
        ("server", keys::<raw::Server>()),
        ("admin", keys::<raw::Admin>()),
        ("identity", keys::<raw::StaticIdentity>()),
        ("identity", keys::<raw::ProxyIdentity>()),
        ("identity", keys::<raw::JwtIdentity>()),
        ("identity", keys::<raw::TokensIdentity>()),
        ("identity", keys::<raw::PluginIdentity>()),
        ("rates", keys::<raw::Rates>()),
        ("policy", keys::<raw::RegoPolicy>()),
        ("catalog", keys::<raw::Catalog>()),
        ("workers", keys::<raw::Workers>()),
        ("limits", keys::<raw::Limits>()),
        ("log", keys::<raw::Log>()),
        ("audit", keys::<raw::Audit>()),
        ("traces", keys::<raw::Traces>()),
    ]
}

/// `key = value` of every line that shows a default, by section; a comment behind it may say that it shows none.
fn shown_defaults() -> Vec<(String, String, String)> {
    let mut section = String::new();
    let mut found = Vec::new();
    for line in text("codemode.toml").lines() {
        if let Some(name) = line.strip_prefix('[').and_then(|rest| rest.split(']').next()) {
            section = name.to_owned();
        }
        let setting = line.strip_prefix("# ").and_then(|rest| rest.split_once(" = "));
        let setting = setting.filter(|(key, _)| key.chars().all(|c| c.is_ascii_lowercase() || c == '_'));
        if let Some((key, value)) = setting.filter(|(_, value)| !value.contains("# no default")) {
            found.push((section.clone(), key.to_owned(), value.to_owned()));
        }
    }
    found
}

#[test]
fn the_shipped_file_loads_but_for_libraries_that_are_not_built_yet() {
    let here = tempfile::tempdir().unwrap();
    let config = here.path().join("config");
    fs::create_dir_all(config.join("policy")).unwrap();
    fs::create_dir_all(here.path().join("target/debug")).unwrap();
    for name in ["codemode.toml", "policy/authz.rego"] {
        fs::copy(shipped(name), config.join(name)).unwrap();
    }
    for library in ["records", "files"] {
        fs::write(here.path().join(format!("target/debug/libcodemode_{library}.so")), "").unwrap();
    }
    let sources = Sources::new(config.join("codemode.toml"), [], []);
    let config = Config::load(&sources, Transport::Http).unwrap_or_else(|faults| panic!("{faults:?}"));

    assert_eq!(config.server.listen.to_string(), "127.0.0.1:8787");
    assert!(matches!(&config.identity, Identity::Static(one) if one.subject.id.as_str() == "local"));
    assert!(matches!(&config.policy, Policy::Rego(rego) if rego.execute.as_str() == "data.codemode.authz.allow"));
    let raised = Limits { max_native_calls: 1000, max_execution_time: Duration::from_secs(30), ..Limits::default() };
    assert_eq!(config.limits, raised);
    let names: Vec<_> = config.plugins.iter().map(|spec| spec.name.as_deref()).collect();
    assert_eq!(names, [Some("records"), Some("files")]);
}

#[test]
fn the_defaults_that_the_shipped_file_shows_are_the_defaults() {
    let plain = Folder::new(super::LEAST).loads();
    for (section, key, value) in shown_defaults() {
        let toml = match section.as_str() {
            "" => format!("{key} = {value}\n"),
            // No spans are sent where no collector is named.
            "identity" | "policy" | "traces" => continue,
            _ => format!("[{section}]\n{key} = {value}\n"),
        };
        let with = least_and(&toml).loads();
        let same = (
            &with.server,
            &with.admin,
            &with.rates,
            &with.limits,
            &with.audit,
            &with.log,
            &with.disabled,
            &with.plugins,
        ) == (
            &plain.server,
            &plain.admin,
            &plain.rates,
            &plain.limits,
            &plain.audit,
            &plain.log,
            &plain.disabled,
            &plain.plugins,
        );
        assert!(same, "`{toml}` is not the default");
    }
}

#[test]
fn the_shipped_file_shows_every_key() {
    let file = text("codemode.toml");
    for (section, keys) in sections() {
        for key in keys {
            let shown = file.lines().any(|line| {
                let line = line.trim_start_matches(['#', ' ']);
                line.split_once(" = ").is_some_and(|(shown, _)| shown == key)
            });
            assert!(shown || (section, key) == ("identity", "claims"), "{section}.{key} is not shown");
        }
    }
}

#[test]
fn the_shipped_policy_keeps_its_own_promises() {
    let mut engine = regorus::Engine::new();
    for name in ["policy/authz.rego", "policy/authz_test.rego"] {
        engine.add_policy(name.to_owned(), text(name)).unwrap();
    }
    let promises: BTreeSet<String> = text("policy/authz_test.rego")
        .lines()
        .filter(|line| line.starts_with("test_"))
        .filter_map(|line| line.split_whitespace().next().map(str::to_owned))
        .collect();
    assert!(promises.len() > 5);
    for promise in promises {
        let held = engine.eval_rule(format!("data.codemode.authz_test.{promise}")).unwrap();
        assert_eq!(held, regorus::Value::Bool(true), "{promise}");
    }
}
