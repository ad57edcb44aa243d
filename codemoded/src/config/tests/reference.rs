//! The configuration reference says what is so: every key of the types and no other, with its default and its bounds.

use std::collections::BTreeSet;
use std::fs;

use super::Folder;
use super::shipped::{keys, text};
use crate::config::{Config, raw};

/// One table of the reference, and a file in which its keys can be tried.
struct Table {
    /// Empty for the keys outside all sections.
    section: &'static str,
    /// Where the keys depend on it.
    mode: Option<&'static str>,
    keys: Vec<&'static str>,
    /// What comes before the section.
    before: &'static str,
    /// The keys that the section needs, one a line.
    least: &'static str,
}

/// `| key | default | … |`, in its section.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Row {
    section: String,
    mode: Option<String>,
    key: String,
    default: String,
    rest: String,
}

const NOBODY: &str = "policy = { mode = \"allow-all\" }\n";
const ALL: &str = "policy = { mode = \"allow-all\" }\nidentity = { mode = \"static\", subject = \"local\" }\n";

/// Defaults that are no values, but what another key says; `identity.rs` beside this shows that they are so.
const ELSEWHERE: [(&str, &str); 2] = [("audiences", "`server.public_url`"), ("authorization_servers", "the issuer")];

fn tables() -> Vec<Table> {
    let table = |section, keys| Table { section, mode: None, keys, before: ALL, least: "" };
    let identity = |mode, keys: Vec<&'static str>, least| {
        let keys = keys.into_iter().filter(|key| *key != "mode").collect();
        Table { section: "identity", mode: Some(mode), keys, before: NOBODY, least }
    };
    vec![
        table("", vec!["plugin_dirs"]),
        table("server", keys::<raw::Server>()),
        table("admin", keys::<raw::Admin>()),
        Table {
            keys: vec!["mode"],
            before: NOBODY,
            least: "mode = \"static\"\nsubject = \"local\"\n",
            ..table("identity", Vec::new())
        },
        identity("static", keys::<raw::StaticIdentity>(), "subject = \"local\"\n"),
        identity("proxy", keys::<raw::ProxyIdentity>(), "header = \"x-user\"\npeers = [\"10.0.0.1/32\"]\n"),
        identity(
            "jwt",
            keys::<raw::JwtIdentity>(),
            "issuer = \"https://id.example.com\"\naudiences = [\"mcp\"]\njwks_url = \"https://id.example.com/keys\"\n",
        ),
        identity("tokens", keys::<raw::TokensIdentity>(), "tokens_file = \"secret\"\n"),
        identity("plugin", keys::<raw::PluginIdentity>(), "plugin = \"sso\"\n"),
        table("rates", keys::<raw::Rates>()),
        Table {
            before: "identity = { mode = \"static\", subject = \"local\" }\n",
            least: "mode = \"rego\"\nmodules = [\"authz.rego\"]\nexecute = \"data.authz.allow\"\n",
            ..table("policy", keys::<raw::RegoPolicy>())
        },
        table("catalog", keys::<raw::Catalog>()),
        table("workers", keys::<raw::Workers>()),
        table("limits", keys::<raw::Limits>()),
        table("log", keys::<raw::Log>()),
        table("audit", keys::<raw::Audit>()),
        Table { least: "endpoint = \"http://127.0.0.1:4318\"\n", ..table("traces", keys::<raw::Traces>()) },
        Table {
            least: "name = \"one\"\nlibrary = \"./plugins/libone.so\"\n",
            ..table("plugins", keys::<raw::Plugin>())
        },
    ]
}

/// The rows of the reference's tables of keys.
fn rows() -> Vec<Row> {
    let reference = text("README.md");
    let keys = reference.split("\n## ").find(|part| part.starts_with("Keys\n")).unwrap();
    let (mut section, mut mode) = (String::new(), None);
    let mut rows = Vec::new();
    for line in keys.lines() {
        if let Some(heading) = line.strip_prefix("### ") {
            (section, mode) = (heading.trim_matches(|c| "`[]".contains(c)).to_owned(), None);
        } else if let Some(rest) = line.strip_prefix("With `mode = \"") {
            mode = rest.split('"').next().map(str::to_owned);
        } else if let Some(row) = line.strip_prefix("| `") {
            // An empty cell has one blank between its bars.
            let row = row.replacen("| |", "|  |", 1);
            let cells: Vec<&str> = row.splitn(3, " | ").collect();
            let [key, default, rest] = *cells else { panic!("no three cells: {line}") };
            rows.push(Row {
                section: section.clone(),
                mode: mode.clone(),
                key: key.trim_end_matches('`').to_owned(),
                default: default.trim().to_owned(),
                rest: rest.to_owned(),
            });
        }
    }
    rows
}

impl Table {
    fn rows(&self) -> Vec<Row> {
        rows().into_iter().filter(|row| row.section == self.section && row.mode.as_deref() == self.mode).collect()
    }

    /// A whole file: the section's least but for this key, and what is given for it.
    fn file(&self, key: &str, value: Option<&str>) -> String {
        let head = match self.section {
            "" => String::new(),
            "plugins" => "[[plugins]]\n".to_owned(),
            section => format!("[{section}]\n"),
        };
        let mode = self.mode.map(|mode| format!("mode = \"{mode}\"\n")).unwrap_or_default();
        let least = self.least.lines().filter(|line| !line.starts_with(&format!("{key} = ")));
        let least: String = least.map(|line| format!("{line}\n")).collect();
        let own = value.map(|value| format!("{key} = {value}\n")).unwrap_or_default();
        format!("{}{head}{mode}{least}{own}", self.before)
    }
}

/// Loads files in one folder, so that what differs is what they say.
struct Trial(Folder);

impl Trial {
    fn load(&self, toml: &str) -> Result<Config, String> {
        fs::write(self.0.path("codemode.toml"), toml).unwrap();
        self.0.load()
    }
}

/// All that a configuration says, but not where.
fn said(config: &Config) -> String {
    let Config {
        server, admin, identity, rates, policy, disabled, workers, limits, log, audit, traces, plugins, ..
    } = config;
    let plugins: Vec<_> = plugins.iter().map(|plugin| (&plugin.name, &plugin.library, &plugin.settings)).collect();
    format!(
        "{:?}",
        ((server, admin, identity, rates, policy, disabled), (workers, limits, log, audit, traces, plugins))
    )
}

#[test]
fn the_reference_has_every_key_in_its_place_and_no_other() {
    let mut found = 0;
    for table in tables() {
        let rows: Vec<String> = table.rows().into_iter().map(|row| row.key).collect();
        let listed: BTreeSet<&str> = rows.iter().map(String::as_str).collect();
        assert_eq!(listed.len(), rows.len(), "a key twice in {} {:?}: {rows:?}", table.section, table.mode);
        assert_eq!(listed, table.keys.iter().copied().collect(), "{} {:?}", table.section, table.mode);
        found += rows.len();
    }
    assert_eq!(found, rows().len(), "a row of a table that nobody knows");
    let sections: BTreeSet<&str> = tables().iter().map(|table| table.section).filter(|name| !name.is_empty()).collect();
    let known: BTreeSet<&str> = keys::<raw::Root>().into_iter().filter(|key| *key != "plugin_dirs").collect();
    assert_eq!(sections, known, "a section without a table");
}

#[test]
fn every_default_of_the_reference_is_the_default() {
    let trial = Trial(Folder::new(""));
    for table in tables() {
        let plain = table.file("", None);
        let plain = trial.load(&plain).unwrap_or_else(|faults| panic!("{plain}: {faults}"));
        for row in table.rows() {
            let place = format!("{}.{}", row.section, row.key);
            let is_elsewhere = ELSEWHERE.contains(&(&*row.key, &*row.default));
            match row.default.as_str() {
                "required" => {
                    let faults = trial.load(&table.file(&row.key, None)).err().unwrap_or_default();
                    assert!(faults.contains(&row.key) && faults.contains("missing"), "{place}: {faults}");
                }
                "" => {
                    assert!(!table.least.contains(&format!("{} = ", row.key)) || is_one_of_two(&row), "{place}");
                }
                _ if is_elsewhere => {}
                default => {
                    let value = default.trim_matches('`');
                    let file = table.file(&row.key, Some(value));
                    let with = trial.load(&file).unwrap_or_else(|faults| panic!("{place}: {faults}"));
                    assert_eq!(said(&with), said(&plain), "{place}: {value} is not the default");
                }
            }
        }
    }
}

/// A key that is not needed where another stands in its place.
fn is_one_of_two(row: &Row) -> bool {
    row.key == "jwks_url" || (row.section == "traces" && row.key == "endpoint")
}

#[test]
fn every_bound_of_a_number_is_in_the_reference() {
    let trial = Trial(Folder::new(""));
    let mut bounded = 0;
    for table in tables() {
        for row in table.rows() {
            // More than any of them, so that the type tells how much there may be.
            let Err(fault) = trial.load(&table.file(&row.key, Some("1000000000000000000"))) else { continue };
            let Some((_, bounds)) = fault.split_once("must be between ") else { continue };
            let (least, most) = bounds.lines().next().unwrap().split_once(" and ").unwrap();
            let place = format!("{}.{}: {}", row.section, row.key, row.rest);
            assert!(written(most).iter().any(|form| row.rest.contains(form)), "{place}: at most {most}");
            assert!(least == "1" || written(least).iter().any(|form| row.rest.contains(form)), "{place}: from {least}");
            bounded += 1;
        }
    }
    assert!(bounded > 20, "{bounded}");
    let durations = "from `\"1ms\"` to `\"24h\"`";
    assert!(text("README.md").contains(durations), "{durations}");
    let told = trial.load(&format!("{ALL}[limits]\nmax_call_time = \"25h\"\n")).err().unwrap_or_default();
    assert!(told.contains("must be between 1ms and 24h"), "{told}");
}

/// How the reference may write a bound.
fn written(bound: &str) -> Vec<String> {
    let unit = bound.trim_start_matches(|c: char| c.is_ascii_digit());
    let number: u64 = bound.trim_end_matches(|c: char| !c.is_ascii_digit()).parse().unwrap();
    if unit == "GiB" && number.is_multiple_of(1024) {
        return vec![format!("{} TiB", number / 1024)];
    }
    if !unit.is_empty() {
        return vec![format!("{number} {unit}")];
    }
    let digits = number.to_string();
    let grouped: Vec<&str> =
        digits.as_bytes().rchunks(3).rev().map(|part| std::str::from_utf8(part).unwrap()).collect();
    let power = (0..=19).find(|power| 10_u64.checked_pow(*power) == Some(number));
    let raised = power.map(|power| {
        let digits = power.to_string();
        let raised =
            digits.chars().map(|digit| "⁰¹²³⁴⁵⁶⁷⁸⁹".chars().nth(digit.to_digit(10).unwrap() as usize).unwrap());
        format!("10{}", raised.collect::<String>())
    });
    raised.into_iter().chain([grouped.join(",")]).collect()
}
