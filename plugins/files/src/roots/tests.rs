//! Attempts to leave a root.

use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixListener;

use super::*;
use crate::fixture::{Folder, VIEW};

#[track_caller]
fn check(folder: &Folder, path: &str, expected: &str) {
    check_in(&folder.roots(), path, expected);
}

#[track_caller]
fn check_in(roots: &Roots, path: &str, expected: &str) {
    let path = RelativePath::parse(path).unwrap();
    let text = roots.pick(None).unwrap().text(&path);
    assert_eq!(text.unwrap_or_else(|error| format!("! {error}")), expected);
}

#[test]
fn a_link_to_a_file_inside_is_followed() {
    let folder = Folder::with(&[("a/real.txt", "inside\n")]);
    folder.link("alias.txt", "a/real.txt");
    folder.link("a/back.txt", "../alias.txt");
    check(&folder, "alias.txt", "inside\n");
    check(&folder, "a/back.txt", "inside\n");
}

#[test]
fn a_link_cannot_lead_out() {
    let folder = Folder::new();
    folder.link("relative", "../outside/secret.txt");
    folder.link("absolute", folder.outside().join("secret.txt"));
    folder.link("folder", "../outside");
    folder.link("chain", "relative");
    folder.link("system", "/etc/passwd");
    check(&folder, "relative", "! `relative` leads outside of its root");
    check(&folder, "absolute", "! `absolute` leads outside of its root");
    check(&folder, "folder/secret.txt", "! `folder/secret.txt` leads outside of its root");
    check(&folder, "chain", "! `chain` leads outside of its root");
    check(&folder, "system", "! `system` leads outside of its root");
}

#[test]
fn a_missing_path_outside_reads_as_one_that_is_there() {
    let folder = Folder::new();
    folder.link("out", "../outside");
    check(&folder, "out/secret.txt", "! `out/secret.txt` leads outside of its root");
    check(&folder, "out/none.txt", "! `out/none.txt` leads outside of its root");
}

#[test]
fn links_in_a_circle_end() {
    let folder = Folder::new();
    folder.link("a", "b");
    folder.link("b", "a");
    check(&folder, "a", "! `a` is not readable");
}

#[test]
fn a_missing_file_is_named_by_its_path_in_the_root() {
    let folder = Folder::with(&[("file", "")]);
    folder.link("dangling", "nowhere");
    check(&folder, "no/such.txt", "! `no/such.txt` does not exist");
    check(&folder, "file/below", "! `file/below` does not exist");
    check(&folder, "dangling", "! `dangling` does not exist");
}

#[test]
fn a_pipe_is_refused_without_waiting_for_its_writer() {
    let folder = Folder::new();
    folder.pipe("pipe");
    folder.link("alias", "pipe");
    check(&folder, "pipe", "! `pipe` is not a regular file");
    check(&folder, "alias", "! `alias` is not a regular file");
}

#[test]
fn a_socket_is_refused() {
    let folder = Folder::new();
    let _listener = UnixListener::bind(folder.path("socket")).unwrap();
    check(&folder, "socket", "! `socket` is not a regular file");
}

#[test]
fn a_device_is_refused() {
    let roots = Roots::open(&BTreeMap::from([("dev".to_owned(), PathBuf::from("/dev"))]), VIEW).unwrap();
    check_in(&roots, "zero", "! `zero` is not a regular file");
}

#[test]
fn a_folder_is_no_file() {
    let folder = Folder::with(&[("a/b", "")]);
    check(&folder, "a", "! `a` is a folder, not a file");
    check(&folder, ".", "! `.` is a folder, not a file");
}

#[test]
fn a_file_with_a_nul_or_without_utf8_is_binary() {
    let folder = Folder::new();
    folder.file("nul", b"text\0text");
    folder.file("latin1", b"caf\xe9\n");
    folder.file("utf8", "café\n".as_bytes());
    check(&folder, "nul", "! `nul` is a binary file; only UTF-8 text can be read");
    check(&folder, "latin1", "! `latin1` is a binary file; only UTF-8 text can be read");
    check(&folder, "utf8", "café\n");
}

#[test]
fn a_file_is_read_up_to_the_limit_and_refused_above_it() {
    let folder = Folder::with(&[("below", "1234567"), ("at", "12345678"), ("above", "123456789")]);
    let roots = folder.roots_with(View { max_file_bytes: 8, ..VIEW });
    check_in(&roots, "below", "1234567");
    check_in(&roots, "at", "12345678");
    check_in(&roots, "above", "! `above` has 9 bytes, more than may be read from one file");
}

#[test]
fn a_hidden_path_reads_as_missing() {
    let folder = Folder::with(&[(".env", "TOKEN=1\n"), (".git/config", "[core]\n"), ("a/.b/c", "c\n")]);
    folder.link("env", ".env");
    for path in [".env", ".git/config", "a/.b/c", "env"] {
        check(&folder, path, &format!("! `{path}` does not exist"));
    }
}

#[test]
fn a_hidden_path_is_read_where_the_operator_shows_them() {
    let folder = Folder::with(&[(".env", "TOKEN=1\n")]);
    check_in(&folder.roots_with(View { hidden: true, ..VIEW }), ".env", "TOKEN=1\n");
}

#[test]
fn a_root_may_be_omitted_only_where_there_is_one() {
    let (one, other) = (Folder::with(&[("f", "one")]), Folder::with(&[("f", "other")]));
    let folders = BTreeMap::from([("b".to_owned(), one.path("")), ("a".to_owned(), other.path(""))]);
    let roots = Roots::open(&folders, VIEW).unwrap();
    assert_eq!(one.roots().pick(None).unwrap().name, "work");
    assert_eq!(roots.pick(Some("b")).unwrap().name, "b");
    assert_eq!(roots.pick(None).unwrap_err().to_string(), "argument `root` is needed; the roots are `a`, `b`");
    assert_eq!(roots.pick(Some("c")).unwrap_err().to_string(), "no root is named `c`; the roots are `a`, `b`");
}

#[test]
fn a_root_that_is_no_folder_refuses_the_start_with_its_path() {
    let folder = Folder::with(&[("file", "")]);
    for path in ["file", "missing"] {
        let path = folder.path(path);
        let refused = Roots::open(&BTreeMap::from([("docs".to_owned(), path.clone())]), VIEW).unwrap_err();
        assert_eq!(refused.to_string(), format!("root `docs`: cannot open the folder `{}`", path.display()));
    }
    assert!(matches!(Roots::open(&BTreeMap::new(), VIEW), Err(RootsError::Empty)));
}

#[test]
fn a_file_that_may_not_be_read_says_so() {
    let folder = Folder::with(&[("locked", "x")]);
    std::fs::set_permissions(folder.path("locked"), std::fs::Permissions::from_mode(0o000)).unwrap();
    // Root reads everything, so the promise shows only where the tests run as somebody else.
    if std::fs::read(folder.path("locked")).is_err() {
        check(&folder, "locked", "! `locked` is not readable");
    }
}
