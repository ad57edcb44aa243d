//! Each configured limit, just below, at and above it.

use std::time::Duration;

use serde_json::{Value, json};

use crate::harness::{Answer, Daemon, allow_all, by_header, faulty, main_of, program, until};
use crate::wire::Wire;

fn limited(limits: &str) -> Daemon {
    Daemon::start(&allow_all(&format!("[limits]\n{limits}\n{}", faulty())))
}

fn many_subjects(limits: &str) -> Daemon {
    by_header(&format!("[limits]\n{limits}\n{}", faulty()))
}

/// Each body of a `main` either returns, or exceeds the limit.
#[track_caller]
fn check(limits: &str, limit: &str, rows: &[(&str, bool)]) {
    let daemon = limited(limits);
    for (body, within) in rows {
        assert_within(&daemon.main(body), limit, *within, body);
    }
}

#[track_caller]
fn assert_within(answer: &Answer, limit: &str, within: bool, what: &str) {
    if within {
        assert!(!answer.is_error, "{what}: {}", answer.text);
    } else {
        let first = answer.error().lines().next().unwrap_or_default();
        let name = first.split(';').next().unwrap_or_default();
        assert_eq!(name, format!("resource limit exceeded: {limit}"), "{what}");
    }
}

#[test]
fn max_source_bytes_bounds_the_text() {
    let daemon = limited("max_source_bytes = 64");
    for (bytes, within) in [(63, true), (64, true), (65, false)] {
        let source = format!("{:#<bytes$}", "def main():\n    return 1\n");
        assert_within(&daemon.execute(&source), "max_source_bytes", within, &source);
    }
    // Bytes, not characters.
    assert_within(&daemon.execute(&"é".repeat(33)), "max_source_bytes", false, "two bytes each");
}

#[test]
fn max_execution_steps_acts_on_the_next_thousand_and_after_main() {
    let count = |turns: u32| format!("for _ in range({turns}):\n    pass\nreturn 1");
    check(
        "max_execution_steps = 1500",
        "max_execution_steps",
        &[(&count(1_400), true), (&count(1_600), false), (&count(100_000_000), false)],
    );
    let recursion = "def down(n):\n    return down(n - 1) if n else 0\nfor _ in range(100):\n    down(100)\nreturn 1";
    check("max_execution_steps = 5000", "max_execution_steps", &[(recursion, false)]);
}

#[test]
fn max_execution_time_ends_a_program_wherever_it_is() {
    let daemon = limited("max_execution_time = \"1s\"\nmax_execution_steps = 1000000000000\nmax_call_time = \"20s\"");
    for (body, within) in [
        ("return faulty.sleep(milliseconds = 50)", true),
        ("for _ in range(1000000000):\n    pass", false),
        ("return faulty.wait()", false),
        ("return faulty.wait_async()", false),
        ("return faulty.hang()", false),
        ("return attempt(faulty.wait).ok", false),
    ] {
        let answer = daemon.main(body);
        assert_within(&answer, "max_execution_time", within, body);
        assert!(answer.took < Duration::from_secs(4), "{body}: {:?}", answer.took);
    }
}

#[test]
fn max_native_calls_counts_attempts() {
    let calls = |function: &str, n: u32| format!("for _ in range({n}):\n    {function}\nreturn 1");
    let rows = ["faulty.echo(value = 1)", "attempt(faulty.fail, message = \"x\")", "attempt(faulty.note, text = 1)"];
    for function in rows {
        check(
            "max_native_calls = 3",
            "max_native_calls",
            &[(&calls(function, 2), true), (&calls(function, 3), true), (&calls(function, 4), false)],
        );
    }
    let daemon = limited("max_native_calls = 3");
    let answer = daemon.main(&calls("faulty.record(value = 1)", 4));
    let text = "resource limit exceeded: max_native_calls\ncalls made: 3; may have changed: faulty.record ×3";
    assert_eq!(answer.error(), text);
}

#[test]
fn max_value_depth_bounds_every_crossing() {
    check(
        "max_value_depth = 4",
        "max_value_depth",
        &[
            ("return [[[1]]]", true),
            ("return [[[[1]]]]", false),
            ("return {\"a\": [{\"b\": 1}]}", true),
            ("return {\"a\": [{\"b\": []}]}", true),
            ("return {\"a\": [{\"b\": [1]}]}", false),
            ("return len(faulty.deep(levels = 3))", true),
            ("return len(faulty.deep(levels = 4))", true),
            ("return len(faulty.deep(levels = 5))", false),
            ("return len(faulty.deep(levels = 100000))", false),
            ("return len(faulty.echo(value = [[1]]))", true),
            ("return len(faulty.echo(value = [[[[1]]]]))", false),
        ],
    );
}

#[test]
fn max_value_bytes_bounds_every_crossing() {
    check(
        "max_value_bytes = 100",
        "max_value_bytes",
        &[
            ("return \"x\" * 98", true),
            ("return \"x\" * 99", false),
            ("return len(faulty.huge(letters = 98))", true),
            ("return len(faulty.huge(letters = 99))", false),
            // With its name, as `{"text":"…"}`.
            ("return len(faulty.note(text = \"x\" * 88))", true),
            ("return len(faulty.note(text = \"x\" * 89))", true),
            ("return len(faulty.note(text = \"x\" * 90))", false),
        ],
    );
}

#[test]
fn max_intermediate_value_bytes_adds_up_what_calls_gave() {
    check(
        "max_intermediate_value_bytes = 100",
        "max_intermediate_value_bytes",
        &[
            ("return [len(faulty.huge(letters = n)) for n in [48, 47]]", true),
            ("return [len(faulty.huge(letters = n)) for n in [48, 48]]", true),
            ("return [len(faulty.huge(letters = n)) for n in [48, 49]]", false),
            ("return [len(c.value) for c in parallel([call(faulty.huge, letters = n) for n in [48, 49]])]", false),
        ],
    );
}

#[test]
fn max_result_bytes_bounds_what_main_returns() {
    check(
        "max_result_bytes = 100",
        "max_result_bytes",
        &[
            ("return \"x\" * 97", true),
            ("return \"x\" * 98", true),
            ("return \"x\" * 99", false),
            ("return len(faulty.huge(letters = 1000))", true),
            ("return faulty.huge(letters = 1000)", false),
        ],
    );
}

#[test]
fn max_worker_memory_bounds_what_a_program_allocates() {
    check(
        "max_worker_memory = \"32MiB\"\nmax_execution_time = \"20s\"\nmax_execution_steps = 1000000000",
        "max_worker_memory",
        &[
            ("return len(\"x\" * 8000000)", true),
            ("return len(\"x\" * 40000000)", false),
            ("kept = []\nfor i in range(100000000):\n    kept.append([i])\nreturn 1", false),
            ("return 1", true),
        ],
    );
}

#[test]
fn max_call_time_ends_one_call() {
    let daemon = limited("max_call_time = \"500ms\"\nmax_execution_time = \"20s\"");
    for (body, within) in [
        ("return [faulty.sleep(milliseconds = 200) for _ in range(4)]", true),
        ("return faulty.sleep_async(milliseconds = 5000)", false),
        ("return faulty.wait()", false),
        ("return faulty.hang()", false),
        ("return attempt(faulty.wait).ok", false),
    ] {
        let answer = daemon.main(body);
        assert_within(&answer, "max_call_time", within, body);
        assert!(answer.took < Duration::from_secs(4), "{body}: {:?}", answer.took);
    }
}

#[test]
fn max_handlers_gives_one_subject_a_quarter_abandoned_calls_included() {
    let daemon = many_subjects("max_handlers = 8\nmax_call_time = \"1s\"");
    let sleeps = |n: u32| format!("return [c.ok for c in parallel([call(faulty.sleep, milliseconds = 200)] * {n})]");
    for (calls, within) in [(1, true), (2, true), (3, false)] {
        // A sleep of a run that has ended keeps its place until it wakes.
        std::thread::sleep(Duration::from_millis(400));
        assert_within(&main_of(&daemon, "ann", &program(&sleeps(calls))), "max_handlers", within, &sleeps(calls));
    }
    for _ in 0..2 {
        assert_within(&main_of(&daemon, "bob", &program("return faulty.hang()")), "max_call_time", false, "hang");
    }
    // A call that found no handler was not made.
    let answer = main_of(&daemon, "bob", &program("return faulty.record(value = 1)"));
    assert_eq!(answer.error(), "resource limit exceeded: max_handlers");
    assert_within(&main_of(&daemon, "ann", &program("return faulty.echo(value = 1)")), "max_handlers", true, "ann");
}

/// How long these subjects' programs, each a second long, take when they start together.
fn together(limits: &str, subjects: &[&str]) -> (Duration, Vec<Answer>) {
    let daemon = many_subjects(limits);
    let started = std::time::Instant::now();
    let answers = std::thread::scope(|scope| {
        let run = |subject| main_of(&daemon, subject, &program("return faulty.sleep(milliseconds = 1000)"));
        let runs: Vec<_> = subjects.iter().map(|subject| scope.spawn(move || run(subject))).collect();
        runs.into_iter().map(|run| run.join().unwrap()).collect()
    });
    (started.elapsed(), answers)
}

#[test]
fn max_concurrent_executions_makes_the_others_wait() {
    let per_subject = "max_concurrent_executions_per_subject";
    for (limits, subjects, at_once) in [
        ("max_concurrent_executions = 1".to_owned(), ["ann", "bob"], false),
        ("max_concurrent_executions = 2".to_owned(), ["ann", "bob"], true),
        (format!("{per_subject} = 1"), ["ann", "ann"], false),
        (format!("{per_subject} = 1"), ["ann", "bob"], true),
        (format!("{per_subject} = 2"), ["ann", "ann"], true),
    ] {
        let (took, answers) = together(&limits, &subjects);
        assert!(answers.iter().all(|answer| !answer.is_error), "{answers:?}");
        assert_eq!(took < Duration::from_millis(1_950), at_once, "{limits}, {subjects:?}: {took:?}");
    }
}

#[test]
fn max_queued_executions_refuses_at_once_and_gives_one_subject_a_quarter() {
    for (limits, subjects, refused) in [
        ("max_queued_executions = 1", &["ann", "bob"][..], 0),
        ("max_queued_executions = 1", &["ann", "bob", "cat"][..], 1),
        ("max_queued_executions = 4", &["ann", "ann"][..], 0),
        ("max_queued_executions = 4", &["ann", "ann", "ann"][..], 1),
        ("max_queued_executions = 8", &["ann", "ann", "ann"][..], 0),
    ] {
        let (_, answers) = together(&format!("max_concurrent_executions = 1\n{limits}"), subjects);
        let errors: Vec<_> = answers.iter().filter(|answer| answer.is_error).collect();
        assert_eq!(errors.len(), refused, "{limits}, {subjects:?}: {answers:?}");
        for error in errors {
            assert_within(error, "max_queued_executions", false, limits);
            assert!(error.took < Duration::from_millis(950), "{:?}", error.took);
        }
    }
}

#[test]
fn max_search_query_bytes_bounds_the_query_before_it_is_trimmed() {
    let daemon = limited("max_search_query_bytes = 10");
    for (query, within) in
        [("panic", true), ("panic     ", true), ("panic      ", false), ("ééééé", true), ("éééééé", false)]
    {
        let answer = daemon.call("search_api", json!({ "query": query }), &[]);
        assert_within(&answer, "max_search_query_bytes", within, query);
    }
}

#[test]
fn max_search_results_cuts_and_says_so() {
    for (most, shown, truncated) in [(1, 1, true), (2, 2, false), (3, 2, false)] {
        let daemon = limited(&format!("max_search_results = {most}"));
        let found = daemon.call("search_api", json!({ "query": "panic" }), &[]).structured.unwrap();
        let results = found["results"].as_array().unwrap().len();
        assert_eq!((results, &found["truncated"], &found["total"]), (shown, &json!(truncated), &json!(2)), "{most}");
    }
}

#[test]
fn max_request_bytes_answers_413_to_a_larger_body() {
    let daemon = limited("max_request_bytes = 1000");
    for (bytes, status) in [(999, 200), (1_000, 200), (1_001, 413), (100_000, 413)] {
        let (sent, _) = daemon.post(&padded(bytes), &[]);
        assert_eq!(sent, status, "{bytes}");
    }
    until("it still serves", || daemon.post(&padded(500), &[]).0 == 200);
}

// RFC 9112, section 9.6: a connection that is closed while its client still writes takes the answer with it.
#[test]
fn whoever_writes_all_before_reading_still_learns_what_was_wrong() {
    let daemon = limited("max_request_bytes = 1000");
    for (path, status) in [("/mcp", 413), ("/other", 404)] {
        for megabytes in [1, 12] {
            let mut wire = Wire::connect(&daemon);
            let length = megabytes << 20;
            let host = daemon.address();
            wire.send(format!("POST {path} HTTP/1.1\r\nhost: {host}\r\ncontent-length: {length}\r\n"));
            wire.send("accept: application/json, text/event-stream\r\ncontent-type: application/json\r\n\r\n");
            wire.send(" ".repeat(length));
            assert_eq!(wire.answer().0.status, status, "{path}, {megabytes} MB");
            wire.post(&padded(500), &[]);
            assert_eq!(wire.answer().0.status, 200, "the connection goes on");
        }
    }
}

/// A call that is so long as JSON.
fn padded(bytes: usize) -> Value {
    let call = |source: &str| {
        let params = json!({ "name": "execute", "arguments": { "source": source } });
        json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params })
    };
    let rest = bytes - call("").to_string().len();
    call(&"#".repeat(rest))
}
