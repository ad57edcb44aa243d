//! Listing real folders.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

use serde_json::{Value, json};

use super::*;
use crate::fixture::{Folder, VIEW, input, wanted};
use crate::roots::View;

#[track_caller]
fn check(folder: &Folder, arguments: Value, expected: &[&str]) {
    check_in(&folder.roots(), arguments, expected);
}

#[track_caller]
fn check_in(roots: &Roots, arguments: Value, expected: &[&str]) {
    let listing = list(roots, &input(arguments), &wanted).unwrap();
    assert_eq!(paths(&listing), expected);
}

#[track_caller]
fn check_refused(folder: &Folder, arguments: Value, expected: &str) {
    assert_eq!(list(&folder.roots(), &input(arguments), &wanted).unwrap_err().to_string(), expected);
}

fn paths(listing: &Listing) -> Vec<&str> {
    listing.entries.iter().map(|entry| entry.path.as_str()).collect()
}

#[test]
fn without_a_glob_the_folder_itself_is_listed_with_kinds_and_sizes() {
    let folder = Folder::with(&[("b.txt", "12345"), ("a/deep/c.txt", "")]);
    folder.link("link", "b.txt");
    folder.pipe("pipe");
    let listing = list(&folder.roots(), &input(json!({})), &wanted).unwrap();
    assert_eq!(
        serde_json::to_value(listing).unwrap(),
        json!({
            "root": "work",
            "entries": [
                {"path": "a", "kind": "folder", "size": 0},
                {"path": "b.txt", "kind": "file", "size": 5},
                {"path": "link", "kind": "link", "size": 0},
                {"path": "pipe", "kind": "other", "size": 0},
            ],
            "truncated": false,
            "skipped": 0,
        })
    );
}

#[test]
fn a_glob_finds_files_at_every_depth_in_a_fixed_order() {
    let folder =
        Folder::with(&[("src/z.rs", ""), ("src/a/b/c.rs", ""), ("src/a.rs", ""), ("src/a.md", ""), ("b.rs", "")]);
    check(&folder, json!({"glob": "**/*.rs"}), &["b.rs", "src/a/b/c.rs", "src/a.rs", "src/z.rs"]);
    check(&folder, json!({"path": "src", "glob": "**/*.rs"}), &["src/a/b/c.rs", "src/a.rs", "src/z.rs"]);
    check(&folder, json!({"path": "src/", "glob": "./*.rs"}), &["src/a.rs", "src/z.rs"]);
    check(&folder, json!({"glob": ["*.md", "b.*"]}), &["b.rs", "src/a.md"]);
    check(&folder, json!({"glob": ["*.rs", "!src/a/"]}), &["b.rs", "src/a.rs", "src/z.rs"]);
    check(&folder, json!({"glob": "**"}), &["b.rs", "src/a/b/c.rs", "src/a.md", "src/a.rs", "src/z.rs"]);
}

#[test]
fn a_folder_of_hundreds_is_listed_whole() {
    let names: Vec<String> = (0..900).map(|number| format!("src/m{:02}/f{number:03}.rs", number % 30)).collect();
    let folder = Folder::new();
    names.iter().for_each(|name| folder.file(name, b""));
    let listing = list(&folder.roots(), &input(json!({"path": "src", "glob": "**/*.rs"})), &wanted).unwrap();
    assert_eq!(listing.entries.len(), 900);
    assert!(!listing.truncated);
}

#[test]
fn a_limit_cuts_and_says_so_only_where_more_is_there() {
    let folder = Folder::with(&[("a", ""), ("b", ""), ("c", "")]);
    for (limit, truncated) in [(2, true), (3, false), (4, false)] {
        let listing = list(&folder.roots(), &input(json!({"limit": limit})), &wanted).unwrap();
        assert_eq!((listing.entries.len(), listing.truncated), (limit.min(3), truncated));
    }
}

#[test]
fn hidden_things_are_left_out_unless_the_operator_shows_them() {
    let folder = Folder::with(&[(".env", ""), (".github/ci.yml", ""), ("a/.b", ""), ("a/c", "")]);
    check(&folder, json!({"glob": "**"}), &["a/c"]);
    check(&folder, json!({"glob": ".*"}), &[]);
    let shown = folder.roots_with(View { hidden: true, ..VIEW });
    check_in(&shown, json!({"glob": "**"}), &[".env", ".github/ci.yml", "a/.b", "a/c"]);
}

#[test]
fn git_ignored_things_are_left_out_unless_the_operator_shows_them() {
    let folder = Folder::with(&[
        (".gitignore", "/target\n*.log\n!keep.log\n# a comment\n"),
        ("target/x.rs", ""),
        ("a.log", ""),
        ("keep.log", ""),
        ("sub/.gitignore", "/here.txt\n!c.log\n"),
        ("sub/c.log", ""),
        ("sub/here.txt", ""),
        ("sub/below/here.txt", ""),
        ("sub/b.log", ""),
        ("sub/target/y.rs", ""),
        (".ignore", "notes/\n"),
        ("notes/n.txt", ""),
    ]);
    check(&folder, json!({"glob": "**"}), &["keep.log", "sub/below/here.txt", "sub/c.log", "sub/target/y.rs"]);
    check(&folder, json!({"path": "sub"}), &["sub/below", "sub/c.log", "sub/target"]);
    let shown = folder.roots_with(View { ignored: true, ..VIEW });
    check_in(&shown, json!({"path": "sub"}), &["sub/b.log", "sub/below", "sub/c.log", "sub/here.txt", "sub/target"]);
}

#[test]
fn rules_outside_of_the_root_have_no_say() {
    let folder = Folder::with(&[("a", "")]);
    std::fs::write(folder.path("").parent().unwrap().join(".gitignore"), "*\n").unwrap();
    check(&folder, json!({}), &["a"]);
}

#[test]
fn links_are_listed_and_never_walked_into() {
    let folder = Folder::with(&[("real/a.txt", "")]);
    folder.link("out", "../outside");
    folder.link("in", "real");
    folder.link("real/circle", "..");
    check(&folder, json!({"glob": "**"}), &["in", "out", "real/a.txt", "real/circle"]);
    check(&folder, json!({"path": "in"}), &["real/a.txt", "real/circle"]);
    check_refused(&folder, json!({"path": "out"}), "`out` leads outside of its root");
}

#[test]
fn a_rules_file_that_is_a_link_out_is_not_read() {
    let folder = Folder::with(&[("secret.txt", "")]);
    std::fs::write(folder.outside().join("rules"), "*.txt\n").unwrap();
    folder.link(".gitignore", "../outside/rules");
    check(&folder, json!({}), &["secret.txt"]);
}

#[test]
fn a_name_that_is_no_utf8_is_counted_and_left_out() {
    let folder = Folder::with(&[("good", "")]);
    std::fs::write(folder.path("").join(OsStr::from_bytes(b"bad\xff")), "").unwrap();
    let listing = list(&folder.roots(), &input(json!({})), &wanted).unwrap();
    assert_eq!((paths(&listing), listing.skipped), (vec!["good"], 1));
}

#[test]
fn only_a_folder_can_be_listed() {
    let folder = Folder::with(&[("file", "")]);
    check_refused(&folder, json!({"path": "file"}), "`file` is not a folder");
    check_refused(&folder, json!({"path": "none"}), "`none` does not exist");
    check_refused(&folder, json!({"path": "../outside"}), "path `../outside` must not contain `..`");
    check_refused(&folder, json!({"path": "/etc"}), "path `/etc` must be relative to the root");
    check_refused(&folder, json!({"path": ".git"}), "`.git` does not exist");
}

#[test]
fn an_answer_too_large_to_cross_is_cut() {
    let folder = Folder::new();
    // 200 bytes of quotes are 400 of JSON.
    (0..2_500).for_each(|number| folder.file(&format!("{number:04}{}", "\"".repeat(200)), b""));
    let listing = list(&folder.roots(), &input(json!({"limit": 10_000})), &wanted).unwrap();
    assert!(listing.truncated);
    assert!(serde_json::to_string(&listing).unwrap().len() < 1024 * 1024);
}

#[test]
fn a_cancelled_walk_ends() {
    let folder = Folder::with(&[("a", ""), ("b", "")]);
    let asked = std::cell::Cell::new(0);
    let cancelled = || asked.replace(asked.get() + 1) >= 2;
    assert!(matches!(list(&folder.roots(), &input(json!({})), &cancelled), Err(FilesError::Cancelled)));
}
