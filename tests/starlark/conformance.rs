//! The conformance suite of `bazelbuild/starlark`, chunk by chunk, through the daemon's real worker.
//!
//! A file of the suite is a sequence of chunks between lines of `---`. A chunk becomes one program: the suite's three
//! assertions, then the chunk as it is, at the top level as its authors meant it, then a `main` that returns `True`.
//! `### words` on a line says that the chunk must fail, and how the failure reads.

use std::fs;
use std::path::{Path, PathBuf};

use regex::RegexBuilder;

use super::listed::{Kind, listed};
use crate::harness::{Daemon, allow_all, each};

const FILES: usize = 39;
const CHUNKS: usize = 430;

/// What every chunk may use. A difference that an assertion sees is a wrong value.
const ASSERTIONS: &str = r#"
def assert_eq(x, y):
    if x != y:
        fail("WRONG VALUE: %r is not %r" % (x, y))

def assert_ne(x, y):
    if x == y:
        fail("WRONG VALUE: %r is %r" % (x, y))

def assert_(cond, msg = "assertion failed"):
    if not cond:
        fail("WRONG VALUE: " + msg)
"#;

/// One program of the suite.
struct Chunk {
    /// `FOLDER/FILE.star:LINE`, the line being the chunk's first.
    place: String,
    code: String,
    /// How its failure must read, for this interpreter; none where it must succeed.
    failure: Option<String>,
}

/// The suite's folder of test data, where this machine has it.
fn suite() -> Option<PathBuf> {
    let named = std::env::var_os("CODEMODE_STARLARK_SUITE").map(PathBuf::from);
    let among_others = || std::env::var_os("CODEMODE_SUITES").map(|suites| Path::new(&suites).join("starlark"));
    named.or_else(among_others).filter(|folder| folder.is_dir())
}

#[test]
fn every_chunk_of_the_conformance_suite_passes_or_is_listed_and_none_is_a_wrong_value() {
    let Some(folder) = suite() else {
        // It is somebody else's, and nobody has to have it: `conform` takes its folder.
        println!("no folder of the suite: nothing to judge");
        return;
    };
    let chunks = chunks(&folder);
    let daemon = Daemon::start(&allow_all("[limits]\nmax_source_bytes = \"256KiB\"\n"));
    let outcomes = each(&chunks, |chunk| {
        let answer = daemon.execute(&format!("{ASSERTIONS}{}\ndef main():\n    return True\n", chunk.code));
        judge(chunk, answer.is_error.then_some(answer.text.as_str()))
    });
    let found: Vec<_> = chunks.iter().zip(outcomes).filter_map(|(chunk, kind)| Some((chunk, kind?))).collect();
    let listed = listed("Conformance");
    let mut faults = Vec::new();
    for (chunk, (kind, text)) in &found {
        match listed.iter().find(|row| row.place == chunk.place) {
            Some(row) if row.kind == *kind => {}
            Some(row) => faults.push(format!("{}: {kind:?}, listed as {:?}: {text}", chunk.place, row.kind)),
            None => faults.push(format!("{}: {kind:?}, not listed: {text}", chunk.place)),
        }
    }
    for row in listed.iter().filter(|row| !found.iter().any(|(chunk, _)| chunk.place == row.place)) {
        faults.push(format!("{}: passes; take it off the list", row.place));
    }
    println!("{} of {} chunks pass, {} are listed", chunks.len() - found.len(), chunks.len(), listed.len());
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

/// How a chunk does not pass, and what was said; nothing where it passes.
fn judge(chunk: &Chunk, failure: Option<&str>) -> Option<(Kind, String)> {
    match (&chunk.failure, failure) {
        (_, Some(text)) if text.contains("WRONG VALUE") => Some((Kind::WrongValue, text.to_owned())),
        (None, None) => None,
        (None, Some(text)) => Some((Kind::Stricter, text.to_owned())),
        (Some(expected), None) => Some((Kind::Laxer, format!("no failure that reads `{expected}`"))),
        (Some(expected), Some(text)) => {
            // Braces stand for themselves in every expression of the suite.
            let expression = expected.replace('{', "\\{").replace('}', "\\}");
            let reads = text.to_lowercase().contains(&expected.to_lowercase())
                || RegexBuilder::new(&expression).case_insensitive(true).build().unwrap().is_match(text);
            (!reads).then(|| (Kind::Wording, format!("{text} instead of `{expected}`")))
        }
    }
}

fn chunks(folder: &Path) -> Vec<Chunk> {
    let mut files: Vec<_> = ["go", "java", "rust"]
        .iter()
        .flat_map(|part| fs::read_dir(folder.join(part)).unwrap())
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "star"))
        .collect();
    files.sort();
    let chunks: Vec<_> = files.iter().flat_map(|path| chunks_of(path)).collect();
    assert_eq!((files.len(), chunks.len()), (FILES, CHUNKS), "another state of the suite: check the list");
    chunks
}

fn chunks_of(path: &Path) -> Vec<Chunk> {
    let part = path.parent().unwrap().file_name().unwrap().to_string_lossy();
    let file = format!("{part}/{}", path.file_name().unwrap().to_string_lossy());
    let begin = |line: usize| Chunk { place: format!("{file}:{line}"), code: String::new(), failure: None };
    let mut done = Vec::new();
    let mut chunk = begin(1);
    for (number, line) in (1..).zip(fs::read_to_string(path).unwrap().lines()) {
        let line = line.trim_end();
        if line == "---" {
            done.push(std::mem::replace(&mut chunk, begin(number + 1)));
            continue;
        }
        let (code, remark) = line.split_once("###").unwrap_or((line, ""));
        chunk.code += code;
        chunk.code.push('\n');
        let remark = remark.trim();
        let (whose, words) = remark.split_once(':').unwrap_or(("", remark));
        match whose {
            "go" | "java" => {}
            "rust" => chunk.failure = Some(words.trim().to_owned()),
            _ if remark.is_empty() => {}
            _ => chunk.failure = Some(remark.to_owned()),
        }
    }
    done.push(chunk);
    done
}
