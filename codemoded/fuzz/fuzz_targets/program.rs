//! Any text as a program in a real worker of a real daemon.
//!
//! A worker that dies is no finding: that is what it is for. Findings are `internal failure`, an answer that comes long
//! after the deadline, a slot that does not come back, a good program that goes wrong, and a daemon that is gone. The
//! daemon is the ordinary build, so instead of its coverage the fuzzer is shown which answers it has not seen yet.
#![no_main]

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU8, AtomicU32, Ordering::Relaxed};

use codemoded_fuzz::Daemon;
use libfuzzer_sys::fuzz_target;

/// Kinds of answers that can be told apart.
const KINDS: usize = 1 << 14;

/// libFuzzer takes whatever is in this section for counters of covered code.
#[unsafe(link_section = "__libfuzzer_extra_counters")]
static SEEN: [AtomicU8; KINDS] = [const { AtomicU8::new(0) }; KINDS];

/// A program that returns 1 whatever ran before it.
const GOOD: &str = "def main():\n    return faulty.echo(value = [0, 1])[1]\n";

static DAEMON: OnceLock<Daemon> = OnceLock::new();
static PROGRAMS: AtomicU32 = AtomicU32::new(0);

fuzz_target!(|source: &[u8]| {
    let Ok(source) = std::str::from_utf8(source) else { return };
    let daemon = DAEMON.get_or_init(Daemon::start);
    let answer = daemon.execute(source);
    assert!(!answer.text.starts_with("internal failure"), "{}", answer.text);
    assert!(answer.took < Daemon::OVERRUN, "the answer took {:?}", answer.took);
    SEEN[kind(&answer.text)].store(1, Relaxed);
    // There is one slot, so a run that kept it would show at once; this costs a run, so not every time.
    if PROGRAMS.fetch_add(1, Relaxed).is_multiple_of(16) {
        let answer = daemon.execute(GOOD);
        assert_eq!(answer.text, "{\"result\":1}");
    }
});

/// The answer's words, without numbers, names and values in quotes.
fn kind(text: &str) -> usize {
    let words = text.lines().next().unwrap_or_default().split(['`', '"', '\'']).step_by(2);
    let bytes = words.flat_map(str::bytes).filter(|byte| !byte.is_ascii_digit()).take(80);
    bytes.fold(5381, |hash: usize, byte| hash.wrapping_mul(33) ^ usize::from(byte)) % KINDS
}
