//! Workers that speak nonsense: the daemon answers what it must, the slot comes back, and the next run works.
//!
//! The bytes are written out here, so that a mistake in the library's own encoder cannot hide one in its decoder.

use std::fs;
use std::time::Duration;

use serde_json::json;

use crate::harness::{Daemon, allow_all, faulty_example, intruder, plugin, refusal_of, until};

const TIME: &str = "resource limit exceeded: max_execution_time";
const INTERNAL: &str = "internal failure";

const DEADLINE: Duration = Duration::from_millis(1_500);

/// The largest frame that a worker may send under the limits below.
const LARGEST: usize = 4_096;

/// One slot, so that a lost one is seen at once; a single capability, `words.count`, so that its number is known.
fn config(how: &str) -> String {
    allow_all(&format!(
        "[workers]\nready = 1\nstart = \"{how}\"\n[limits]\nmax_concurrent_executions = 1\n\
         max_execution_time = \"{}ms\"\nmax_value_bytes = 2000\nmax_result_bytes = 1000\nmax_native_calls = 20\n\
         max_parallel_calls = 4\nmax_value_depth = 5\n{}",
        DEADLINE.as_millis(),
        plugin("words", &faulty_example("words"), "")
    ))
}

fn start(how: &str) -> Daemon {
    Daemon::start_as(&intruder(), &config(how), |_| {})
}

/// A frame of this kind: its length, the kind, the rest.
fn frame(kind: u8, rest: &[u8]) -> Vec<u8> {
    let length = u32::try_from(rest.len() + 1).unwrap();
    [&length.to_le_bytes()[..], &[kind], rest].concat()
}

fn ready() -> Vec<u8> {
    frame(1, &[1, 1, 1])
}

fn call(call: u32, capability: u32, arguments: &str) -> Vec<u8> {
    let numbers = [call.to_le_bytes(), capability.to_le_bytes()].concat();
    frame(2, &[&numbers[..], &[0], arguments.as_bytes()].concat())
}

/// Questions whether capabilities are there, each by its number and how many follow it.
fn ask(numbers: &[(u32, u32)]) -> Vec<u8> {
    let bytes: Vec<_> =
        numbers.iter().map(|(first, count)| [first.to_le_bytes(), count.to_le_bytes()].concat()).collect();
    frame(7, &bytes.concat())
}

fn returned(json: &str) -> Vec<u8> {
    frame(3, json.as_bytes())
}

fn invalid_program(text: &[u8]) -> Vec<u8> {
    frame(4, text)
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Has a worker say these bytes and then nothing more, and gives the first line of the answer.
fn say(daemon: &Daemon, bytes: &[u8], then: &str) -> String {
    words(daemon, &format!("bytes={} {then}", hex(bytes)))
}

fn words(daemon: &Daemon, words: &str) -> String {
    let answer = daemon.execute(&format!("say {words}"));
    assert!(answer.took < DEADLINE + Duration::from_millis(700), "{words}: {:?}", answer.took);
    answer.text.lines().next().unwrap_or_default().to_owned()
}

/// Whatever a worker has said, its slot is free, and the next one serves.
#[track_caller]
fn next_run_works(daemon: &Daemon, after: &str) {
    let sum = daemon.main("return words.count(text = \"a b\")[\"words\"] + 1");
    assert_eq!(*sum.result(), json!(3), "after {after}");
}

#[track_caller]
fn check(rows: &[(&str, Vec<u8>, &str)]) {
    for how in ["exec", "fork"] {
        let daemon = start(how);
        for (what, bytes, text) in rows {
            assert_eq!(say(&daemon, bytes, "wait"), *text, "{how}: {what}");
            next_run_works(&daemon, what);
        }
    }
}

#[test]
fn a_frame_that_is_none_ends_the_run() {
    let long = u32::try_from(LARGEST + 1).unwrap().to_le_bytes();
    check(&[
        ("an empty body", vec![0; 4], INTERNAL),
        ("a kind that is none", frame(0, b""), INTERNAL),
        ("a kind that will never be", frame(255, b"x"), INTERNAL),
        ("the longest length there is", vec![255; 4], INTERNAL),
        ("one byte more than may come", long.to_vec(), INTERNAL),
        ("a length that says less than comes", [&3_u32.to_le_bytes()[..], b"\x031"].concat(), TIME),
        ("a length in the other byte order", [&2_u32.to_be_bytes()[..], b"\x031"].concat(), INTERNAL),
        ("readiness that says too little", frame(1, &[1, 1]), INTERNAL),
        ("readiness that says too much", frame(1, &[1, 1, 1, 1]), INTERNAL),
        ("a call without its capability", frame(2, &[0; 4]), INTERNAL),
        ("a flag that is neither", frame(2, &[0, 0, 0, 0, 0, 0, 0, 0, 2, b'{', b'}']), INTERNAL),
        ("a limit that is none", frame(6, &[99]), INTERNAL),
        ("a limit and more", frame(6, &[1, 1]), INTERNAL),
        ("a claim that is no text", invalid_program(&[0xff, 0xfe]), INTERNAL),
        ("no frame at all", b"HTTP/1.1 200 OK\r\n\r\n".to_vec(), INTERNAL),
    ]);
}

#[test]
fn a_frame_out_of_turn_ends_the_run() {
    let text = "{\"text\":\"a\"}";
    check(&[
        ("ready again", ready(), INTERNAL),
        ("a program, which only the daemon sends", frame(2, b"def main(): pass"), INTERNAL),
        ("a question where nothing is hidden from anybody", ask(&[(0, 1)]), INTERNAL),
        ("a first call that is not the first", call(1, 0, text), INTERNAL),
        ("a call's number again", [call(0, 0, text), call(0, 0, text)].concat(), INTERNAL),
        ("a call's number skipped", [call(0, 0, text), call(2, 0, text)].concat(), INTERNAL),
        ("the last number there is", call(u32::MAX, 0, text), INTERNAL),
        ("a capability that is none", call(0, 1, text), INTERNAL),
        ("the last capability there is", call(0, u32::MAX, text), INTERNAL),
        ("arguments that are no JSON", call(0, 0, "{"), INTERNAL),
        ("arguments without names", call(0, 0, "[]"), INTERNAL),
        ("a name twice", call(0, 0, "{\"text\":\"a\",\"text\":\"b\"}"), INTERNAL),
        ("a result that is no JSON", returned("{\"a\":"), INTERNAL),
        ("a result and more", returned("1 2"), INTERNAL),
        ("a result with a key twice", returned("{\"a\":1,\"a\":2}"), INTERNAL),
        ("a number that is none", returned("1e400"), INTERNAL),
        ("half a character", returned("\"\\ud800\""), INTERNAL),
    ]);
}

#[test]
fn what_a_worker_may_say_is_bounded_and_checked_again() {
    let long = format!("\"{}\"", "x".repeat(1_500));
    let deep = "[".repeat(900) + &"]".repeat(900);
    let unbound = "invalid capability arguments: words.count: ";
    check(&[
        (
            "an argument that the worker has not bound",
            call(0, 0, "{}"),
            &format!("{unbound}missing required argument \"text\""),
        ),
        (
            "an argument of a wrong type",
            call(0, 0, "{\"text\":1}"),
            &format!("{unbound}argument \"text\" must be a string"),
        ),
        (
            "an argument too long",
            call(0, 0, &format!("{{\"text\":\"{}\"}}", "x".repeat(2_001))),
            "resource limit exceeded: max_value_bytes",
        ),
        (
            "an argument too deep",
            call(0, 0, &format!("{{\"text\":{deep}}}")),
            "resource limit exceeded: max_value_depth",
        ),
        (
            "a result too long",
            returned(&long),
            "resource limit exceeded: max_result_bytes; filter or summarise in the program",
        ),
        ("a result too deep", returned(&"[".repeat(900)), "resource limit exceeded: max_value_depth"),
        ("a claim in several lines", invalid_program(b"a\nb\x1b[31m\0c"), "invalid program: a b [31m c"),
        ("a claim of a limit", frame(6, &[2]), "resource limit exceeded: max_native_calls"),
        ("a second result", [returned("1"), returned("2")].concat(), "{\"result\":1}"),
        ("a call after the result", [returned("1"), call(0, 0, "{}")].concat(), "{\"result\":1}"),
        (
            "a result after a claim",
            [frame(6, &[1]), returned("1")].concat(),
            "resource limit exceeded: max_execution_steps",
        ),
    ]);
    // A text longer than any that is shown is cut.
    let daemon = start("exec");
    let shown = say(&daemon, &invalid_program(&[b'x'; 3_000]), "wait");
    assert_eq!(shown.strip_prefix("invalid program: ").unwrap().len(), 2_048);
    assert!(shown.ends_with("xx..."), "{shown}");
}

#[test]
fn a_flood_of_frames_ends_the_run_and_nobody_else_s() {
    let text = "{\"text\":\"a\"}";
    for how in ["exec", "fork"] {
        let daemon = start(how);
        let forever = |frame: &[u8]| format!("forever={}", hex(frame));
        for (what, said, text) in [
            ("results", forever(&returned("1")), "{\"result\":1}"),
            ("readiness", forever(&ready()), INTERNAL),
            ("one call", forever(&call(0, 0, text)), INTERNAL),
            ("empty frames", forever(&[0; 4]), INTERNAL),
            ("noise", forever(&[0xa5; 4096]), INTERNAL),
            ("a result behind calls", format!("calls=3 bytes={} wait", hex(&returned("1"))), "{\"result\":1}"),
        ] {
            assert_eq!(words(&daemon, &said), text, "{how}: {what}");
            next_run_works(&daemon, what);
        }
        // One call is answered before the next comes, now and then; not each of many.
        let config = config(how).replace("max_parallel_calls = 4", "max_parallel_calls = 1");
        let daemon = Daemon::start_as(&intruder(), &config, |_| {});
        assert_eq!(words(&daemon, "calls=1000000"), INTERNAL, "{how}: more calls at once than may be");
        next_run_works(&daemon, "more calls at once than may be");
    }
}

#[test]
fn a_worker_may_ask_about_each_capability_once_and_before_it_calls() {
    let rego =
        "[policy]\nmode = \"rego\"\nmodules = [\"p.rego\"]\nexecute = \"data.p.yes\"\ndiscover = \"data.p.yes\"\n";
    let config = config("fork").replace("[policy]\nmode = \"allow-all\"\n", rego);
    let daemon = Daemon::start_as(&intruder(), &config, |folder| {
        fs::write(folder.join("p.rego"), "package p\n\nyes := true\n").unwrap();
    });
    let (one, result) = (hex(&ask(&[(0, 1)])), hex(&returned("1")));
    let first = hex(&call(0, 0, "{\"text\":\"a\"}"));
    for (what, said, text) in [
        ("once", format!("bytes={one} answer bytes={result}"), "{\"result\":1}"),
        ("twice", format!("bytes={one} answer bytes={one} answer bytes={result}"), INTERNAL),
        ("twice at once", format!("bytes={} answer", hex(&ask(&[(0, 1), (0, 1)]))), INTERNAL),
        ("after a call", format!("bytes={first} answer bytes={one} answer"), INTERNAL),
        ("about one that is none", format!("bytes={} answer", hex(&ask(&[(1, 1)]))), INTERNAL),
        ("about more than there are", format!("bytes={} answer", hex(&ask(&[(0, u32::MAX)]))), INTERNAL),
        ("about the last number there is", format!("bytes={} answer", hex(&ask(&[(u32::MAX, 1)]))), INTERNAL),
        ("about nothing", format!("bytes={} answer", hex(&ask(&[]))), INTERNAL),
        ("about none of one", format!("bytes={} answer", hex(&ask(&[(0, 0)]))), INTERNAL),
        ("half a question", format!("bytes={} answer", hex(&frame(7, &[0; 5]))), INTERNAL),
    ] {
        assert_eq!(words(&daemon, &format!("{said} wait")), text, "{what}");
        next_run_works(&daemon, what);
    }
}

#[test]
fn a_worker_that_takes_its_answers_has_no_more_calls_than_a_program() {
    let daemon = start("fork");
    let one_by_one: String =
        (0..21).map(|number| format!("bytes={} answer ", hex(&call(number, 0, "{\"text\":\"a\"}")))).collect();
    assert_eq!(words(&daemon, &one_by_one), "resource limit exceeded: max_native_calls");
    next_run_works(&daemon, "calls");
}

#[test]
fn half_a_frame_and_silence_end_at_the_deadline_and_half_a_frame_and_death_at_once() {
    let half = [&10_u32.to_le_bytes()[..], b"\x03[1"].concat();
    for how in ["exec", "fork"] {
        let daemon = start(how);
        for (what, bytes, then, text) in [
            ("silence", &b""[..], "wait", TIME),
            ("half a header", &half[..2], "wait", TIME),
            ("half a frame", &half[..], "wait", TIME),
            ("death", &b""[..], "leave=0", INTERNAL),
            ("half a header and death", &half[..2], "leave=0", INTERNAL),
            ("half a frame and death", &half[..], "leave=0", INTERNAL),
            ("a call and death", &call(0, 0, "{\"text\":\"a\"}")[..], "leave=0", INTERNAL),
        ] {
            assert_eq!(say(&daemon, bytes, then), text, "{how}: {what}");
            next_run_works(&daemon, what);
        }
    }
}

/// A worker that is wrong from the start serves nobody, and costs no more than the run that needed it.
#[test]
fn a_worker_that_is_never_ready_is_given_up() {
    let not_ready = [returned("1"), vec![255; 4], frame(1, &[1, 1, 2])];
    for (said, causes) in [
        (format!("bytes={} wait", hex(&not_ready[0])), &["failed: the worker spoke out of turn"][..]),
        (format!("bytes={} wait", hex(&not_ready[1])), &["failed: the worker sent nonsense"]),
        (format!("bytes={} wait", hex(&not_ready[2])), &["failed: the worker sent nonsense"]),
        // It may be gone before it is told anything.
        (
            "leave=0".to_owned(),
            &["failed: the worker hung up", "failed: cannot start a worker: cannot hand the worker"],
        ),
        // The start's five seconds run beside the probe's.
        ("wait".to_owned(), &["did not end within 5 seconds", "failed: the worker was not ready in time"]),
    ] {
        let orders = format!("say {said}");
        let refused = refusal_of(&intruder(), &config("exec"), 70, |folder| {
            fs::write(folder.join("intruder"), &orders).unwrap();
        });
        let is_cause = |cause: &&str| refused.contains(&format!("the probe run {cause}"));
        assert!(causes.iter().any(is_cause), "{said}: {refused}");
    }

    let daemon = start("exec");
    let orders = daemon.folder.path().join("intruder");
    for (said, text) in [("leave=0", INTERNAL), ("wait", TIME)] {
        fs::write(&orders, format!("say {said}")).unwrap();
        until("no good worker waits any more", || daemon.main("return 1").text == text);
        let never_ready = daemon.children();
        fs::write(&orders, "").unwrap();
        until("a good worker waits", || daemon.main("return 1").text == "{\"result\":1}");
        until("nobody waits for the other any more", || {
            // What waits already is used up.
            daemon.main("return 1");
            daemon.children().iter().all(|worker| !never_ready.contains(worker))
        });
        next_run_works(&daemon, said);
    }
}
