//! The protocol's own conformance suite, against the daemon and against its fixture tools behind the same transport.
//!
//! Each scenario of each revision's required set is in one table, with where it has to pass or why it need not; a
//! scenario that is not in the table fails the test, and so does one that proves nothing.

mod scenarios;

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use serde_json::Value;

use crate::harness::{Daemon, allow_all, executable, node, records};
use scenarios::{Place, SCENARIOS};

const HANDSHAKE: &str = "2025-11-25";
const STATELESS: &str = "2026-07-28";

/// Checks of `server-stateless` that call a fixture tool; they pass on the fixtures.
const OF_FIXTURES: [&str; 4] = [
    "sep-2575-server-rejects-undeclared-capability",
    "sep-2575-missing-capability-http-400",
    "sep-2575-http-server-no-independent-requests-on-stream",
    "sep-2575-server-no-log-without-loglevel",
];

/// What the suite found in each scenario.
type Found = BTreeMap<String, Vec<Value>>;

// modelcontextprotocol/rust-sdk#869 and GitLab's issue 627825: one endpoint speaks the stateless revision and those before it.
#[test]
fn every_scenario_that_needs_no_fixtures_passes_on_both_eras_from_one_endpoint() {
    let Some(suite) = Suite::find("every_scenario_that_needs_no_fixtures_passes_on_both_eras_from_one_endpoint") else {
        return;
    };
    let daemon = Daemon::start(&allow_all(&records()));
    for revision in [HANDSHAKE, STATELESS] {
        suite.run(&daemon.url, revision).passes(revision, Place::Daemon);
    }
}

#[test]
fn what_a_session_changes_passes_with_sessions() {
    let Some(suite) = Suite::find("what_a_session_changes_passes_with_sessions") else { return };
    let config = allow_all(&records()).replacen("[server]\n", "[server]\nsessions = true\n", 1);
    let daemon = Daemon::start(&config);
    suite.run(&daemon.url, HANDSHAKE).passes(HANDSHAKE, Place::Sessions);
    suite.run(&daemon.url, STATELESS).passes(STATELESS, Place::Daemon);
}

#[test]
fn what_fixture_tools_prove_of_the_transport_passes() {
    let Some(suite) = Suite::find("what_fixture_tools_prove_of_the_transport_passes") else { return };
    let fixtures = Fixtures::start();
    for revision in [HANDSHAKE, STATELESS] {
        suite.run(&fixtures.url, revision).passes(revision, Place::Fixtures);
    }
}

#[test]
fn each_scenario_is_in_the_table_once_and_says_why_where_it_does_not_apply() {
    for (index, (revision, name, place)) in SCENARIOS.iter().enumerate() {
        let again = SCENARIOS.iter().skip(index + 1).any(|(other, same, _)| (other, same) == (revision, name));
        assert!(!again, "{revision} {name} is there twice");
        assert!(!matches!(place, Place::Nowhere(reason) if reason.len() < 20), "{revision} {name}: say why");
    }
}

/// The suite as `tests/run` has fetched it.
struct Suite {
    node: PathBuf,
    script: PathBuf,
}

impl Suite {
    fn find(test: &str) -> Option<Self> {
        let (node, modules) = node(test)?;
        Some(Self { node, script: modules.join("@modelcontextprotocol/conformance/dist/index.js") })
    }

    fn run(&self, url: &str, revision: &str) -> Results {
        let folder = tempfile::tempdir().unwrap();
        let done = Command::new(&self.node)
            .arg(&self.script)
            .args(["server", "--url", url, "--requirements", revision, "-o"])
            .arg(folder.path())
            .current_dir(folder.path())
            .output()
            .unwrap();
        let log = String::from_utf8_lossy(&done.stdout).into_owned() + &String::from_utf8_lossy(&done.stderr);
        Results { found: read(folder.path()), log }
    }
}

/// One folder a scenario, named for it and for the time.
fn read(folder: &Path) -> Found {
    const TIME: usize = "-2026-01-31T08-07-51-210Z".len();
    let mut found = Found::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap().strip_prefix("server-").unwrap();
        let checks = fs::read_to_string(path.join("checks.json")).unwrap();
        let (scenario, _) = name.split_at(name.len() - TIME);
        found.insert(scenario.to_owned(), serde_json::from_str(&checks).unwrap());
    }
    found
}

struct Results {
    found: Found,
    log: String,
}

impl Results {
    #[track_caller]
    fn passes(&self, revision: &str, place: Place) {
        let of_revision = SCENARIOS.iter().filter(|(of, ..)| *of == revision);
        let known: Vec<&str> = of_revision.clone().map(|(_, name, _)| *name).collect();
        let found: Vec<&str> = self.found.keys().map(String::as_str).collect();
        let unlisted: Vec<_> = found.iter().filter(|name| !known.contains(name)).collect();
        assert!(unlisted.is_empty(), "{revision}: not in the table: {unlisted:?}");
        let mut wrong = Vec::new();
        for (_, name, of) in of_revision.filter(|(_, _, of)| of.includes(place)) {
            match self.found.get(*name) {
                Some(checks) => wrong.extend(faults(name, checks, *of, place)),
                None => wrong.push(format!("{name}: the suite did not run it")),
            }
        }
        assert!(wrong.is_empty(), "{revision}:\n{}\n{}", wrong.join("\n"), self.log);
    }
}

/// Each check that failed or warned; a scenario in which nothing succeeded proves nothing.
fn faults(name: &str, checks: &[Value], of: Place, place: Place) -> Vec<String> {
    let id = |check: &Value| check["id"].as_str().unwrap_or_default().to_owned();
    let status = |check: &Value| check["status"].as_str().unwrap_or_default().to_owned();
    let excused =
        |check: &Value| of == Place::DaemonAndFixtures && place == Place::Daemon && OF_FIXTURES.contains(&&*id(check));
    let bad = checks.iter().filter(|check| ["FAILURE", "WARNING"].contains(&&*status(check)) && !excused(check));
    let mut faults: Vec<_> =
        bad.map(|check| format!("{name}: {} {}: {}", status(check), id(check), check["errorMessage"])).collect();
    let proves = |check: &Value| status(check) == "SUCCESS" && id(check) != "wire-schema-valid";
    if !checks.iter().any(proves) {
        faults.push(format!("{name}: nothing was checked"));
    }
    faults
}

/// The fixture tools, behind the daemon's transport.
struct Fixtures {
    child: Child,
    url: String,
}

impl Fixtures {
    fn start() -> Self {
        let example = Path::new(executable()).with_file_name("examples").join("conformance");
        let mut child = Command::new(example).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let url = line.trim().strip_prefix("listening ").unwrap().to_owned();
        Self { child, url }
    }
}

impl Drop for Fixtures {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
