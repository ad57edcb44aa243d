//! One question, one answer.

use super::*;

#[track_caller]
fn check(module: &str, arguments: &str, expected: Decision) {
    assert_eq!(decide(module, arguments), expected, "{module}");
}

#[test]
fn only_true_allows_and_only_false_denies() {
    check("allow := true", "{}", Decision::Allow);
    check("allow := false", "{}", deny());
    check("default allow := false\nallow if input.arguments.n > 3", r#"{"n": 4}"#, Decision::Allow);
    check("default allow := false\nallow if input.arguments.n > 3", r#"{"n": 3}"#, deny());
    check("allow if input.arguments.n > 3", r#"{"n": 3}"#, Decision::Failure(PolicyFailure::Undefined));
    for (value, kind) in [
        ("null", "null"),
        ("1", "a number"),
        (r#""true""#, "a string"),
        ("[true]", "an array"),
        ("{true}", "a set"),
        (r#"{"allow": true}"#, "an object"),
    ] {
        check(&format!("allow := {value}"), "{}", Decision::Failure(PolicyFailure::NotBoolean(kind)));
    }
    check("allow contains 1 if true", "{}", Decision::Failure(PolicyFailure::NotBoolean("a set")));
}

#[test]
fn the_input_is_subject_capability_and_arguments() {
    let module = r#"
        allow := input == {
            "subject": {"id": "ada", "claims": {"groups": ["staff", "ops"]}},
            "capability": {"id": "records.entry.lookup", "name": "records.lookup", "hints": {"read_only": true}},
            "arguments": {"key": "a", "list": [1, null, 2.5, {"b": false}]},
        }"#;
    check(module, r#"{"key": "a", "list": [1, null, 2.5, {"b": false}]}"#, Decision::Allow);
}

#[test]
fn numbers_are_exact() {
    let nines = "9".repeat(1000);
    let less_one = format!("{}8", "9".repeat(999));
    for (left, right) in [
        ("9007199254740993", "9007199254740992"),
        ("18446744073709551616", "18446744073709551615"),
        ("-18446744073709551617", "-18446744073709551616"),
        ("1000000000000000000000000000000", "1000000000000000000000000000001"),
        (nines.as_str(), less_one.as_str()),
        ("0.1", "0.10000000000000002"),
        ("-9223372036854775808", "-9223372036854775807"),
    ] {
        let arguments = format!(r#"{{"n": {left}}}"#);
        let mut source = source("default allow := false\nallow if input.arguments.n == data.n");
        for (number, expected) in [(left, Decision::Allow), (right, deny())] {
            source.data = vec![Text { path: "data.json".into(), text: format!(r#"{{"n": {number}}}"#) }];
            assert_eq!(wait(load(&source).decide(question(&arguments), soon())), expected, "{left} {number}");
        }
    }
    check("allow := input.arguments.n == 9007199254740993", r#"{"n": 9007199254740993}"#, Decision::Allow);
    check("allow := input.arguments.n == 9007199254740993", r#"{"n": 9007199254740992}"#, deny());
    check("allow := input.arguments.n + 1 == 18446744073709551617", r#"{"n": 18446744073709551616}"#, Decision::Allow);
    check("allow := input.arguments.n < 10", r#"{"n": 9.5}"#, Decision::Allow);
}

#[test]
fn an_error_is_fatal_even_where_a_rule_could_pass_over_it() {
    let by_zero = failed("`/` by zero");
    check("default allow := false\nallow if 1 / input.arguments.n == 1", r#"{"n": 0}"#, by_zero.clone());
    // Passed over, this would allow.
    check("default allow := false\nallow if not banned\nbanned if 1 / input.arguments.n == 1", r#"{"n": 0}"#, by_zero);
    let module = "default allow := false\nallow if not banned\nbanned if base64.decode(input.arguments.n) == \"x\"";
    check(module, r#"{"n": "eA=="}"#, deny());
    assert!(matches!(
        decide(module, r#"{"n": "%%%"}"#),
        Decision::Failure(PolicyFailure::Evaluation(cause)) if cause.starts_with("base64.decode: ")
    ));
    check(
        "default allow := false\nallow if not banned\nbanned if input.arguments.n + 1 == 2",
        r#"{"n": "x"}"#,
        failed("`+` needs two numbers"),
    );
    check("allow if [x | some x in [1]; 5 % input.arguments.n == 1] == []", r#"{"n": 0}"#, failed("`%` by zero"));
    check(
        "allow if f(input.arguments.n)\nf(x) if upper(x) == 1",
        r#"{"n": 0}"#,
        failed("upper: `upper` expects string argument. Got `0` instead"),
    );
}

#[test]
fn two_values_of_one_thing_are_an_error() {
    for module in [
        "default allow := false\nallow if not r == 9\nr := 1 if input.arguments.n > 0\nr := 2 if input.arguments.n > 1",
        "default allow := false\nallow if not r == 9\nr := x if some x in [1, input.arguments.n]",
        "default allow := false\nallow if not f(1) == 9\nf(x) := x if x > 0\nf(x) := input.arguments.n if x > 0",
        "default allow := false\nallow if not r.a == 9\nr := {k: v | k := \"a\"; some v in [1, input.arguments.n]}",
        "default allow := false\nallow if not r.a == 9\nr[k] := v if { k := \"a\"; some v in [1, input.arguments.n] }",
        "default allow := false\nallow if input.arguments.n > 0\nallow := false if input.arguments.n > 1",
    ] {
        let decision = decide(module, r#"{"n": 2}"#);
        assert!(matches!(decision, Decision::Failure(PolicyFailure::Evaluation(_))), "{module}: {decision:?}");
        let decision = decide(module, r#"{"n": 1}"#);
        assert_eq!(decision, Decision::Allow, "{module}");
    }
}

#[test]
fn errors_are_fatal_in_the_interpreter_too() {
    let two = "r := 1 if input.arguments.m\nr := 2 if not input.arguments.m";
    for rule in ["1 / input.arguments.n == 1", "upper(input.arguments.n) == \"A\"", "input.arguments.m + 1 == 2"] {
        let module = format!("default allow := false\nallow if {{ not banned; r > 0 }}\nbanned if {rule}\n{two}");
        let decision = decide(&module, r#"{"n": 0, "m": true}"#);
        assert!(matches!(decision, Decision::Failure(PolicyFailure::Evaluation(_))), "{rule}: {decision:?}");
    }
}

#[test]
fn what_the_register_machine_misreads_is_interpreted() {
    check("default f(x) := 1\nf(x) := x if x > 0\nallow := f(input.arguments.n) == 1", r#"{"n": -1}"#, Decision::Allow);
    let sets = "p[q] contains r if { some q in [\"a\", \"b\"]; some r in [1, 2]; not q == \"b\" }\np.b contains 9";
    check(&format!("{sets}\nallow := p == {{\"a\": {{1, 2}}, \"b\": {{9}}}}"), "{}", Decision::Allow);
}

#[test]
fn kinds_are_ordered_and_never_pass_for_undefined() {
    let two = "r := 1 if input.arguments.m\nr := 2 if not input.arguments.m";
    for (rule, expected) in [("\"s\" > 5", Decision::Allow), ("\"s\" < 5", deny()), ("null < false", Decision::Allow)] {
        check(&format!("allow := {rule}"), "{}", expected.clone());
        check(&format!("allow := a if r > 0\na := {rule}\n{two}"), "{}", expected);
    }
}

#[test]
fn growth_is_stopped() {
    let square = (1..40).map(|n| format!("n{n} := n{} * n{}", n - 1, n - 1)).collect::<Vec<_>>().join("; ");
    let module = format!("allow if {{ n0 := input.arguments.n; {square}; n39 > 0 }}");
    check(&module, r#"{"n": 123456789}"#, failed("`*` gives too large a number"));
    let five =
        "a := numbers.range(1, 3000)\nallow if count([1 | some x in a; some y in a; some z in a; x + y == z]) == 1";
    let mut endless = source(five);
    endless.danger_builtins = vec!["numbers.range".into()];
    let policy = load(&endless);
    let started = Instant::now();
    let deadline = started + Duration::from_millis(60);
    let decision = wait(policy.decide(question("{}"), deadline));
    assert!(
        matches!(decision, Decision::Failure(PolicyFailure::TimedOut | PolicyFailure::Instructions { .. })),
        "{decision:?}"
    );
    assert!(started.elapsed() < Duration::from_millis(90), "{:?}", started.elapsed());
}

#[test]
fn a_panic_is_a_failure_and_the_next_decision_is_sound() {
    // The engine's `strings.count` divides a text into pieces of no length.
    let mut panics = source("allow := strings.count(input.arguments.text, \"\") == 1");
    panics.danger_builtins = vec!["strings.count".into()];
    let policy = load(&panics);
    for _ in 0..8 {
        let decision = wait(policy.decide(question(r#"{"text": "abc"}"#), soon()));
        assert_eq!(decision, Decision::Failure(PolicyFailure::Panicked));
    }
    assert_eq!(wait(load(&source("allow := true")).decide(question("{}"), soon())), Decision::Allow);
}

#[test]
fn print_is_erased() {
    check(
        "allow if {\n  print(\"é\", input.nothing,\n    1)\n  input.arguments.n == 1\n}",
        r#"{"n": 1}"#,
        Decision::Allow,
    );
    check("allow if { print(input.nothing) }", "{}", Decision::Allow);
}

#[test]
fn metadata_and_its_schemas_count_for_nothing() {
    let module = "# METADATA\n# schemas:\n#   - input: {\"$ref\": \"http://127.0.0.1:1/schema.json\"}\nallow := true";
    check(module, "{}", Decision::Allow);
}

#[test]
fn modules_and_data_documents_are_one() {
    let mut source = source(
        "import data.groups\nallow if { groups.is_ops(input.subject); data.limits.max > 1; data.limits.min < 1 }",
    );
    source.modules.push(Text {
        path: "groups.rego".into(),
        text: "package groups\nis_ops(subject) if \"ops\" in subject.claims.groups\n".into(),
    });
    source.data = vec![
        Text { path: "a.json".into(), text: r#"{"limits": {"max": 2}}"#.into() },
        Text { path: "b.json".into(), text: r#"{"limits": {"min": 0}}"#.into() },
    ];
    assert_eq!(wait(load(&source).decide(question("{}"), soon())), Decision::Allow);
    assert_eq!(load(&source).summary(), "authz.rego, groups.rego: data.p.allow, 2 rules, no refused built-ins");
}

#[test]
fn a_reason_is_a_short_clean_text_of_a_denial() {
    let long = "ü".repeat(200);
    let cut = format!("{}...", "ü".repeat(126));
    for (rule, expected) in [
        ("reason := \"no\"", Some("no")),
        ("reason := \"a\\tb\\nc\\u0085d\"", Some("a b c d")),
        (&format!("reason := \"{long}\""), Some(cut.as_str())),
        (&format!("reason := \"{}\"", "x".repeat(256)), Some("x".repeat(256).as_str())),
        ("reason := 5", None),
        ("reason := \"x\" if input.nothing", None),
        ("reason := \"x\" if 1 / input.arguments.zero == 1", None),
    ] {
        let mut source = source(&format!("default allow := false\nallow if input.arguments.ok\n{rule}"));
        source.reason = Some("data.p.reason".into());
        let policy = load(&source);
        let denied = wait(policy.decide(question(r#"{"zero": 0}"#), soon()));
        assert_eq!(denied, Decision::Deny { reason: expected.map(str::to_owned) }, "{rule}");
        assert_eq!(wait(policy.decide(question(r#"{"ok": true, "zero": 0}"#), soon())), Decision::Allow, "{rule}");
    }
}

#[test]
fn only_true_shows_a_capability() {
    let mut shown = source(
        r#"
        allow := true
        discover := true if { input.capability.name == "a.shown"; not "arguments" in object.keys(input) }
        discover := false if input.capability.name == "a.hidden"
        discover := 1 if input.capability.name == "a.number"
        discover := upper(1) if input.capability.name == "a.error"
        "#,
    );
    let names = ["a.shown", "a.hidden", "a.number", "a.error", "a.undefined", "a.shown"];
    let all = || names.iter().map(|name| asked(name)).collect::<Vec<_>>();
    let everything = wait(load(&shown).visible(&subject(), all(), soon()));
    assert_eq!(everything, [true; 6]);
    shown.discover = Some("data.p.discover".into());
    let policy = load(&shown);
    assert!(policy.discovers());
    assert_eq!(wait(policy.visible(&subject(), all(), soon())), [true, false, false, false, false, true]);
    assert_eq!(wait(policy.visible(&subject(), all(), Instant::now())), [false; 6]);
    assert!(wait(policy.discover(&subject(), asked("a.shown"), soon())));
    assert!(!wait(policy.discover(&subject(), asked("a.hidden"), soon())));
}

#[test]
fn allow_all_is_said_and_allows_all() {
    let policy = Policy::AllowAll;
    assert_eq!(wait(policy.decide(question("{}"), Instant::now())), Decision::Allow);
    assert_eq!(wait(policy.visible(&subject(), vec![asked("a.b")], Instant::now())), [true]);
}
