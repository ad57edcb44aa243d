//! A policy that fails starts nothing, or denies: in no way of failing does it allow.

use std::fs;
use std::path::Path;

use crate::harness::{Daemon, allow_all, executable, faulty, refusal_of};

fn config(policy: &str, rest: &str) -> String {
    let policy = format!("mode = \"rego\"\nmodules = [\"p.rego\"]\n{policy}");
    allow_all(&format!("{rest}{}", faulty())).replace("mode = \"allow-all\"", &policy)
}

/// What this module, the decision `data.p.allow` and these further settings are refused for.
#[track_caller]
fn refused(module: &str, more: &str, reason: &str) {
    let policy = if more.contains("execute") { more.to_owned() } else { format!("execute = \"data.p.allow\"\n{more}") };
    let told = refusal_of(Path::new(executable()), &config(&policy, ""), 78, |folder| {
        fs::write(folder.join("p.rego"), format!("package p\n{module}\n")).unwrap();
        fs::write(folder.join("a.json"), "{\"n\": 1}").unwrap();
        fs::write(folder.join("b.json"), "{\"n\": 2, \"p\": {\"allow\": true}}").unwrap();
        fs::write(folder.join("twice.json"), "{\"n\": 1, \"n\": 2}").unwrap();
        fs::write(folder.join("huge.json"), "{\"n\": 1e400}").unwrap();
    });
    assert!(told.contains(reason), "{module} {more}: {told}");
}

#[test]
fn a_policy_that_cannot_be_relied_on_starts_nothing() {
    let ground = "is no rule; write `data.` and the package and rule";
    let never = "is never available in a policy";
    let dangerous = "name it in `policy.danger_builtins`";
    for (module, more, reason) in [
        // Not of this language, or not of this version of it.
        ("allow { true }", "", "p.rego:2: `if` keyword is required before rule body"),
        ("allow := ]", "", "p.rego:2: expecting expression"),
        // Not there.
        ("allow := true", "data = [\"gone.json\"]", "gone.json"),
        ("allow := true", "execute = \"data.p.other\"", ":9:11: policy.execute: no module defines `data.p.other`"),
        ("allow := true", "discover = \"data.p.other\"", ":10:12: policy.discover: no module defines `data.p.other`"),
        ("allow := true", "reason = \"data.p.other\"", ":10:10: policy.reason: no module defines `data.p.other`"),
        ("f(x) := x", "execute = \"data.p.f\"", "a decision takes no arguments"),
        // Not one decision.
        ("allow := true", "execute = \"data.p[_]\"", ground),
        ("allow := true", "execute = \"data.p\"", ground),
        ("allow := true", "execute = \"input.allow\"", ground),
        ("allow := true", "execute = \"data.p.allow == true\"", ground),
        ("allow := true", "execute = \"\"", ground),
        ("default allow := true\n\ndefault allow := false", "", "p.rego:4: `data.p.allow` has a default already, at /"),
        ("default f(_) := 1\ndefault f(_) := 1\nallow := true", "", "p.rego:3: `data.p.f` has a default already, at /"),
        // Could recurse.
        ("allow if allow", "", "is recursive"),
        ("allow if not b\nb if not allow", "", "is recursive"),
        ("allow := true\nf(x) if f(x - 1)", "", "is recursive"),
        ("allow if data.p[input.arguments.text]", "", "is recursive"),
        // Depends on more than its input, or talks to others.
        ("allow if time.now_ns() > 0", "", never),
        ("allow if http.send({\"url\": \"http://127.0.0.1:1\"})", "", never),
        ("allow if rand.intn(\"x\", 2) == 0", "", never),
        ("allow if uuid.rfc4122(\"x\") != \"\"", "", never),
        ("allow if opa.runtime() == {}", "", never),
        ("allow if net.lookup_ip_addr(\"x\") == {}", "", never),
        (
            "allow := true",
            "danger_builtins = [\"http.send\"]",
            ":10:19: policy.danger_builtins: `http.send` is never available",
        ),
        ("allow if nothing.like(1)", "", "is no built-in and no function of this policy"),
        // May take time or space out of proportion.
        ("allow if count(numbers.range(1, input.arguments.n)) > 0", "", dangerous),
        ("allow if regex.match(input.arguments.text, \"a\")", "", "is linear only where its argument 1 is a literal"),
        // Data that can be read in two ways, or not at all.
        ("allow := true", "data = [\"a.json\", \"b.json\"]", "`data.n` is already in"),
        ("allow := true", "data = [\"b.json\"]", "a data document and a rule define the same path"),
        ("allow := true", "data = [\"twice.json\"]", "the same key twice in one object"),
        ("allow := true", "data = [\"huge.json\"]", "huge.json"),
        ("allow := true", "data = [\"p.rego\"]", "not valid JSON"),
    ] {
        refused(module, more, reason);
    }
}

/// Each `text` finds its decision. Whoever passed over an error in `banned` would allow.
const RULES: &str = r#"package p

import data.words

allow := value if { not banned; value := words[input.arguments.text] }

banned if { input.arguments.text == "by zero"; 1 / words.none == 1 }

banned if { input.arguments.text == "of another kind"; upper(words.none) == "0" }

banned if { input.arguments.text == "a panic"; strings.count("abc", "") == 1 }

banned if {
    input.arguments.text == "grown numbers"
    a := 123456789123456789 * 123456789123456789
    b := a * a
    c := b * b
    d := c * c
    e := d * d
    f := e * e
    g := f * f
    h := g * g
    i := h * h
    i < 0
}

banned if {
    input.arguments.text == "a long way"
    some x in numbers.range(1, 3000)
    some y in numbers.range(1, 3000)
    x + y == 0
}
"#;

/// Rules that can give two values, for which another machine decides.
const CONFLICTING: &str = r#"
allow := false if input.arguments.text == "two values"

banned if { input.arguments.text == "two values below"; level == 3 }

level := 1 if input.arguments.text == "two values below"

level := 2 if startswith(input.arguments.text, "two values")
"#;

const WORDS: &str = r#"{"words": {"sound": true, "denied": false, "by zero": true, "of another kind": true, "a panic": true, "grown numbers": true,
"a long way": true, "two values": true, "two values below": true, "none": 0, "null": null, "a number": 1, "a word": "true",
"a list": [true], "an object": {"allow": true}, "nothing much": "", "an empty list": [], "an empty object": {}}}"#;

#[test]
fn a_decision_that_fails_allows_nothing() {
    allows_nothing(RULES, &["grown numbers"]);
}

#[test]
fn a_decision_that_fails_allows_nothing_where_rules_may_conflict() {
    allows_nothing(&format!("{RULES}{CONFLICTING}"), &["two values", "two values below"]);
}

#[track_caller]
fn allows_nothing(rules: &str, more: &[&str]) {
    let policy =
        "execute = \"data.p.allow\"\ndata = [\"words.json\"]\ndanger_builtins = [\"numbers.range\", \"strings.count\"]";
    let daemon = Daemon::start_with(&config(policy, "[limits]\nmax_call_time = \"300ms\"\n"), |folder| {
        fs::write(folder.join("p.rego"), rules).unwrap();
        fs::write(folder.join("words.json"), WORDS).unwrap();
    });
    let note = |text: &str| daemon.main(&format!("return faulty.note(text = \"{text}\")"));
    let no_booleans = [
        "undefined",
        "null",
        "none",
        "a number",
        "a word",
        "a list",
        "an object",
        "nothing much",
        "an empty list",
        "an empty object",
    ];
    for text in no_booleans.iter().chain(&["by zero", "of another kind", "a panic"]).chain(more) {
        let answer = note(text);
        assert!(answer.is_error && answer.text == "authorization policy failure", "{text}: {answer:?}");
    }
    let long = note("a long way");
    assert_eq!(long.error(), "authorization policy failure");
    assert_eq!(note("denied").error(), "permission denied");
    assert!(!daemon.folder.path().join("calls.jsonl").exists(), "nothing has reached the handler");
    assert!(!note("sound").is_error, "and the policy goes on deciding");
}
