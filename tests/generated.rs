//! Man pages and completions: what packages ship is made from the commands, and works where it is used.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;

use crate::harness::{not_run, run};

#[track_caller]
fn generated(kind: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let (code, _, errors) = run(&["generate", kind, "."], folder.path());
    assert_eq!(code, 0, "{errors}");
    folder
}

fn names(folder: &Path) -> BTreeSet<String> {
    fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

/// The commands below one, as its help lists them.
fn commands(of: &[&str]) -> Vec<String> {
    let (_, help, _) = run(&[of, &["--help"]].concat(), Path::new("/"));
    let listed = help.lines().skip_while(|line| *line != "Commands:").skip(1).take_while(|line| !line.is_empty());
    let named = listed.filter(|line| line.starts_with("  ") && !line.starts_with("   "));
    named.map(|line| line.split_whitespace().next().unwrap().to_owned()).filter(|name| name != "help").collect()
}

#[test]
fn every_command_has_a_page() {
    let folder = generated("man");
    let pages = names(folder.path());
    let mut expected = BTreeSet::from(["codemoded.1".to_owned()]);
    for command in commands(&[]) {
        for below in commands(&[&command]) {
            expected.insert(format!("codemoded-{command}-{below}.1"));
        }
        expected.insert(format!("codemoded-{command}.1"));
    }
    assert!(expected.contains("codemoded-plugin-inspect.1"), "{expected:?}");
    assert_eq!(pages, expected);
}

#[test]
fn every_page_reads_without_a_warning() {
    let folder = generated("man");
    for page in names(folder.path()) {
        let mut man = Command::new("man");
        man.args(["--warnings=w", "--local-file", &page]).current_dir(folder.path()).env("MANWIDTH", "100");
        let Ok(done) = man.env("MAN_KEEP_FORMATTING", "").output() else {
            return not_run("every_page_reads_without_a_warning", "needs `man`, of Debian's package man-db");
        };
        let (text, warnings) = (String::from_utf8(done.stdout).unwrap(), String::from_utf8(done.stderr).unwrap());
        assert!(done.status.success() && warnings.is_empty(), "{page}: {warnings}");
        for section in ["NAME", "SYNOPSIS", "DESCRIPTION"] {
            assert!(text.lines().any(|line| line == section), "{page}: no {section} in:\n{text}");
        }
    }
    let own = fs::read_to_string(folder.path().join("codemoded.1")).unwrap();
    assert!(own.contains("/etc/codemoded/codemode.toml") && own.contains("EXIT STATUS"), "{own}");
}

#[test]
fn bash_completes_commands_and_options() {
    let folder = generated("completions");
    for shell in ["codemoded.bash", "_codemoded", "codemoded.fish", "_codemoded.ps1", "codemoded.elv"] {
        assert!(names(folder.path()).contains(shell), "{shell}");
    }
    for (words, expected) in [
        ("codemoded pl", "plugin"),
        ("codemoded plugin ins", "inspect"),
        ("codemoded plugin inspect --js", "--json"),
        ("codemoded --lis", "--listen"),
    ] {
        let last = words.split(' ').count() - 1;
        let script = format!(
            "source codemoded.bash; COMP_WORDS=({words}); COMP_CWORD={last}; \
             _codemoded codemoded \"${{COMP_WORDS[{last}]}}\" \"${{COMP_WORDS[{}]}}\"; echo \"${{COMPREPLY[@]}}\"",
            last - 1
        );
        let done = Command::new("bash").args(["-c", &script]).current_dir(folder.path()).output().unwrap();
        let errors = String::from_utf8_lossy(&done.stderr);
        assert_eq!(String::from_utf8_lossy(&done.stdout).trim(), expected, "{words}: {errors}");
    }
}

#[test]
fn a_folder_that_is_not_there_is_told() {
    let folder = tempfile::tempdir().unwrap();
    for kind in ["man", "completions"] {
        let (code, _, errors) = run(&["generate", kind, "none"], folder.path());
        assert_eq!(code, 73, "{errors}");
        assert_eq!(errors, "error: cannot write into `none`: No such file or directory (os error 2)\n");
    }
}
