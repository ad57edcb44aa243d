//! Which bodies are messages, and what is said of the others.

use super::*;

#[track_caller]
fn passes(text: &str) {
    assert!(check(text.as_bytes()).is_ok(), "{text}: {:?}", check(text.as_bytes()));
}

#[track_caller]
fn fails(text: &str, code: i64, message: &str) {
    let rejection = check(text.as_bytes()).expect_err(text);
    assert_eq!((rejection.code.number(), rejection.message.as_str()), (code, message), "{text}");
}

#[test]
fn a_request_or_notification_passes() {
    passes(r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#);
    passes(r#" {"jsonrpc":"2.0","id":"a","method":"ping","params":{}} "#);
    passes(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
    passes(r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x"}}"#);
    passes(
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x","arguments":{"a":12345678901234567890}}}"#,
    );
}

#[test]
fn broken_json_is_a_parse_error() {
    fails("", -32700, "parse error: not valid JSON");
    fails("{", -32700, "parse error: not valid JSON");
    fails(r#"{"jsonrpc":"2.0","id":1,"method":"ping"} x"#, -32700, "parse error: not valid JSON");
    fails(
        r#"{"jsonrpc":"2.0","id":"\ud800","method":"ping"}"#,
        -32700,
        "parse error: a lone surrogate is no character",
    );
    fails(&"[".repeat(100_000), -32700, "parse error: nested too deeply");
}

#[test]
fn json_that_two_readers_could_take_differently_is_refused() {
    let doubled = r#"{"jsonrpc":"2.0","id":1,"method":"ping","method":"tools/call"}"#;
    fails(doubled, -32600, "invalid request: the same key twice in one object");
    let escaped = r#"{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":1,"\u0061":2}}"#;
    fails(escaped, -32600, "invalid request: the same key twice in one object");
    let marker = "invalid request: a key that starts with `$serde_json::private::`";
    fails(r#"{"jsonrpc":"2.0","id":1,"method":"x","params":{"$serde_json::private::Number":"12"}}"#, -32600, marker);
    fails(
        r#"{"jsonrpc":"2.0","id":1,"method":"x","params":{"a":[{"\u0024serde_json::private::RawValue":"1"}]}}"#,
        -32600,
        marker,
    );
}

#[test]
fn numbers_beyond_the_bounds_are_refused() {
    fails(
        r#"{"jsonrpc":"2.0","id":1,"method":"x","params":{"a":1e400}}"#,
        -32600,
        "invalid request: a number beyond the range of a float",
    );
    let digits = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"x","params":{{"a":{}}}}}"#, "1".repeat(1001));
    fails(&digits, -32600, "invalid request: an integer of more than 1,000 digits");
    passes(&digits.replace("11111", "1111"));
}

#[test]
fn one_message_at_a_time() {
    let batches = "invalid request: batches are not supported; send one message at a time";
    fails("[]", -32600, batches);
    fails(r#"[{"jsonrpc":"2.0","id":1,"method":"ping"}]"#, -32600, batches);
    fails("12", -32600, "invalid request: a message is an object");
}

#[test]
fn wrong_shapes_are_invalid_requests() {
    fails("{}", -32600, "invalid request: `jsonrpc` must be \"2.0\"");
    fails(r#"{"jsonrpc":"1.0","id":1,"method":"ping"}"#, -32600, "invalid request: `jsonrpc` must be \"2.0\"");
    fails(r#"{"jsonrpc":"2.0","id":1}"#, -32600, "invalid request: `method` is missing");
    fails(r#"{"jsonrpc":"2.0","id":1,"method":1}"#, -32600, "invalid request: `method` must be a string");
    let id = "invalid request: `id` must be a string or an integer of 64 bits";
    for bad in ["null", "1.5", "1.0", "9223372036854775808", "[1]", "{}", "true"] {
        fails(&format!(r#"{{"jsonrpc":"2.0","id":{bad},"method":"ping"}}"#), -32600, id);
    }
    let response = "invalid request: this server asks nothing, so it takes no responses";
    fails(r#"{"jsonrpc":"2.0","id":1,"result":{}}"#, -32600, response);
    fails(r#"{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":""}}"#, -32600, response);
    let both = "invalid request: a request has neither `result` nor `error`";
    fails(r#"{"jsonrpc":"2.0","id":1,"method":"ping","result":{}}"#, -32600, both);
    fails(r#"{"jsonrpc":"2.0","id":1,"method":"ping","error":{"code":1,"message":""}}"#, -32600, both);
}

#[test]
fn wrong_parameters_are_told_apart() {
    fails(
        r#"{"jsonrpc":"2.0","id":1,"method":"ping","params":[]}"#,
        -32602,
        "invalid params: `params` must be an object",
    );
    let call = |params| format!(r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call"{params}}}"#);
    fails(&call(""), -32602, "invalid params: `name` is missing");
    fails(&call(r#","params":{}"#), -32602, "invalid params: `name` is missing");
    fails(&call(r#","params":{"name":1}"#), -32602, "invalid params: `name` must be a string");
    fails(&call(r#","params":{"name":"x","arguments":[1]}"#), -32602, "invalid params: `arguments` must be an object");
}

#[test]
fn the_answer_repeats_an_id_that_could_be_read() {
    let rejection = check(br#"{"jsonrpc":"2.0","id":"a\"b"}"#).unwrap_err();
    let answer =
        r#"{"jsonrpc":"2.0","id":"a\"b","error":{"code":-32600,"message":"invalid request: `method` is missing"}}"#;
    assert_eq!(rejection.to_json(), answer);
    let rejection = check(b"[]").unwrap_err();
    assert!(rejection.to_json().starts_with(r#"{"jsonrpc":"2.0","error":{"code":-32600,"#));
}

#[test]
fn a_message_says_whether_it_names_its_version() {
    let names = |params: &str| {
        let text = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"x","params":{params}}}"#);
        check(text.as_bytes()).unwrap().names_its_version
    };
    assert!(names(r#"{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}"#));
    assert!(!names(r#"{"_meta":{}}"#));
    assert!(!names(r#"{"_meta":[]}"#));
}

#[test]
fn the_suites_broken_texts_are_parse_errors() {
    let suites = std::env::var("CODEMODE_SUITES").unwrap_or_else(|_| "../../shared/data".to_owned());
    let folder = std::path::Path::new(&suites).join("json-parsing");
    let Ok(files) = std::fs::read_dir(&folder) else {
        eprintln!("skipped: {} is missing", folder.display());
        return;
    };
    let mut counted = 0;
    for file in files.map(Result::unwrap) {
        let name = file.file_name().into_string().unwrap();
        let code = check(&std::fs::read(file.path()).unwrap()).map_err(|rejection| rejection.code);
        match name.get(..2) {
            Some("n_") => assert_eq!(code, Err(Code::ParseError), "{name}"),
            Some("y_") => assert_eq!(code, Err(Code::InvalidRequest), "{name}"),
            _ => continue,
        }
        counted += 1;
    }
    assert!(counted > 280, "only {counted} files");
}
