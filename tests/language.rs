//! What a writer of Python, or of JavaScript, tries first: it runs, or the answer says what to write instead.
//!
//! The table is `language/idioms.star`: bodies of a `main` between lines of `---`, each ending with a line of `#=>` and
//! the answer. A success is its JSON; a failure is the end of its text, behind the interpreter's own words.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::harness::{Daemon, allow_all, each, faulty, program};

const FEWEST: usize = 200;

struct Idiom {
    body: String,
    answer: String,
}

fn idioms() -> Vec<Idiom> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/language/idioms.star");
    let text = fs::read_to_string(path).unwrap();
    let idiom = |chunk: &str| {
        let (body, answer) = chunk.split_once("#=> ").unwrap_or_else(|| panic!("without an answer: {chunk}"));
        Idiom { body: body.to_owned(), answer: answer.trim_end().to_owned() }
    };
    text.split("---\n").map(idiom).collect()
}

#[test]
fn a_habit_of_another_language_runs_or_is_answered_with_its_substitute() {
    let idioms = idioms();
    assert!(idioms.len() >= FEWEST, "{}", idioms.len());
    let daemon = Daemon::start(&allow_all(&faulty()));
    let answers = each(&idioms, |idiom| daemon.execute(&program(&idiom.body)));
    let mut faults = Vec::new();
    for (Idiom { body, answer: expected }, answer) in idioms.iter().zip(answers) {
        let said = answer.text.lines().next().unwrap_or_default();
        let is_told = match answer.is_error {
            true => said.starts_with("invalid ") && said.ends_with(&**expected),
            false => said == format!("{{\"result\":{expected}}}"),
        };
        if !is_told {
            faults.push(format!("{body}  {expected}\n  {said}"));
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

/// `language/brackets.json` holds `[expression, value]`: random ones with brackets wherever they may stand, and the values
/// that CPython 3.11 gives them.
#[test]
fn brackets_around_what_is_rewritten_change_nothing() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/language/brackets.json");
    let rows: Vec<(String, Value)> = serde_json::from_slice(&fs::read(path).unwrap()).unwrap();
    assert_eq!(rows.len(), 600);
    let daemon = Daemon::start(&allow_all(""));
    let names = "n, m, s, t = 4, -2, \"k=v\", \"  pad \"";
    let answers = each(&rows, |(expression, _)| daemon.main(&format!("{names}\nreturn {expression}")));
    let mut faults = Vec::new();
    for ((expression, value), answer) in rows.iter().zip(answers) {
        if answer.is_error || answer.result() != value {
            faults.push(format!("{expression}: {}, not {value}", answer.text));
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn every_free_name_is_there() {
    let daemon = Daemon::start(&allow_all(""));
    let names = "False None True abs all any bool bytes chr dict dir enumerate fail float getattr hasattr hash int json \
                 len list math max min ord print range repr reversed sorted str sum tuple type zip \
                 set map filter attempt call parallel \
                 json.decode json.encode json.indent \
                 math.acos math.acosh math.asin math.asinh math.atan math.atan2 math.atanh math.ceil math.copysign \
                 math.cos math.cosh math.degrees math.e math.exp math.fabs math.floor math.gamma math.hypot math.log \
                 math.mod math.pi math.pow math.radians math.remainder math.round math.sin math.sinh math.sqrt math.tan \
                 math.tanh";
    for name in names.split_whitespace() {
        assert_eq!(daemon.main(&format!("return type({name}) != \"\"")).text, "{\"result\":true}", "{name}");
    }
    let listed = daemon.main("return [sorted(dir(json)), len(dir(math))]");
    assert_eq!(listed.text, "{\"result\":[[\"decode\",\"encode\",\"indent\"],30]}");
}

#[test]
fn sum_json_and_math_mean_what_they_mean_elsewhere() {
    let daemon = Daemon::start(&allow_all(""));
    for (expression, result) in [
        ("sum([])", "0"),
        ("sum([1, 2, 3])", "6"),
        ("sum([0.5, 1], 1)", "2.5"),
        ("sum([[1], [2]], [])", "[1,2]"),
        ("sum(range(5))", "10"),
        ("sum({1: 0, 2: 0})", "3"),
        ("sum([1 << 70, 1])", "1180591620717411303425"),
        ("json.decode('{\"b\": [1, 2.5, null, true], \"a\": \"\\\\u00e9\"}')", r#"{"b":[1,2.5,null,true],"a":"é"}"#),
        ("json.decode('no', default = 7)", "7"),
        ("json.decode('1', default = 7)", "1"),
        ("json.encode({'b': (1, 2.0), 'a': None})", r#""{\"b\":[1,2.0],\"a\":null}""#),
        ("json.indent('{\"a\":[1,{}]}', prefix = '>', indent = ' ')", r#""{\n> \"a\": [\n>  1,\n>  {}\n> ]\n>}""#),
        ("math.acos(1)", "0.0"),
        ("math.acosh(1)", "0.0"),
        ("math.asin(1) == math.pi / 2", "true"),
        ("math.asinh(0)", "0.0"),
        ("math.atan(1) == math.pi / 4", "true"),
        ("math.atan2(1, -1) == 3 * math.pi / 4", "true"),
        ("math.atanh(0)", "0.0"),
        ("[math.ceil(x) for x in [1.2, -1.2, 3, 1e20]]", "[2,-1,3,100000000000000000000]"),
        ("[math.floor(x) for x in [1.8, -1.2, 3, -1e20]]", "[1,-2,3,-100000000000000000000]"),
        ("math.copysign(3, -0.0)", "-3.0"),
        ("[math.cos(0), math.cosh(0)]", "[1.0,1.0]"),
        ("math.degrees(math.pi)", "180.0"),
        ("math.radians(180) == math.pi", "true"),
        ("math.exp(1) == math.e", "true"),
        ("math.fabs(-3)", "3.0"),
        ("math.gamma(5)", "24.0"),
        ("math.hypot(3, 4)", "5.0"),
        ("[math.log(1), math.log(8, 2), math.log(1000, 10)]", "[0.0,3.0,3.0]"),
        ("[math.mod(7, 3), math.mod(-7, 3), math.mod(7.5, -2)]", "[1.0,-1.0,1.5]"),
        ("[math.remainder(7, 4), math.remainder(5, 2)]", "[-1.0,1.0]"),
        ("[math.pow(2, 10), math.pow(2, 0.5), math.pow(2, -1)]", "[1024.0,1.4142135623730951,0.5]"),
        ("[math.round(x) for x in [0.5, 1.5, -0.5, 2.4]]", "[1.0,2.0,-1.0,2.0]"),
        ("[math.sin(0), math.sinh(0), math.tan(0), math.tanh(0)]", "[0.0,0.0,0.0,0.0]"),
        ("math.sqrt(2)", "1.4142135623730951"),
        ("[math.pi, math.e]", "[3.141592653589793,2.718281828459045]"),
        ("set([1, 2]) == set([2, 1])", "true"),
        ("map(lambda x: x + 1, [1, 2])", "[2,3]"),
        ("filter(lambda x: x > 1, [1, 2])", "[2]"),
    ] {
        let answer = daemon.main(&format!("return {expression}"));
        assert_eq!(answer.text, format!("{{\"result\":{result}}}"), "{expression}");
    }
    for (expression, fault) in [
        ("math.ceil(float(\"inf\"))", "math.ceil: no integer is nan or infinite"),
        ("math.log(2, 1)", "math.log: base 1 has no logarithm"),
        ("json.encode({1: 2})", "json.encode: the value keys must be strings"),
        ("json.encode([float(\"nan\")])", "json.encode: the value[0] is not finite"),
        ("json.decode(\"[1,]\")", "json.decode: not valid JSON at byte 3"),
        ("json.decode('{\"a\": 1, \"a\": 2}')", "json.decode: the same key twice in one object at byte 9"),
    ] {
        let answer = daemon.main(&format!("return {expression}"));
        assert_eq!(answer.error(), format!("invalid program: <codemode>:2:12: {fault}"));
    }
}
