//! Reading real files.

use serde_json::{Value, json};

use super::*;
use crate::fixture::{Folder, input, wanted};

/// Reads a file of this text with these further arguments; expects text, first, last and total line.
#[track_caller]
fn check(text: &str, mut arguments: Value, expected: (&str, u64, u64, u64)) {
    let folder = Folder::with(&[("f", text)]);
    arguments["path"] = json!("f");
    let excerpt = read(&folder.roots(), &input(arguments), &wanted).unwrap();
    assert_eq!((excerpt.text.as_str(), excerpt.start_line, excerpt.end_line, excerpt.total_lines), expected);
    assert!(!excerpt.truncated);
}

#[track_caller]
fn check_refused(arguments: Value, expected: &str) {
    let folder = Folder::with(&[("f", "1\n2\n3\n"), ("empty", "")]);
    assert_eq!(read(&folder.roots(), &input(arguments), &wanted).unwrap_err().to_string(), expected);
}

#[test]
fn a_file_comes_back_byte_for_byte() {
    check("1\n2\n3\n", json!({}), ("1\n2\n3\n", 1, 3, 3));
    check("\u{feff}a\tb\u{1}\n\n\n", json!({}), ("\u{feff}a\tb\u{1}\n\n\n", 1, 3, 3));
}

#[test]
fn an_empty_file_has_no_lines() {
    check("", json!({}), ("", 1, 0, 0));
    check("", json!({"start_line": 1, "end_line": 5}), ("", 1, 0, 0));
}

#[test]
fn a_last_line_without_an_end_counts_and_stays_without() {
    check("1\n2", json!({}), ("1\n2", 1, 2, 2));
    check("\n", json!({}), ("\n", 1, 1, 1));
}

#[test]
fn carriage_returns_are_kept() {
    check("1\r\n2\r\n", json!({"start_line": 2}), ("2\r\n", 2, 2, 2));
}

#[test]
fn a_range_holds_both_its_ends() {
    check("1\n2\n3\n4\n", json!({"start_line": 2, "end_line": 3}), ("2\n3\n", 2, 3, 4));
    check("1\n2\n3\n4\n", json!({"start_line": 4, "end_line": 4}), ("4\n", 4, 4, 4));
    check("1\n2\n3\n4\n", json!({"end_line": 1}), ("1\n", 1, 1, 4));
}

#[test]
fn an_end_past_the_last_line_is_the_last_line() {
    check("1\n2\n", json!({"start_line": 2, "end_line": 900}), ("2\n", 2, 2, 2));
}

#[test]
fn a_range_that_cannot_be_is_refused() {
    check_refused(json!({"path": "f", "start_line": 3, "end_line": 2}), "`end_line` 2 is before `start_line` 3");
    check_refused(json!({"path": "f", "start_line": 4}), "`start_line` 4 is past the end: `f` has 3 lines");
    check_refused(json!({"path": "empty", "start_line": 2}), "`start_line` 2 is past the end: `empty` has 0 lines");
}

#[test]
fn a_path_that_leaves_the_root_is_refused() {
    check_refused(json!({"path": "../outside/secret.txt"}), "path `../outside/secret.txt` must not contain `..`");
    check_refused(json!({"path": "/etc/passwd"}), "path `/etc/passwd` must be relative to the root");
    check_refused(json!({"path": "f\0g"}), "path must not contain a NUL character");
}

#[test]
fn a_text_too_large_to_cross_is_cut_between_lines() {
    let folder = Folder::with(&[("f", &"\"\"\"\"\"\"\"\n".repeat(100_000))]);
    let first = read(&folder.roots(), &input(json!({"path": "f"})), &wanted).unwrap();
    assert!(first.truncated && first.text.ends_with("\"\n"));
    assert_eq!(first.end_line, count_lines(&first.text));
    assert!(serde_json::to_string(&first).unwrap().len() < 1024 * 1024);

    let next = json!({"path": "f", "start_line": first.end_line + 1});
    let second = read(&folder.roots(), &input(next), &wanted).unwrap();
    assert!(!second.truncated);
    assert_eq!(first.text + &second.text, "\"\"\"\"\"\"\"\n".repeat(100_000));
}

#[test]
fn a_single_line_too_large_to_cross_is_cut_within_a_character_boundary() {
    let folder = Folder::with(&[("f", &format!("x{}", "é".repeat(500_000)))]);
    let excerpt = read(&folder.roots(), &input(json!({"path": "f"})), &wanted).unwrap();
    assert!(excerpt.truncated && excerpt.text.ends_with('é'));
    assert_eq!((excerpt.end_line, excerpt.total_lines), (1, 1));
    assert!(excerpt.text.len() > 800 * 1024);
}

#[test]
fn a_cancelled_read_ends() {
    let folder = Folder::with(&[("f", "1\n2\n")]);
    assert!(matches!(read(&folder.roots(), &input(json!({"path": "f"})), &|| true), Err(FilesError::Cancelled)));
}
