//! Asking about real files.

use serde_json::json;

use super::*;
use crate::fixture::{Folder, input};

#[track_caller]
fn check(folder: &Folder, path: &str, expected: (Kind, u64)) {
    let status = stat(&folder.roots(), &input(json!({"path": path}))).unwrap();
    assert_eq!((status.kind, status.size), expected);
}

#[test]
fn a_path_tells_its_kind_and_size() {
    let folder = Folder::with(&[("a/f", "12345")]);
    folder.pipe("pipe");
    folder.link("link", "a/f");
    check(&folder, "a/f", (Kind::File, 5));
    check(&folder, "a", (Kind::Folder, 0));
    check(&folder, ".", (Kind::Folder, 0));
    check(&folder, "pipe", (Kind::Other, 0));
    check(&folder, "link", (Kind::File, 5));
}

#[test]
fn the_time_of_change_is_in_seconds() {
    let folder = Folder::with(&[("f", "")]);
    for seconds in [1_700_000_000, 0] {
        let time = UNIX_EPOCH + std::time::Duration::from_secs(seconds);
        std::fs::File::open(folder.path("f")).unwrap().set_modified(time).unwrap();
        let status = stat(&folder.roots(), &input(json!({"path": "f"}))).unwrap();
        assert_eq!(status.modified, seconds.cast_signed());
    }
}

#[test]
fn what_is_missing_hidden_or_outside_is_refused() {
    let folder = Folder::with(&[(".hidden", "")]);
    folder.link("out", "../outside/secret.txt");
    for (path, expected) in [
        ("none", "`none` does not exist"),
        (".hidden", "`.hidden` does not exist"),
        ("out", "`out` leads outside of its root"),
        ("../outside", "path `../outside` must not contain `..`"),
    ] {
        assert_eq!(stat(&folder.roots(), &input(json!({"path": path}))).unwrap_err().to_string(), expected);
    }
}
