//! Values at the edge of what JSON and floats hold, on every crossing: each survives to the last digit, or is refused
//! with a clear error.

use std::fs;

use serde_json::json;

use crate::harness::{Daemon, allow_all, faulty, program};

/// A value that survives every crossing.
struct Exact {
    /// As a program writes it.
    expression: &'static str,
    /// As JSON has it, byte for byte.
    json: String,
    /// As a Rego literal.
    literal: String,
    /// The nearest value that a careless crossing would make of it, as a Rego literal.
    near: String,
}

fn exact() -> Vec<Exact> {
    let row = |expression, json: &str, near: &str| {
        let [json, near] = [json, near].map(str::to_owned);
        Exact { expression, literal: json.clone(), json, near }
    };
    let nines = "9".repeat(1_000);
    vec![
        row("(1 << 53) + 1", "9007199254740993", "9007199254740992"),
        row("-(1 << 53) - 1", "-9007199254740993", "-9007199254740992"),
        row("(1 << 63) - 1", "9223372036854775807", "9223372036854775808"),
        row("1 << 63", "9223372036854775808", "9223372036854775807"),
        row("-(1 << 63)", "-9223372036854775808", "-9223372036854775809"),
        row("1 << 64", "18446744073709551616", "18446744073709551615"),
        row("1 << 128", "340282366920938463463374607431768211456", "340282366920938463463374607431768211455"),
        row("int(\"1\" + \"0\" * 30)", "1000000000000000000000000000000", "1000000000000000000000000000001"),
        row("int(\"9\" * 1000)", &nines, &format!("{}8", "9".repeat(999))),
        row("-int(\"9\" * 1000)", &format!("-{nines}"), &format!("-{}8", "9".repeat(999))),
        row("0.1 + 0.2", "0.30000000000000004", "0.3"),
        row("1234567.891", "1234567.891", "1234568"),
        row("123456789012345680.0", "1.2345678901234568e17", "1.234568e17"),
        // The engine reads a literal of so many digits as the integer that they spell, and this float as its own.
        Exact {
            literal: format!("{:.0}", f64::MAX),
            ..row("1.7976931348623157e308", "1.7976931348623157e308", "1e308")
        },
        row("5e-324", "5e-324", "0"),
        // The sign has no other JSON, and no neighbour that is not equal.
        row("-0.0", "-0.0", "1"),
        row("1.0", "1.0", "2"),
        row("\"\\U0001F600 é 日本\"", "\"😀 é 日本\"", "\"? é 日本\""),
        row("\"a\\x00b\"", "\"a\\u0000b\"", "\"a\""),
        row("\"\\x7f\\u2028\\ufeff\"", "\"\u{7f}\u{2028}\u{feff}\"", "\"\""),
    ]
}

/// Lets a call through that has the row's value beside the row's number, and denies the row's neighbour to it.
fn policy(rows: &[Exact]) -> String {
    let rules = rows.iter().enumerate().map(|(row, Exact { literal, near, .. })| {
        format!(
            "allow := true if {{\n\tinput.arguments.count == {row}\n\tinput.arguments.value == {literal}\n\t\
             not input.arguments.value == {near}\n}}\n\n"
        )
    });
    format!("package p\n\ndefault allow := false\n\nallow := true if not input.arguments.count\n\n{}", {
        rules.collect::<String>()
    })
}

fn ruled(policy: &str, limits: &str) -> Daemon {
    let config = allow_all(&format!("[limits]\n{limits}\n{}", faulty()))
        .replace("mode = \"allow-all\"", "mode = \"rego\"\nmodules = [\"p.rego\"]\nexecute = \"data.p.allow\"");
    Daemon::start_with(&config, |folder| fs::write(folder.join("p.rego"), policy).unwrap())
}

/// The body of an answer, byte for byte: a parser here could round what the daemon did not.
fn raw_answer(daemon: &Daemon, body: &str) -> String {
    let params = json!({ "name": "execute", "arguments": { "source": program(body) } });
    daemon.post(&json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params }), &[]).1
}

#[test]
fn a_value_survives_every_crossing_to_the_last_digit() {
    let rows = exact();
    let daemon = ruled(&policy(&rows), "");
    for (number, Exact { expression, json, .. }) in rows.iter().enumerate() {
        // Program to client: as structured content, and in the text that mirrors it.
        let answer = daemon.main(&format!("return {expression}"));
        assert_eq!(answer.text, format!("{{\"result\":{json}}}"), "{expression}");
        let raw = raw_answer(&daemon, &format!("return {expression}"));
        assert!(raw.contains(&format!("\"structuredContent\":{{\"result\":{json}}}")), "{expression}: {raw}");

        // Plugin to program: equal there to what the program writes, in type and in text.
        let literal = serde_json::to_string(json).unwrap();
        let same = format!(
            "x = faulty.raw(json = {literal})\ny = {expression}\n\
             return [x == y, type(x) == type(y), str(x) == str(y), json.encode(x) == {literal}, json.decode({literal}) == y]"
        );
        assert_eq!(daemon.main(&same).result(), &json!([true, true, true, true, true]), "{expression}");

        // Plugin to program to client.
        let through = daemon.main(&format!("return [faulty.raw(json = {literal})]"));
        assert_eq!(through.text, format!("{{\"result\":[{json}]}}"), "{expression}");

        // Program to policy, which lets through this value and not its neighbour, to plugin.
        let passed = daemon.main(&format!("return faulty.record(value = {expression}, count = {number})"));
        assert!(!passed.is_error, "{expression}: {}", passed.text);
        let recorded = fs::read_to_string(daemon.folder.path().join("calls.jsonl")).unwrap();
        let arguments = format!("\"arguments\":{{\"value\":{json},\"tags\":[],\"count\":{number}}}");
        assert!(recorded.lines().last().unwrap().contains(&arguments), "{expression}: {recorded}");
    }
    // The policy is asked: beside another row's number a value is denied.
    let denied = daemon.main("return faulty.record(value = 1 << 63, count = 0)");
    assert_eq!(denied.error(), "permission denied");
}

#[test]
fn a_value_that_cannot_cross_is_refused_and_says_why() {
    let daemon = ruled("package p\n\nallow := true\n", "max_execution_steps = 10000000");
    let program_fault = |rest: &str| format!("invalid program: <codemode>:{rest}");
    let unbound = |why: &str| format!("invalid capability arguments: <codemode>:2:5: faulty.record: {why}");
    let failed = "capability failed\ncalls made: 1".to_owned();
    let deep = "x = []\nfor _ in range(900000):\n    x = [x]\n";
    let depth = "resource limit exceeded: max_value_depth".to_owned();
    let too_long = "has more than 1,000 digits";
    let rows = [
        // Beyond a float.
        ("return 1e400".to_owned(), program_fault("1:5: main's result is not finite")),
        ("return {\"a\": [1, -1e400]}".to_owned(), program_fault("1:5: main's result['a'][1] is not finite")),
        ("faulty.record(value = 1e400)".to_owned(), unbound("argument \"value\" is not finite")),
        ("return faulty.raw(json = \"1e400\")".to_owned(), failed.clone()),
        ("return faulty.raw(json = \"[-1e400]\")".to_owned(), failed.clone()),
        (
            "return json.decode(\"1e400\")".to_owned(),
            program_fault("2:12: json.decode: a number beyond the range of a float at byte 0"),
        ),
        // One digit too many.
        ("return int(\"1\" + \"0\" * 1000)".to_owned(), program_fault(&format!("1:5: main's result {too_long}"))),
        ("return -int(\"9\" * 1001)".to_owned(), program_fault(&format!("1:5: main's result {too_long}"))),
        ("faulty.record(value = int(\"9\" * 1001))".to_owned(), unbound(&format!("argument \"value\" {too_long}"))),
        ("return faulty.raw(json = \"9\" * 1001)".to_owned(), failed.clone()),
        (
            "return json.decode(\"9\" * 1001)".to_owned(),
            program_fault("2:12: json.decode: an integer of more than 1,000 digits at byte 0"),
        ),
        (
            "return json.encode([int(\"9\" * 1001)])".to_owned(),
            program_fault(&format!("2:12: json.encode: the value[0] {too_long}")),
        ),
        // Half a character.
        ("return faulty.raw(json = '\"\\\\ud800\"')".to_owned(), failed.clone()),
        ("return faulty.raw(json = '\"\\\\udc00\\\\ud800\"')".to_owned(), failed.clone()),
        ("return faulty.raw(json = '{\"\\\\ud800\": 1}')".to_owned(), failed),
        (
            "return json.decode('\"\\\\ud800\"')".to_owned(),
            program_fault("2:12: json.decode: a lone surrogate is no character at byte 7"),
        ),
        (
            "return \"\\ud800\"".to_owned(),
            program_fault(
                "2:13: invalid string escape sequence `ud800`; a character is written `\\uXXXX` or `\\UXXXXXXXX`; half of a \
                 pair is none",
            ),
        ),
        (
            "return chr(0xd800)".to_owned(),
            program_fault("2:12: chr() parameter value is 0xd800 which is not a valid UTF-8 codepoint"),
        ),
        // Nine hundred thousand levels.
        (format!("{deep}return x"), depth.clone()),
        (format!("{deep}faulty.record(value = x)"), depth),
        (format!("{deep}return json.encode(x)"), program_fault("5:12: json.encode: the value is nested too deeply")),
        (format!("{deep}return repr(x)"), "invalid program: nested too deeply".to_owned()),
        (
            "return json.decode(\"[\" * 900000 + \"]\" * 900000)".to_owned(),
            program_fault("2:12: json.decode: nested too deeply at byte 1000"),
        ),
    ];
    for (body, text) in rows {
        assert_eq!(daemon.main(&body).error(), text, "{body}");
    }
    let roomy =
        ruled("package p\n\nallow := true\n", "max_value_bytes = \"4MiB\"\nmax_intermediate_value_bytes = \"8MiB\"");
    let answer = roomy.main("return len(faulty.deep(levels = 900000))");
    assert_eq!(answer.error(), "resource limit exceeded: max_value_depth\ncalls made: 1");
}

#[test]
fn half_a_character_in_a_request_reaches_no_worker() {
    let daemon = Daemon::start(&allow_all(""));
    for source in ["\\ud800", "\\udc00", "\\udc00\\ud800", "\\ud800x"] {
        let body = format!(
            "{{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":\
             {{\"name\":\"execute\",\"arguments\":{{\"source\":\"{source}\"}}}}}}"
        );
        let (status, text) = daemon.post_text(&body, &[]);
        assert_eq!(status, 400, "{source}: {text}");
        assert!(text.contains("-32700"), "{source}: {text}");
    }
}
