//! Reads the sample catalogs: three plugins as their authors might have written them.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

/// One sample capability's searchable text.
#[derive(Debug)]
pub(crate) struct Sample {
    pub(crate) name: String,
    pub(crate) summary: String,
    pub(crate) terms: Vec<String>,
}

/// Every sample catalog's name.
pub(crate) const CATALOGS: [&str; 3] = ["code-host", "office", "cloud"];

/// Where the samples and their queries are.
pub(crate) fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/search")
}

/// A sample catalog in name order.
pub(crate) fn load(catalog: &str) -> Vec<Sample> {
    let text = fs::read_to_string(folder().join("catalogs").join(catalog).with_extension("json")).unwrap();
    let file: Map<String, Value> = serde_json::from_str(&text).unwrap();
    let mut samples = match file.get("services") {
        Some(services) => expand(object(&file["verbs"]), object(services)),
        None => file.iter().map(|(name, texts)| sample(name.clone(), texts, &[])).collect(),
    };
    samples.sort_by(|left, right| left.name.cmp(&right.name));
    samples
}

/// Every resource of every service with its usual verbs, and with its own.
fn expand(verbs: &Map<String, Value>, services: &Map<String, Value>) -> Vec<Sample> {
    let mut samples = Vec::new();
    for (service, resources) in services {
        for (resource, table) in object(resources) {
            let terms = terms(&table["terms"]);
            for verb in text(&table["verbs"]).split_whitespace() {
                let mut usual = sample(format!("{service}.{resource}.{verb}"), &verbs[verb], &terms);
                usual.summary = usual.summary.replace("{one}", text(&table["one"]));
                usual.summary = usual.summary.replace("{many}", text(&table["many"]));
                samples.push(usual);
            }
            for (verb, texts) in table.get("more").map(object).into_iter().flatten() {
                samples.push(sample(format!("{service}.{resource}.{verb}"), texts, &terms));
            }
        }
    }
    samples
}

fn sample(name: String, texts: &Value, common_terms: &[String]) -> Sample {
    let mut all = terms(&texts[1]);
    all.extend_from_slice(common_terms);
    Sample { name, summary: text(&texts[0]).to_owned(), terms: all }
}

fn terms(list: &Value) -> Vec<String> {
    text(list).split(", ").filter(|term| !term.is_empty()).map(str::to_owned).collect()
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap()
}

fn object(value: &Value) -> &Map<String, Value> {
    value.as_object().unwrap()
}
