//! Errors as values and calls in parallel: order, the cap, a denial, one that hangs, and the limits that end the run.

use std::fs;

use serde_json::{Value, json};

use crate::harness::{Daemon, allow_all, faulty};

/// Denies every text that begins with "denied".
const RULES: &str = r#"package p

default allow := true

allow := false if startswith(input.arguments.text, "denied")

reason := "ask the owner" if input.arguments.text == "denied with a reason"
"#;

fn daemon(limits: &str) -> Daemon {
    let config = allow_all(&format!("[limits]\n{limits}\n{}", faulty())).replace(
        "mode = \"allow-all\"",
        "mode = \"rego\"\nmodules = [\"p.rego\"]\nexecute = \"data.p.allow\"\nreason = \"data.p.reason\"",
    );
    Daemon::start_with(&config, |folder| fs::write(folder.join("p.rego"), RULES).unwrap())
}

/// What stands in a slot: the value, or the failure's code and message.
const SHOW: &str = "def show(slot):
    if slot.ok:
        return slot.value
    return [slot.error.code, slot.error.message, slot.error.retryable]

";

/// Runs the body of a `main` that may use `show`.
#[track_caller]
fn result(daemon: &Daemon, body: &str) -> Value {
    daemon.execute(&format!("{SHOW}{}", crate::harness::program(body))).result().clone()
}

#[test]
fn attempt_gives_a_value_or_a_failure_that_a_program_can_act_on() {
    let daemon = daemon("");
    for (call, slot) in [
        ("faulty.echo, value = [1, 2]", json!([1, 2])),
        ("faulty.echo, value = None", json!(null)),
        ("faulty.note, text = \"denied\"", json!(["permission_denied", "permission denied", false])),
        ("faulty.note, text = \"denied with a reason\"", json!(["permission_denied", "ask the owner", false])),
        ("faulty.publish, message = \"no paper\"", json!(["capability_failed", "no paper", true])),
        ("faulty.fail, message = \"private\"", json!(["capability_failed", "capability failed", true])),
        ("faulty.panic", json!(["capability_failed", "capability failed", true])),
        ("faulty.wrong_type", json!(["capability_failed", "capability failed", true])),
        ("faulty.raw, json = \"1e400\"", json!(["capability_failed", "capability failed", true])),
    ] {
        let slot_of = |body: &str| result(&daemon, body);
        assert_eq!(slot_of(&format!("return show(attempt({call}))")), slot, "{call}");
        // A slot of `parallel` is shaped the same.
        assert_eq!(slot_of(&format!("return show(parallel([call({call})])[0])")), slot, "{call}");
    }
    let unbound = result(&daemon, "return [attempt(faulty.note, x = 1).error.code, attempt(faulty.note).error.code]");
    assert_eq!(unbound, json!(["invalid_arguments", "invalid_arguments"]));
}

#[test]
fn one_failure_in_parallel_spoils_no_sibling_and_the_order_is_that_of_the_calls() {
    let daemon = daemon("");
    let slots = result(
        &daemon,
        "calls = [
    call(faulty.sleep, milliseconds = 300),
    call(faulty.note, text = \"denied\"),
    call(faulty.echo, value = 1),
    call(faulty.note, text = 7),
    call(faulty.fail, message = \"x\"),
    call(faulty.sleep, milliseconds = 100),
    call(faulty.panic_async),
    call(faulty.echo_async, value = {\"b\": 1, \"a\": 2}),
]
return [show(slot) if slot.ok else slot.error.code for slot in parallel(calls)]",
    );
    let expected = json!([
        300,
        "permission_denied",
        1,
        "invalid_arguments",
        "capability_failed",
        100,
        "capability_failed",
        { "b": 1, "a": 2 }
    ]);
    assert_eq!(slots, expected);
    assert_eq!(result(&daemon, "return parallel([])"), json!([]));
    // A call that is made twice is two calls.
    let twice = daemon.main("c = call(faulty.record, value = 1)\nreturn len(parallel([c, c] + [c]))");
    assert_eq!((twice.result(), &twice.meta["codemoded/calls"]), (&json!(3), &json!(3)));
    assert_eq!(fs::read_to_string(daemon.folder.path().join("calls.jsonl")).unwrap().lines().count(), 3);
}

#[test]
fn no_more_calls_run_at_once_than_the_cap_says() {
    for (cap, calls, most) in [(1, 5, 1), (3, 9, 3), (8, 20, 8), (8, 4, 4)] {
        let daemon = daemon(&format!("max_parallel_calls = {cap}"));
        let body = format!(
            "slots = parallel([call(faulty.crowd, milliseconds = 100)] * {calls})\n\
             return max([slot.value for slot in slots])"
        );
        assert_eq!(result(&daemon, &body), json!(most), "{calls} calls, at most {cap}");
    }
}

#[test]
fn large_values_cross_both_ways_at_once() {
    for (cap, calls) in [(1, 3), (2, 6), (8, 9)] {
        let daemon = daemon(&format!("max_parallel_calls = {cap}\nmax_intermediate_value_bytes = \"16MiB\""));
        let body = format!(
            "slots = parallel([call(faulty.echo, value = \"x\" * 800000)] * {calls})\n\
             return [len(slot.value) for slot in slots]"
        );
        assert_eq!(result(&daemon, &body), json!(vec![800_000; calls]), "{calls} calls, at most {cap}");
    }
}

#[test]
fn what_a_handler_publishes_is_cut_for_a_program_too() {
    let daemon = daemon("");
    let message = result(&daemon, "return attempt(faulty.publish, message = \"a\\n\" + \"é\" * 200).error.message");
    assert_eq!(message, json!(format!("a {}...", "é".repeat(125))));
}

#[test]
fn a_call_has_its_time_from_its_own_start_and_not_from_when_it_was_queued() {
    let daemon = daemon("max_parallel_calls = 1\nmax_call_time = \"800ms\"");
    let slots = result(&daemon, "return [show(s) for s in parallel([call(faulty.sleep, milliseconds = 300)] * 5)]");
    assert_eq!(slots, json!([300, 300, 300, 300, 300]));
}

#[test]
fn limits_end_the_run_whatever_a_program_attempts() {
    let daemon = daemon("max_native_calls = 4\nmax_call_time = \"300ms\"\nmax_intermediate_value_bytes = 1000");
    let changed = "may have changed: faulty.record ×1";
    let rows = [
        ("return attempt(faulty.hang).ok", "max_call_time\ncalls made: 2; may have changed: faulty.record ×1"),
        (
            "return parallel([call(faulty.echo, value = 1), call(faulty.wait), call(faulty.echo, value = 2)])[0].ok",
            "max_call_time\ncalls made: 4; may have changed: faulty.record ×1",
        ),
        (
            "return len([attempt(faulty.fail, message = \"x\") for _ in range(4)])",
            "max_native_calls\ncalls made: 4; may have changed: faulty.record ×1",
        ),
        (
            "return len(parallel([call(faulty.note, text = 1) for _ in range(4)]))",
            "max_native_calls\ncalls made: 1; may have changed: faulty.record ×1",
        ),
        (
            "return len(parallel([call(faulty.huge, letters = 600) for _ in range(2)]))",
            "max_intermediate_value_bytes\ncalls made: 3; may have changed: faulty.record ×1",
        ),
    ];
    for (body, text) in rows {
        let answer = daemon.main(&format!("faulty.record(value = 1)\n{body}"));
        assert_eq!(answer.error(), format!("resource limit exceeded: {text}"), "{body}");
        assert!(answer.text.ends_with(changed), "{}", answer.text);
    }
}

#[test]
fn attempt_call_and_parallel_say_how_they_are_used() {
    let daemon = daemon("");
    let takes = |name: &str| {
        format!("{name} takes a capability and its arguments by keyword, as in `{name}(records.lookup, key = \"a\")`")
    };
    let list = "parallel takes a list of calls, as in `parallel([call(records.lookup, key = k) for k in keys])`";
    for (body, text) in [
        ("attempt(lambda: faulty.echo(value = 1))", takes("attempt")),
        ("attempt()", takes("attempt")),
        ("attempt(faulty.echo, 1)", takes("attempt")),
        ("attempt(\"faulty.echo\", value = 1)", takes("attempt")),
        ("attempt(faulty, value = 1)", takes("attempt")),
        ("call(faulty.echo, {\"value\": 1})", takes("call")),
        ("parallel(faulty.echo)", list.to_owned()),
        ("parallel()", list.to_owned()),
        ("parallel([faulty.echo])", list.to_owned()),
        ("parallel([1])", list.to_owned()),
        ("parallel(call(faulty.echo, value = 1), call(faulty.echo, value = 2))", list.to_owned()),
        ("parallel(None)", list.to_owned()),
    ] {
        let answer = daemon.main(body);
        assert_eq!(answer.error(), format!("invalid program: <codemode>:2:5: {text}"), "{body}");
    }
    let outside = daemon.execute("attempt(faulty.echo, value = 1)\ndef main():\n    return 1\n");
    let text = "invalid program: <codemode>:1:1: capabilities can be called only while main() runs";
    assert!(outside.error().starts_with(text), "{}", outside.text);
}
