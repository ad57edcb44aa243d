//! The required tests of the public JSON Schema Test Suite, run as capability inputs.

use std::path::{Path, PathBuf};

use serde_json::{Value as Text, json};

use crate::capability::schema::Input;
use crate::value::{Map, Value};

/// Where the public suite lies; it stays out of the project.
fn suite() -> Option<PathBuf> {
    let suites = std::env::var_os("CODEMODE_SUITES")
        .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../shared/data"), PathBuf::from);
    let suite = suites.join("json-schema");
    suite.is_dir().then_some(suite)
}

/// The documents that the suite's tests expect under these addresses. Nothing is fetched: a schema brings with it
/// what it refers to.
struct Remotes(Vec<(String, Text)>);

impl Remotes {
    fn read(suite: &Path, draft: &str) -> Self {
        let mut remotes = Vec::new();
        let mut pending = vec![suite.join("remotes")];
        while let Some(folder) = pending.pop() {
            for path in std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
                let within = path.strip_prefix(suite.join("remotes")).unwrap().to_string_lossy().into_owned();
                let is_other_drafts = ["draft", "v1"].iter().any(|other| within.starts_with(other));
                if path.is_dir() && (!is_other_drafts || within.starts_with(draft)) {
                    pending.push(path);
                } else if path.is_file() {
                    let document = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
                    remotes.push((format!("http://localhost:1234/{within}"), document));
                }
            }
        }
        Self(remotes)
    }

    /// Those that the schema mentions, and those that they mention, as definitions under their addresses.
    fn of(&self, schema: &Text) -> Text {
        let mut definitions = serde_json::Map::new();
        let mut pending = vec![schema.to_string()];
        while let Some(text) = pending.pop() {
            for (address, document) in &self.0 {
                let name = address.rsplit('/').next().unwrap();
                if !text.contains(name) || definitions.contains_key(address) {
                    continue;
                }
                pending.push(document.to_string());
                let mut document = document.clone();
                if let Some(members) = document.as_object_mut() {
                    members.entry("$id").or_insert_with(|| address.as_str().into());
                }
                definitions.insert(address.clone(), document);
            }
        }
        definitions.into()
    }
}

#[derive(Default)]
struct Tally {
    passed: usize,
    refused: usize,
    expected: Vec<String>,
    differing: Vec<String>,
}

/// That null for an optional member means omitted differs too, but no test of the suite that is not refused has it.
const ONE_POINT_ZERO: &str =
    r#"type: "integer type matches integers": "a float with zero fractional part is an integer""#;

fn run(draft: &str, dialect: &str) {
    let Some(suite) = suite() else {
        eprintln!("skipped: JSON Schema Test Suite, {draft}: folder not found (CODEMODE_SUITES)");
        return;
    };
    let mut tally = Tally::default();
    let remotes = Remotes::read(&suite, draft);
    let folder = suite.join("tests").join(draft);
    for entry in std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).filter(|path| path.is_file()) {
        let groups: Vec<Text> = serde_json::from_slice(&std::fs::read(&entry).unwrap()).unwrap();
        for group in &groups {
            run_group(&mut tally, dialect, &remotes, &entry.file_stem().unwrap().to_string_lossy(), group);
        }
    }
    let total = tally.passed + tally.refused + tally.expected.len() + tally.differing.len();
    eprintln!("{draft}: {total} tests, {} passed, {} refused, differing as meant:", tally.passed, tally.refused);
    eprintln!("{}", tally.expected.join("\n"));
    assert_eq!(tally.expected, [ONE_POINT_ZERO]);
    assert!(tally.differing.is_empty(), "{} differ:\n{}", tally.differing.len(), tally.differing.join("\n"));
    assert!(tally.refused * 10 <= total, "{} of {total} refused", tally.refused);
}

fn run_group(tally: &mut Tally, dialect: &str, remotes: &Remotes, file: &str, group: &Text) {
    let tests = group["tests"].as_array().unwrap();
    let mut schema = group["schema"].clone();
    // What refers to its own root needs a root of its own inside the wrapping.
    if let Some(members) = schema.as_object_mut().filter(|members| !members.contains_key("$id")) {
        if dialect.contains("draft-07") && members.contains_key("$ref") {
            let inner = std::mem::take(members);
            let definitions = inner.get("definitions").cloned();
            members.insert("allOf".into(), json!([inner]));
            members.extend(definitions.map(|definitions| ("definitions".to_owned(), definitions)));
        }
        members.insert("$id".into(), "urn:example:wrapped".into());
    }
    let definitions = if dialect.contains("draft-07") { "definitions" } else { "$defs" };
    let remotes = remotes.of(&schema);
    let mut wrapped =
        json!({"$schema": dialect, "type": "object", "properties": {"value": schema}, "required": ["value"]});
    if remotes.as_object().is_some_and(|remotes| !remotes.is_empty()) {
        wrapped[definitions] = remotes;
    }
    let Ok(input) = Input::compile(&wrapped) else {
        eprintln!("refused: {file}: {}: {:?}", group["description"], Input::compile(&wrapped).map(drop).unwrap_err());
        tally.refused += tests.len();
        return;
    };
    for test in tests {
        let Ok(value) = Value::from_serde(&test["data"]) else {
            tally.refused += 1;
            continue;
        };
        let bound = input.bind(Map::from_iter([("value".to_owned(), value)]));
        if bound.is_ok() == (test["valid"] == true) {
            tally.passed += 1;
        } else if is_expected(group, test) {
            tally.expected.push(format!("{file}: {}: {}", group["description"], test["description"]));
        } else {
            let bound = bound.map_or_else(|fault| fault.to_string(), |bound| Value::Map(bound).to_json());
            let (group, test) = (&group["description"], &test["description"]);
            tally.differing.push(format!("{file}: {group}: {test}: {bound}"));
        }
    }
}

/// The two differences that are meant: `1.0` is no integer, and null for an optional member means omitted.
fn is_expected(group: &Text, test: &Text) -> bool {
    let (schema, data) = (group["schema"].to_string(), test["data"].to_string());
    match test["valid"] == true {
        true => schema.contains(r#""integer""#) && data.contains(".0"),
        false => schema.contains(r#""properties""#) && data.contains(":null"),
    }
}

#[test]
fn draft_2020_12() {
    run("draft2020-12", "https://json-schema.org/draft/2020-12/schema");
}

#[test]
fn draft_7() {
    run("draft7", "http://json-schema.org/draft-07/schema#");
}
