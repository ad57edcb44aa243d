//! Rules for Rust sources.

use super::{Fault, File, files, obeyed, sees, words};

const MAX_CODE_LINES: usize = 500;

/// Names that say nothing about what a file holds.
const EMPTY_NAMES: [&str; 9] = ["utils", "util", "common", "helpers", "helper", "manager", "misc", "shared", "mod"];

/// Where the compiler's proof ends and an argument begins.
const UNSAFE_FILES: [&str; 16] = [
    "plugin-api/src/abi.rs",
    "plugin-api/src/export.rs",
    "codemoded/src/plugin/",
    // Takes variables out of the environment.
    "codemoded/src/supervisor.rs",
    "codemoded/src/worker/fatal.rs",
    "codemoded/src/worker/process.rs",
    "codemoded/src/worker/sandbox.rs",
    "codemoded/src/worker/spawn.rs",
    "codemoded/src/worker/template.rs",
    // The interpreter's derives implement its own unsafe marker traits.
    "codemoded/src/program/context.rs",
    "codemoded/src/program/methods.rs",
    "codemoded/src/program/namespace.rs",
    "codemoded/src/program/native.rs",
    // Asks the kernel about its clock.
    "codemoded/src/doctor/clock.rs",
    // Attacks from inside a worker.
    "codemoded/examples/intruder/attack.rs",
    // Misbehaves on request, and has to be able to.
    "plugins/faulty/examples/",
];

#[test]
fn every_module_opens_by_saying_what_it_is() {
    obeyed(opening, &["rs"]);
}

fn opening(file: &File) -> Vec<Fault> {
    let mut text = file.text.trim_start();
    while let Some((_, rest)) = text.strip_prefix("#![").and_then(|attribute| attribute.split_once("]\n")) {
        text = rest.trim_start();
    }
    if text.starts_with("//! ") {
        return vec![];
    }
    vec![Fault::new(1, "open with a line of `//!`: what this module is")]
}

#[test]
fn no_file_grows_past_what_one_reads_at_once() {
    obeyed(size, &["rs", "py"]);
}

fn size(file: &File) -> Vec<Fault> {
    let is_code = |line: &str| !line.is_empty() && !line.starts_with("//") && !line.starts_with('#');
    let mut code = file.lines().filter(|(_, line)| is_code(line.trim()));
    match code.nth(MAX_CODE_LINES) {
        Some((line, _)) => vec![Fault::new(line, format!("over {MAX_CODE_LINES} lines of code: split the file"))],
        None => vec![],
    }
}

#[test]
fn every_file_is_named_for_what_it_holds() {
    obeyed(name, &["rs", "py"]);
}

fn name(file: &File) -> Vec<Fault> {
    let is_empty =
        EMPTY_NAMES.iter().any(|empty| file.path.split('/').any(|part| part.split('.').next() == Some(empty)));
    if is_empty {
        return vec![Fault::new(1, "the path names nothing: use the domain's noun, and `foo.rs` beside `foo/`")];
    }
    vec![]
}

#[test]
fn no_lint_is_silenced_for_good() {
    obeyed(allow, &["rs"]);
}

fn allow(file: &File) -> Vec<Fault> {
    let attribute = |line: &str| line.contains(concat!("#[", "allow(")) || line.contains(concat!("#![", "allow("));
    file.faults(attribute, "use `#[expect(…, reason = \"…\")]`, which says when it is no longer needed")
}

#[test]
fn nothing_is_left_for_later() {
    obeyed(unfinished, &["rs", "py", "md", "toml", "star", "rego", "service", ""]);
}

fn unfinished(file: &File) -> Vec<Fault> {
    const MARKS: [&str; 5] = [
        concat!("TO", "DO"),
        concat!("FIX", "ME"),
        concat!("XX", "X"),
        concat!("unimple", "mented"),
        concat!("to", "do"),
    ];
    let is_macro = |line: &str, mark: &str| mark.chars().any(char::is_uppercase) || line.contains(&format!("{mark}!("));
    let marked = |line: &str| MARKS.iter().any(|mark| words(line).any(|word| word == *mark) && is_macro(line, mark));
    file.faults(marked, "finish it, or leave it out")
}

#[test]
fn unsafe_code_stays_in_its_few_files() {
    obeyed(unsafe_code, &["rs"]);
    let sources = files(&["rs"]);
    for place in UNSAFE_FILES {
        let in_use =
            sources.iter().any(|file| is_in(file, place) && file.lines().any(|(_, line)| permits_unsafe(line)));
        assert!(in_use, "`{place}` holds no unsafe code any more: take it off the list");
    }
}

/// Unsafe code is denied to the whole workspace, so a file that holds some must say so.
fn unsafe_code(file: &File) -> Vec<Fault> {
    if UNSAFE_FILES.iter().any(|place| is_in(file, place)) {
        return vec![];
    }
    file.faults(permits_unsafe, "unsafe code belongs to the plugin ABI and to the start of processes: move it there")
}

fn permits_unsafe(line: &str) -> bool {
    const LEVELS: [&str; 3] = ["expect", "allow", "warn"];
    words(line).zip(words(line).skip(1)).any(|(level, lint)| LEVELS.contains(&level) && lint == "unsafe_code")
}

fn is_in(file: &File, place: &str) -> bool {
    if place.ends_with('/') { file.path.starts_with(place) } else { file.path == place }
}

#[test]
fn comments_are_not_decoration() {
    obeyed(decoration, &["rs", "py", "toml", "star", "rego", ""]);
}

fn decoration(file: &File) -> Vec<Fault> {
    let rule = |line: &str| {
        let comment = line.trim().trim_start_matches(['/', '!', '#']);
        comment.len() < line.trim().len()
            && ["----", "====", "****"].iter().any(|rule| comment.trim().starts_with(rule))
    };
    file.faults(rule, "a drawn line says nothing: split the file, or leave it out")
}

#[test]
fn every_test_runs() {
    obeyed(ignored, &["rs"]);
}

fn ignored(file: &File) -> Vec<Fault> {
    let attribute = |line: &str| line.trim_start().starts_with(concat!("#[", "ignore"));
    file.faults(attribute, "let it run in a short form; CODEMODE_SOAK asks for the long one")
}

#[test]
fn a_plugin_forbids_unsafe_code() {
    obeyed(forbids, &["rs"]);
}

fn forbids(file: &File) -> Vec<Fault> {
    let is_plugin = file.path.starts_with("plugins/") && file.path.ends_with("/src/lib.rs");
    if is_plugin && !file.text.contains("#![forbid(unsafe_code)]") {
        return vec![Fault::new(1, "add `#![forbid(unsafe_code)]`: a plugin needs none")];
    }
    vec![]
}

#[test]
fn each_rule_sees_its_fault() {
    sees(opening, "a.rs", "//! A thing.\nuse b;\n", &[]);
    sees(opening, "a.rs", "#![forbid(unsafe_code)]\n//! A thing.\n", &[]);
    sees(opening, "a.rs", "\nuse b;\n", &[1]);
    sees(opening, "a.rs", "", &[1]);
    sees(size, "a.rs", &"x;\n// why\n\n".repeat(MAX_CODE_LINES), &[]);
    sees(size, "a.rs", &"x;\n".repeat(MAX_CODE_LINES + 2), &[MAX_CODE_LINES + 1]);
    sees(name, "a/catalog.rs", "", &[]);
    sees(name, "a/utils.rs", "", &[1]);
    sees(name, "a/mod.rs", "", &[1]);
    sees(allow, "a.rs", concat!("x\n#[", "allow(dead_code)]\n"), &[2]);
    sees(allow, "a.rs", "#[expect(dead_code, reason = \"…\")]\n", &[]);
    sees(unfinished, "a.md", concat!("x\ny TO", "DO: later\n"), &[2]);
    sees(unfinished, "a.rs", concat!("to", "do!()\n"), &[1]);
    sees(unfinished, "a.md", concat!("a list of things to do, a to", "do list\n"), &[]);
    let permit = concat!("//! x\n#![expect(unsafe", "_code, reason = \"…\")]\n");
    sees(unsafe_code, "codemoded/src/run.rs", permit, &[2]);
    sees(unsafe_code, "codemoded/src/run.rs", "#![forbid(unsafe_code)]\n", &[]);
    sees(unsafe_code, "codemoded/src/plugin/library.rs", permit, &[]);
    sees(decoration, "a.rs", "x\n// -----\n", &[2]);
    sees(decoration, "a.toml", "# ====== section\n", &[1]);
    sees(decoration, "a.rs", "// a -- b\n", &[]);
    sees(ignored, "a.rs", concat!("    #[", "ignore = \"slow\"]\n"), &[1]);
    sees(forbids, "plugins/records/src/lib.rs", "//! x\n", &[1]);
    sees(forbids, "plugins/records/src/lib.rs", "#![forbid(unsafe_code)]\n", &[]);
}
