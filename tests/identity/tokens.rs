//! Tokens of a file: made by the command, known by their digest, and read again when the file changes.

use std::fs;
use std::path::Path;
use std::process::Command;

use super::door::{note, search, was_reached};
use crate::harness::{Daemon, faulty, run, until};

/// A token and its line for the file, which is the last: scripts take it from there.
fn mint(arguments: &[&str]) -> (String, String) {
    let all = [&["token", "new"], arguments].concat();
    let (code, out, err) = run(&all, Path::new("/"));
    assert_eq!((code, err.as_str()), (0, ""), "{out}");
    let (token, below) = out.trim_end().split_once('\n').unwrap();
    let line = below.strip_prefix("# for the tokens file:\n").unwrap_or_else(|| panic!("{out}"));
    assert_eq!(line.lines().count(), 1, "{out}");
    (token.to_owned(), line.to_owned())
}

fn start(file: &str, more: &str) -> Daemon {
    let config = format!(
        "[server]\nlisten = \"127.0.0.1:0\"\n[identity]\nmode = \"tokens\"\ntokens_file = \"tokens.toml\"\n{more}\
         [policy]\nmode = \"rego\"\nmodules = [\"p.rego\"]\nexecute = \"data.p.allow\"\n{}",
        faulty()
    );
    let policy = "package p\n\ndefault allow := false\n\nallow if \"ops\" in input.subject.claims.groups\n";
    Daemon::start_with(&config, |folder| {
        fs::write(folder.join("p.rego"), policy).unwrap();
        fs::write(folder.join("tokens.toml"), file).unwrap();
    })
}

fn bearer(token: &str) -> String {
    format!("authorization: Bearer {token}")
}

#[test]
fn a_token_is_its_subjects_and_says_its_groups() {
    let (ann, ann_line) = mint(&["--subject", "ann", "--group", "ops", "--group", "dev"]);
    let (bob, bob_line) = mint(&["--subject", "bob@example.com", "--days", "1"]);
    let daemon = start(&format!("# who may call\n{ann_line}\n{bob_line}\n"), "");
    assert_eq!(note(&daemon, &[&bearer(&ann)]).text(), "{\"result\":\"ann\"}");
    assert_eq!(note(&daemon, &[&bearer(&bob)]).text(), "permission denied");
}

#[test]
fn no_other_token_counts() {
    let (good, line) = mint(&["--subject", "ann", "--group", "ops"]);
    let (stranger, _) = mint(&["--subject", "ann"]);
    let (old, old_line) = mint(&["--subject", "ann"]);
    let old_line = format!("{}expires = 2020-01-01 }}", old_line.split("expires").next().unwrap());
    let daemon = start(&format!("{line}\n{old_line}\n"), "");
    let (head, secret) = good.rsplit_once('_').unwrap();
    let digest = line.split('"').nth(1).unwrap();
    let tokens = [
        ("made elsewhere", stranger.clone()),
        ("expired", old),
        ("another's ID", format!("{head}_{}", stranger.rsplit_once('_').unwrap().1)),
        ("the digest", format!("{head}_{digest}")),
        ("no secret", format!("{head}_")),
        ("no ID", format!("cm__{secret}")),
        ("the secret alone", secret.to_owned()),
        ("in capitals", good.to_uppercase()),
        ("one letter more", format!("{good}0")),
        ("one letter less", good.strip_suffix(|_: char| true).unwrap().to_owned()),
    ];
    for (case, token) in &tokens {
        let reply = note(&daemon, &[&bearer(token)]);
        assert_eq!((reply.status, reply.body.as_str()), (401, "unauthenticated"), "{case}");
        let challenge = "Bearer realm=\"codemoded\", error=\"invalid_token\"";
        assert_eq!(reply.header("www-authenticate"), Some(challenge), "{case}");
    }
    for headers in [&[][..], &[&*bearer(&good), &*bearer(&good)], &[&*format!("{}, x", bearer(&good))]] {
        assert_eq!(note(&daemon, headers).status, 401, "{headers:?}");
    }
    assert!(!was_reached(&daemon));
    assert_eq!(note(&daemon, &[&bearer(&good)]).status, 200);
}

#[test]
fn a_changed_file_counts_at_once_and_a_broken_one_changes_nothing() {
    let (first, first_line) = mint(&["--subject", "ann"]);
    let (second, second_line) = mint(&["--subject", "bob"]);
    let daemon = start(&first_line, "");
    let status = |token: &str| search(&daemon, &[&bearer(token)]).status;
    let write = |text: &str| fs::write(daemon.folder.path().join("tokens.toml"), text).unwrap();
    assert_eq!((status(&first), status(&second)), (200, 401));
    write(&format!("{first_line}\n{second_line}\n"));
    until("the new token counts", || status(&second) == 200);
    write(&format!("{first_line}\nx = {{ sha256 = \"no digest\" }}\n"));
    until("the broken file is told", || {
        assert_eq!(status(&second), 200);
        daemon.log().contains("the file of tokens has changed and cannot be used")
    });
    write(&second_line);
    until("the withdrawn token no longer counts", || status(&first) == 401);
    assert_eq!(status(&second), 200);
    // Whoever opened a pipe would wait for somebody to write.
    let file = daemon.folder.path().join("tokens.toml");
    fs::remove_file(&file).unwrap();
    assert!(Command::new("mkfifo").arg(&file).status().unwrap().success());
    until("the pipe is told", || {
        assert_eq!(status(&second), 200);
        daemon.log().contains("is a pipe, no regular file")
    });
    fs::remove_file(&file).unwrap();
    write(&first_line);
    until("the file counts again", || (status(&first), status(&second)) == (200, 401));
}

#[test]
fn a_file_that_cannot_be_used_is_refused_with_its_line() {
    let folder = tempfile::tempdir().unwrap();
    let config = "[identity]\nmode = \"tokens\"\ntokens_file = \"tokens.toml\"\n[policy]\nmode = \"allow-all\"\n\
                  [server]\nlisten = \"127.0.0.1:0\"\n";
    fs::write(folder.path().join("codemode.toml"), config).unwrap();
    let digest = "0".repeat(64);
    let table = [
        ("# mine\na = 1".to_owned(), "tokens.toml:2:1: must be a table"),
        ("a = { sha256 = \"x\", subject = \"a\", expires = 2099-01-01 }".to_owned(), "`sha256` must be 64"),
        (format!("a = {{ sha256 = \"{digest}\", expires = 2099-01-01 }}"), "`subject` must be a text"),
        (format!("a = {{ sha256 = \"{digest}\", subject = \"a\" }}"), "`expires` must be a date"),
        (format!("a = {{ sha256 = \"{digest}\", subject = \"a\", expires = 2099-01-01T00:00:00 }}"), "with an offset"),
        (
            format!("a = {{ sha256 = \"{digest}\", subject = \"a\", expires = 2099-01-01, admin = true }}"),
            "unknown key; known here",
        ),
        (format!("a = {{ sha256 = \"{digest}\", subject = \"a\", groups = [1], expires = 2099-01-01 }}"), "`groups`"),
    ];
    for (line, fault) in table {
        fs::write(folder.path().join("tokens.toml"), &line).unwrap();
        let (code, _, err) = run(&["--config", "codemode.toml"], folder.path());
        assert_eq!(code, 78, "{line}: {err}");
        assert!(err.contains(fault), "{line}: {err}");
    }
}

/// Whoever makes a token may paste all that was printed into the file.
#[test]
fn a_secret_in_the_file_of_tokens_is_quoted_nowhere() {
    let (ann, line) = mint(&["--subject", "ann", "--group", "ops"]);
    let secret = ann.rsplit_once('_').unwrap().1;
    let daemon = start(&format!("{line}\n"), "");
    let path = daemon.folder.path().join("tokens.toml");
    let mistakes = [
        (format!("{ann}\n{line}\n"), "1:"),
        (format!("{line}\n{ann} = \"ann\"\n"), "2:1: must be a table"),
        (format!("{line}\n{}\n", line.replacen("subject", &format!("{ann} = 1, subject"), 1)), "2:"),
        (line.replacen("subject", &format!("{ann} = 1, subject"), 1), "1:1: unknown key"),
        (format!("{line}\nb = \"{ann}\n"), "2:"),
    ];
    for (text, fault) in mistakes {
        let told = || daemon.log().matches("the file of tokens has changed and cannot be used").count();
        let before = told();
        fs::write(&path, &text).unwrap();
        until("the fault is told", || {
            note(&daemon, &[&bearer(&ann)]);
            told() > before
        });
        daemon.reload();
        let (code, out, err) = run(&["--config", "codemode.toml", "check"], daemon.folder.path());
        assert_eq!((code, err.lines().count()), (78, 1), "{err}");
        assert!(err.contains(&format!("tokens.toml:{fault}")), "{err}");
        assert!(![out, err, daemon.log()].iter().any(|text| text.contains(secret)), "{text}");
    }
}
