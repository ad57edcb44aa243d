//! Searching real files.

use serde_json::{Value, json};

use super::*;
use crate::fixture::{Folder, VIEW, input, wanted};
use crate::roots::View;

#[track_caller]
fn find(folder: &Folder, arguments: Value) -> Found {
    search(&folder.roots(), &input(arguments), &wanted).unwrap()
}

/// Expects `path:line:text` for each match.
#[track_caller]
fn check(folder: &Folder, arguments: Value, expected: &[&str]) {
    let found = find(folder, arguments);
    let lines: Vec<String> =
        found.matches.iter().map(|found| format!("{}:{}:{}", found.path, found.line, found.text)).collect();
    assert_eq!(lines, expected);
}

#[track_caller]
fn check_refused(folder: &Folder, arguments: Value, expected: &str) {
    assert_eq!(search(&folder.roots(), &input(arguments), &wanted).unwrap_err().to_string(), expected);
}

#[test]
fn matches_come_by_path_and_line() {
    let folder = Folder::with(&[("b.txt", "one\ntwo\none two\n"), ("a/c.txt", "\nTwo\ntwo"), ("d.md", "two\n")]);
    check(&folder, json!({"pattern": "two"}), &["a/c.txt:3:two", "b.txt:2:two", "b.txt:3:one two", "d.md:1:two"]);
    check(&folder, json!({"pattern": "two", "glob": "*.txt", "path": "a"}), &["a/c.txt:3:two"]);
    check(&folder, json!({"pattern": "two", "path": "d.md"}), &["d.md:1:two"]);
    check(&folder, json!({"pattern": "t.o$", "glob": "!*.txt"}), &["d.md:1:two"]);
}

#[test]
fn case_counts_unless_it_is_said_not_to() {
    let folder = Folder::with(&[("f", "Straße\nSTRASSE\nstraße\n")]);
    check(&folder, json!({"pattern": "straß"}), &["f:3:straße"]);
    check(&folder, json!({"pattern": "straß", "case_sensitive": false}), &["f:1:Straße", "f:3:straße"]);
}

#[test]
fn anchors_are_about_lines_whatever_ends_them() {
    let folder = Folder::with(&[("dos", "fn a\r\nfn ab\r\n"), ("unix", "x fn a\nfn a")]);
    check(&folder, json!({"pattern": "^fn a$"}), &["dos:1:fn a", "unix:2:fn a"]);
}

#[test]
fn a_match_never_spans_lines() {
    let folder = Folder::with(&[("f", "a\nb\n")]);
    check(&folder, json!({"pattern": r"a\sb"}), &[]);
    check(&folder, json!({"pattern": "(?s)a.b"}), &[]);
    assert!(search(&folder.roots(), &input(json!({"pattern": r"a\nb"})), &wanted).is_err());
}

#[test]
fn an_empty_line_can_be_found() {
    let folder = Folder::with(&[("f", "a\n\nb\n"), ("empty", "")]);
    check(&folder, json!({"pattern": "^$"}), &["f:2:"]);
}

#[test]
fn context_is_what_stands_around_a_match() {
    let folder = Folder::with(&[("f", "1\n2\n3\r\nX\n5\nX")]);
    let found = find(&folder, json!({"pattern": "X", "context": 2}));
    assert_eq!(
        serde_json::to_value(found.matches).unwrap(),
        json!([
            {"path": "f", "line": 4, "text": "X", "before": ["2", "3"], "after": ["5", "X"]},
            {"path": "f", "line": 6, "text": "X", "before": ["X", "5"], "after": []},
        ])
    );
}

#[test]
fn a_limit_cuts_and_says_so_only_where_more_is_there() {
    let folder = Folder::with(&[("a", "x\nx\n"), ("b", "x\n")]);
    for (limit, truncated) in [(1, true), (2, true), (3, false), (4, false)] {
        let found = find(&folder, json!({"pattern": "x", "limit": limit}));
        assert_eq!((found.matches.len(), found.truncated), (limit.min(3), truncated), "{limit}");
    }
}

#[test]
fn what_cannot_be_searched_is_counted() {
    let folder = Folder::with(&[("good", "x\n"), ("large", &"x\n".repeat(100)), (".hidden", "x\n")]);
    folder.file("binary", b"x\0\n");
    folder.file("latin1", b"x caf\xe9\n");
    folder.pipe("pipe");
    folder.link("link", "good");
    folder.link("out", "../outside/secret.txt");
    let roots = folder.roots_with(View { max_file_bytes: 100, ..VIEW });
    let found = search(&roots, &input(json!({"pattern": "x|secret"})), &wanted).unwrap();
    assert_eq!((found.matches.len(), found.searched, found.skipped), (1, 1, 3));
}

#[test]
fn a_file_that_is_named_and_cannot_be_searched_is_refused() {
    let folder = Folder::new();
    folder.file("binary", b"x\0\n");
    folder.pipe("pipe");
    folder.link("out", "../outside/secret.txt");
    check_refused(&folder, json!({"pattern": "x", "path": "none"}), "`none` does not exist");
    check_refused(&folder, json!({"pattern": "x", "path": "pipe"}), "`pipe` is not a regular file");
    check_refused(&folder, json!({"pattern": "x", "path": "out"}), "`out` leads outside of its root");
    let binary = "`binary` is a binary file; only UTF-8 text can be read";
    check_refused(&folder, json!({"pattern": "x", "path": "binary"}), binary);
}

#[test]
fn an_invalid_pattern_is_refused_in_one_line() {
    let folder = Folder::new();
    check_refused(&folder, json!({"pattern": "(a"}), "invalid regular expression: unclosed group");
    let reference = "invalid regular expression: backreferences are not supported";
    check_refused(&folder, json!({"pattern": r"(a)\1"}), reference);
    let around = "invalid regular expression: look-around, including look-ahead and look-behind, is not supported";
    check_refused(&folder, json!({"pattern": "(?=a)"}), around);
}

#[test]
fn a_pattern_that_compiles_to_too_much_is_refused() {
    let refused = search(&Folder::new().roots(), &input(json!({"pattern": "(((\\w{100}){100}){100})"})), &wanted);
    assert!(matches!(refused, Err(FilesError::Pattern { .. })));
}

#[test]
fn a_pattern_that_ruins_backtracking_takes_linear_time() {
    let folder = Folder::with(&[("f", &"a".repeat(200_000))]);
    let started = std::time::Instant::now();
    check(&folder, json!({"pattern": "(a*)*(a*)*b"}), &[]);
    assert!(started.elapsed() < std::time::Duration::from_secs(10));
}

#[test]
fn a_huge_line_is_cut_between_characters() {
    let folder = Folder::with(&[("f", &format!("x{}\n", "é".repeat(400_000)))]);
    let found = find(&folder, json!({"pattern": "é$"}));
    let text = &found.matches[0].text;
    assert!(text.ends_with("é...") && text.len() <= MAX_LINE_BYTES + 3, "{}", text.len());
}

#[test]
fn an_answer_too_large_to_cross_is_cut() {
    let folder = Folder::with(&[("f", &format!("{}\n", "\"".repeat(400)).repeat(2_000))]);
    let found = find(&folder, json!({"pattern": "\"", "limit": 5_000}));
    assert!(found.truncated);
    assert!(serde_json::to_string(&found).unwrap().len() < 1024 * 1024);
}

#[test]
fn a_cancelled_search_ends_within_a_file() {
    let folder = Folder::with(&[("f", &"x\n".repeat(1_000))]);
    let asked = std::cell::Cell::new(0);
    let cancelled = || asked.replace(asked.get() + 1) >= 10;
    assert!(matches!(search(&folder.roots(), &input(json!({"pattern": "x"})), &cancelled), Err(FilesError::Cancelled)));
    assert!(asked.get() < 20);
}
