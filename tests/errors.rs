//! What a client reads of a failure: fixed texts, the calls made before it, and nothing about the host.

use std::fs;

use serde_json::{Value, json};

use crate::harness::{Answer, Daemon, allow_all, faulty, program, until};

/// Decides by the argument `text`, and lets through every call without one.
const RULES: &str = r#"package p

allow := true if not input.arguments.text

allow := true if input.arguments.text == "allowed"

allow := false if startswith(input.arguments.text, "denied")

allow := "yes" if input.arguments.text == "a word"

allow := true if input.arguments.text == "both"

allow := false if input.arguments.text == "both"

reason := "ask\nthe owner" if input.arguments.text == "denied with a reason"

reason := 7 if input.arguments.text == "denied with a number"
"#;

const SECRET: &str = "correct-horse-battery-staple-1234";

const PUBLISHED_REASONS: &str = "reason = \"data.p.reason\"\n";

fn open() -> Daemon {
    Daemon::start(&allow_all(&(faulty() + "[catalog]\ndisabled = [\"faulty.crash\"]\n")))
}

/// A daemon whose policy is [`RULES`].
fn ruled(reason: &str) -> Daemon {
    let config = format!(
        "[server]\nlisten = \"127.0.0.1:0\"\n[identity]\nmode = \"static\"\nsubject = \"local\"\n[policy]\n\
         mode = \"rego\"\nmodules = [\"p.rego\"]\nexecute = \"data.p.allow\"\n{reason}{}",
        faulty()
    );
    Daemon::start_with(&config, |folder| fs::write(folder.join("p.rego"), RULES).unwrap())
}

/// The lines that reached a handler which records.
fn recorded(daemon: &Daemon) -> Vec<Value> {
    let text = fs::read_to_string(daemon.folder.path().join("calls.jsonl")).unwrap_or_default();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Runs each body of a `main` and compares the whole text of the failure.
#[track_caller]
fn check(daemon: &Daemon, rows: &[(&str, &str)]) {
    check_programs(daemon, &rows.iter().map(|(body, text)| (program(body), *text)).collect::<Vec<_>>());
}

#[track_caller]
fn check_programs(daemon: &Daemon, rows: &[(impl AsRef<str>, &str)]) {
    for (source, text) in rows {
        let source = source.as_ref();
        let answer = daemon.execute(source);
        assert_eq!(answer.error(), *text, "{source}");
        assert_run(&answer);
    }
}

/// The answer names its run.
#[track_caller]
fn assert_run(answer: &Answer) {
    let run = answer.meta["codemoded/run"].as_str().unwrap();
    assert!(run.len() == 32 && run.chars().all(|char| char.is_ascii_hexdigit()), "{run}");
    assert!(answer.meta["codemoded/calls"].is_u64(), "{}", answer.meta);
}

#[test]
fn an_unknown_and_a_disabled_capability_are_the_same() {
    let daemon = open();
    for name in ["faulty.crash", "faulty.crasj", "nothing", "", "faulty", "FAULTY.ECHO"] {
        let answer = daemon.call("describe_api", json!({ "name": name }), &[]);
        assert_eq!(answer.error(), "capability not found", "{name:?}");
    }
    let text = |name: &str| daemon.main(&format!("return faulty.{name}()")).error().replace(name, "NAME");
    assert_eq!(text("crash"), text("crasj"));
    assert!(text("crash").starts_with("invalid program: <codemode>:2:12: "), "{}", text("crash"));
}

#[test]
fn an_invalid_program_says_where_and_why() {
    let daemon = open();
    let no_main = "1:1: the program must define `def main():` without parameters; only what main returns leaves it";
    for (source, fault) in [
        ("", no_main),
        ("x = 1\n", no_main),
        ("def main(x):\n    return x\n", "1:5: main takes no parameters; write `def main():`"),
        (
            "x = faulty.echo(value = 1)\ndef main():\n    return x\n",
            "1:5: capabilities can be called only while main() runs",
        ),
    ] {
        check_programs(&daemon, &[(source, &format!("invalid program: <codemode>:{fault}"))]);
    }
    for (body, fault) in [
        ("while True:\n    pass", "2:5: cannot use reserved keyword `while`; use `for _ in range(n):` with `break`"),
        ("return 1 // 0", "2:12: Floor division by zero: 1 // 0"),
        ("return main", "1:5: main's result is a function; call it"),
        ("return {\"a\": [range(3)]}", "1:5: main's result['a'][0] is a range; use list(…)"),
        ("return float(\"nan\")", "1:5: main's result is not finite"),
        ("return {1: 2}", "1:5: main's result keys must be strings"),
    ] {
        check(&daemon, &[(body, &format!("invalid program: <codemode>:{fault}"))]);
    }
}

#[test]
fn arguments_that_do_not_bind_say_where_and_why_and_reach_no_handler() {
    let daemon = open();
    let at = "invalid capability arguments: <codemode>:2:5:";
    let rows = [
        ("faulty.note()", "faulty.note: missing required argument \"text\""),
        ("faulty.note(text = 1)", "faulty.note: argument \"text\" must be a string"),
        ("faulty.note(\"x\")", "faulty.note: arguments are passed by keyword only"),
        ("faulty.note(txet = \"x\")", "faulty.note: unknown argument \"txet\"; did you mean \"text\"?"),
        ("faulty.record(value = 1, tags = [\"a\", 2])", "faulty.record: argument \"tags[1]\" must be a string"),
        ("faulty.record(value = 1, count = 256)", "faulty.record: argument \"count\" must be between 0 and 255"),
        ("faulty.record(value = 1, count = 1.0)", "faulty.record: argument \"count\" must be an integer or None"),
        ("faulty.record(value = 1, count = True)", "faulty.record: argument \"count\" must be an integer or None"),
        ("faulty.record(value = 1, ratio = float(\"inf\"))", "faulty.record: argument \"ratio\" is not finite"),
        ("faulty.record(value = {1: 2})", "faulty.record: argument \"value\" keys must be strings"),
    ];
    for (call, why) in rows {
        let answer = daemon.main(call);
        assert_eq!(answer.error(), format!("{at} {why}"), "{call}");
        assert_eq!(answer.meta["codemoded/calls"], 0);
    }
    assert_eq!(recorded(&daemon), [Value::Null; 0]);
    let note = daemon.main("return faulty.note(text = \"x\")");
    assert_eq!(note.result()["run"], note.meta["codemoded/run"]);
    assert_eq!(note.meta["codemoded/calls"], 1);
    assert_eq!(recorded(&daemon).len(), 1);
}

#[test]
fn a_denial_has_its_published_reason_and_no_other_and_reaches_no_handler() {
    let daemon = ruled(PUBLISHED_REASONS);
    let rows = [
        ("faulty.note(text = \"denied\")", "permission denied"),
        ("faulty.note(text = \"denied with a reason\")", "permission denied: ask the owner"),
        ("faulty.note(text = \"denied with a number\")", "permission denied"),
    ];
    check(&daemon, &rows);
    // Binding comes first: what the policy would refuse is never asked.
    let unbound = daemon.main("faulty.note(text = \"denied\", more = 1)");
    assert!(unbound.error().starts_with("invalid capability arguments: "), "{}", unbound.text);
    assert_eq!(recorded(&daemon), [Value::Null; 0]);
    daemon.main("return faulty.note(text = \"allowed\")").result();
    assert_eq!(recorded(&daemon).len(), 1);

    check(&ruled(""), &[("faulty.note(text = \"denied with a reason\")", "permission denied")]);
}

#[test]
fn a_policy_that_does_not_decide_is_a_failure_of_the_policy() {
    let daemon = ruled(PUBLISHED_REASONS);
    for text in ["undefined", "a word", "both"] {
        // The program cannot handle it either.
        for call in ["faulty.note(", "attempt(faulty.note, "] {
            check(&daemon, &[(&format!("return {call}text = \"{text}\")"), "authorization policy failure")]);
        }
    }
    assert_eq!(recorded(&daemon), [Value::Null; 0]);
}

#[test]
fn a_failed_capability_tells_what_its_handler_published_and_nothing_else() {
    let daemon = open();
    let long = format!("faulty.publish(message = {:?})", "é".repeat(200));
    let cut = format!("capability failed: {}...", "é".repeat(126));
    let made = "\ncalls made: 1";
    for (call, text) in [
        ("faulty.publish(message = \"no paper\")", "capability failed: no paper"),
        ("faulty.publish(message = \"a\\nb\\tc\")", "capability failed: a b c"),
        ("faulty.publish(message = \" \")", "capability failed"),
        (&*long, &*cut),
        ("faulty.fail(message = \"hunter2 in /etc/secret\")", "capability failed"),
        ("faulty.panic()", "capability failed"),
        ("faulty.panic_async()", "capability failed"),
        ("faulty.wrong_type()", "capability failed"),
        ("faulty.raw(json = \"[1,\")", "capability failed"),
        ("faulty.raw(json = \"{\\\"a\\\":1,\\\"a\\\":2}\")", "capability failed"),
    ] {
        check(&daemon, &[(call, &format!("{text}{made}"))]);
    }
    until("the cause is in the log", || daemon.log().contains("hunter2 in /etc/secret"));
    until("the panic is in the log", || daemon.log().contains("asked to panic"));
}

#[test]
fn no_answer_tells_about_the_host() {
    let daemon = ruled(PUBLISHED_REASONS);
    let folder = daemon.folder.path().display().to_string();
    for body in [
        "faulty.fail(message = \"hunter\" + \"2\")",
        "faulty.panic()",
        "faulty.wrong_type()",
        "faulty.raw(json = \"[\")",
        "faulty.note(text = \"both\")",
        "faulty.note(text = \"denied\")",
        "faulty.note(text = 1)",
        "return faulty.nothing",
        "return dir(faulty) + [str(faulty), str(faulty.note), repr(attempt(faulty.fail, message = \"hunter\" + \"2\"))]",
    ] {
        let params = json!({ "name": "execute", "arguments": { "source": program(body) } });
        let answer = daemon.request("tools/call", params, &[]).to_string();
        for private in
            [&*folder, "hunter2", "asked to", "p.rego", "data.p", "three", ".so", "calls.jsonl", "/tmp", "plugins/"]
        {
            assert!(!answer.contains(private), "{body}: {private}: {answer}");
        }
    }
}

#[test]
fn a_failed_run_tells_what_it_may_have_changed() {
    let daemon = open();
    let before = "faulty.record(value = 1)\nfaulty.note(text = \"x\")\nfaulty.record(value = 2)\n";
    let changed = "may have changed: faulty.record ×2";
    for (last, first_line, calls) in [
        ("faulty.publish(message = \"no paper\")", "capability failed: no paper", 4),
        (
            "faulty.note(text = [1][0])",
            "invalid capability arguments: <codemode>:5:5: faulty.note: argument \"text\" must be a string",
            3,
        ),
        ("return 1 // 0", "invalid program: <codemode>:5:12: Floor division by zero: 1 // 0", 3),
        ("return \"x\" * 70000", "resource limit exceeded: max_result_bytes; filter or summarise in the program", 3),
    ] {
        let answer = daemon.main(&format!("{before}{last}"));
        assert_eq!(answer.error(), format!("{first_line}\ncalls made: {calls}; {changed}"));
        assert_eq!(answer.meta["codemoded/calls"], calls);
    }
    // A success has its count only where clients do not read: beside the result.
    let answer = daemon.main("faulty.record(value = 1)\nreturn 1");
    assert_eq!((answer.text.as_str(), &answer.meta["codemoded/calls"]), ("{\"result\":1}", &json!(1)));
    assert_run(&answer);
}

#[test]
fn a_worker_that_dies_is_an_internal_failure_and_its_slot_comes_back() {
    let daemon = open();
    std::thread::scope(|scope| {
        let run = scope.spawn(|| daemon.main("faulty.note(text = \"in\")\nfaulty.wait()"));
        until("the program runs", || !recorded(&daemon).is_empty());
        daemon.kill_children();
        let answer = run.join().unwrap();
        assert_eq!(answer.error().lines().next(), Some("internal failure"));
        assert_run(&answer);
    });
    assert_eq!(daemon.main("return faulty.echo(value = 1)").text, "{\"result\":1}", "those that waited harm nobody");
}

#[test]
fn a_program_that_nests_too_deeply_is_invalid() {
    let daemon = Daemon::start(&allow_all("[limits]\nmax_source_bytes = \"1MiB\"\n"));
    let deep = format!("return {}1", "-".repeat(500_000));
    check(&daemon, &[(&deep, "invalid program: nested too deeply")]);
}

#[test]
fn invalid_tool_arguments_name_the_field() {
    let daemon = open();
    for (tool, arguments, fault) in [
        ("execute", json!({}), "missing required argument \"source\""),
        ("execute", json!({ "source": 1 }), "argument \"source\" must be a string"),
        ("execute", json!({ "source": "", "more": 1 }), "unknown argument \"more\"; the only argument is \"source\""),
        ("search_api", json!({ "query": null }), "argument \"query\" must be a string"),
        ("describe_api", json!({ "query": "x" }), "unknown argument \"query\"; the only argument is \"name\""),
    ] {
        let answer = daemon.call(tool, arguments, &[]);
        assert_eq!(answer.error(), format!("invalid tool arguments: {fault}"));
    }
}

#[test]
fn an_unknown_tool_is_a_protocol_error_that_leads_a_capability_into_execute() {
    let daemon = open();
    for (name, message) in [
        ("faulty.echo", "unknown tool `faulty.echo`: it is a capability, so call it inside `execute`"),
        ("faulty.crash", "unknown tool `faulty.crash`: the tools are `search_api`, `describe_api` and `execute`"),
        ("run", "unknown tool `run`: the tools are `search_api`, `describe_api` and `execute`"),
    ] {
        let answer = daemon.request("tools/call", json!({ "name": name, "arguments": {} }), &[]);
        assert_eq!((&answer["error"]["code"], &answer["error"]["message"]), (&json!(-32602), &json!(message)));
    }
}

#[test]
fn a_caller_without_a_subject_is_refused_before_the_protocol() {
    let config = allow_all("").replace(
        "mode = \"static\"\nsubject = \"local\"",
        "mode = \"proxy\"\nheader = \"x-user\"\npeers = [\"127.0.0.1/32\"]\nshared_secret_file = \"secret\"",
    );
    let daemon = Daemon::start_with(&config, |folder| fs::write(folder.join("secret"), SECRET).unwrap());
    let list = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {} });
    for (headers, status) in [
        (&[][..], 401),
        (&[("x-user", "ann")][..], 401),
        (&[("x-codemode-secret", SECRET)][..], 401),
        (&[("x-user", "ann"), ("x-codemode-secret", SECRET)][..], 200),
    ] {
        assert_eq!(daemon.post(&list, headers).0, status, "{headers:?}");
    }
}

#[test]
fn a_program_may_ask_for_errors_as_values() {
    let daemon = ruled(PUBLISHED_REASONS);
    let body = "tried = [
    attempt(faulty.echo, value = 3),
    attempt(faulty.note, text = 1),
    attempt(faulty.note, text = \"denied\"),
    attempt(faulty.note, text = \"denied with a reason\"),
    attempt(faulty.publish, message = \"no paper\"),
    attempt(faulty.fail, message = \"hunter2\"),
]
return [[t.ok, t.value] + ([t.error.code, t.error.message] if t.error else []) for t in tried]";
    let answer = daemon.main(body);
    let expected = json!([
        [true, 3],
        [false, null, "invalid_arguments", "<codemode>:4:9: faulty.note: argument \"text\" must be a string"],
        [false, null, "permission_denied", "permission denied"],
        [false, null, "permission_denied", "ask the owner"],
        [false, null, "capability_failed", "no paper"],
        [false, null, "capability_failed", "capability failed"],
    ]);
    assert_eq!(answer.result(), &expected);
    assert_eq!(answer.meta["codemoded/calls"], 3);
}

#[test]
fn parallel_calls_run_at_once_and_answer_in_their_order() {
    let daemon = open();
    let answer = daemon.main(
        "calls = [call(faulty.sleep, milliseconds = m) for m in [700, 500, 600, 400]]
calls.insert(1, call(faulty.publish, message = \"no paper\"))
return [done.value if done.ok else done.error.message for done in parallel(calls)]",
    );
    assert_eq!(answer.result(), &json!([700, "no paper", 500, 600, 400]));
    assert!(answer.took.as_millis() < 1_600, "{:?}", answer.took);
}
