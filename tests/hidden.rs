//! A disabled capability is nowhere: a client cannot tell it from one that never was.

use serde_json::json;

use crate::harness::{Daemon, allow_all, program, records};

const DISABLED: &str = "[catalog]\ndisabled = [\"records.entry.delete\", \"records.entry.lookup\"]\n";

/// Programs that look for what is disabled, with what they see where it is `NAME`.
const LOOKS: [&str; 6] = [
    "return dir(records)",
    "return hasattr(records, \"NAME\")",
    "return getattr(records, \"NAME\", \"none\")",
    "return getattr(records, \"NAME\")",
    "return records.NAME(key = \"a\")",
    "return attempt(records.NAME, key = \"a\")",
];

#[test]
fn a_disabled_capability_is_absent_from_search_and_description() {
    let everything = Daemon::start(&allow_all(&records()));
    let found = |daemon: &Daemon, query: &str| {
        let answer = daemon.call("search_api", json!({ "query": query }), &[]).structured.unwrap();
        let names = answer["results"].as_array().unwrap().iter().map(|each| each["name"].clone()).collect::<Vec<_>>();
        assert_eq!(answer["total"], json!(names.len()));
        names
    };
    assert_eq!(found(&everything, "delete"), ["records.delete"]);
    assert_eq!(found(&everything, "records").len(), 5);
    let daemon = Daemon::start(&allow_all(&format!("{DISABLED}{}", records())));
    assert_eq!(found(&daemon, "delete"), [""; 0]);
    assert_eq!(found(&daemon, "records").len(), 3);
    for name in ["records.delete", "records.lookup", "records.nothing"] {
        assert_eq!(daemon.call("describe_api", json!({ "name": name }), &[]).error(), "capability not found");
    }
}

#[test]
fn a_misspelt_name_is_answered_with_the_nearest_that_is_there() {
    let everything = Daemon::start(&allow_all(&records()));
    let daemon = Daemon::start(&allow_all(&format!("{DISABLED}{}", records())));
    for (name, all, enabled) in [
        ("records.delte", "capability not found; did you mean `records.delete`?", "capability not found"),
        (
            "records.pt",
            "capability not found; did you mean `records.put`?",
            "capability not found; did you mean `records.put`?",
        ),
        ("records.nothing", "capability not found", "capability not found"),
        ("", "capability not found", "capability not found"),
    ] {
        let described = |daemon: &Daemon| daemon.call("describe_api", json!({ "name": name }), &[]).error().to_owned();
        assert_eq!((described(&everything), described(&daemon)), (all.to_owned(), enabled.to_owned()), "{name}");
    }
    let long = "records.put".repeat(50_000);
    assert_eq!(everything.call("describe_api", json!({ "name": long }), &[]).error(), "capability not found");
}

#[test]
fn a_disabled_capability_is_absent_from_a_program() {
    let daemon = Daemon::start(&allow_all(&format!("{DISABLED}{}", records())));
    assert_eq!(*daemon.main("return dir(records)").result(), json!(["entries", "put", "search"]));
    for look in LOOKS {
        let [disabled, unknown] = ["lookup", "lookop"].map(|name| {
            let answer = daemon.execute(&program(&look.replace("NAME", name)));
            (answer.is_error, answer.text.replace(name, "NAME"), answer.meta["codemoded/calls"].clone())
        });
        assert_eq!(disabled, unknown, "{look}");
    }
}
