//! The Debian package: what is in it, and that its first configuration serves.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use super::{artefact, checkout, is_there, printed, released};
use crate::harness::{Daemon, not_run, run};

/// The package's files and its control files, unpacked.
fn unpacked(test: &str) -> Option<(tempfile::TempDir, PathBuf)> {
    let package = artefact(&released(test)?, ".deb");
    let folder = tempfile::tempdir().unwrap();
    printed(Command::new("dpkg-deb").arg("--raw-extract").arg(&package).arg(folder.path()));
    Some((folder, package))
}

#[test]
fn everything_is_where_it_belongs() {
    let Some((folder, _)) = unpacked("everything_is_where_it_belongs") else { return };
    for path in [
        "usr/bin/codemoded",
        "usr/lib/codemoded/plugins/libcodemode_records.so",
        "usr/lib/codemoded/plugins/libcodemode_files.so",
        "usr/lib/systemd/system/codemoded.service",
        "usr/lib/systemd/system/codemoded.socket",
        "usr/lib/sysusers.d/codemoded.conf",
        "usr/lib/tmpfiles.d/codemoded.conf",
        "usr/share/man/man1/codemoded.1.gz",
        "usr/share/man/man1/codemoded-plugin-inspect.1.gz",
        "usr/share/bash-completion/completions/codemoded",
        "usr/share/zsh/vendor-completions/_codemoded",
        "usr/share/fish/vendor_completions.d/codemoded.fish",
        "usr/share/codemoded/plugin-api/Cargo.toml",
        "usr/share/codemoded/plugin-api/src/lib.rs",
        "usr/share/codemoded/plugin-api/README.md",
    ] {
        assert!(folder.path().join(path).exists(), "{path}");
    }
    let conffiles = fs::read_to_string(folder.path().join("DEBIAN/conffiles")).unwrap();
    let conffiles: BTreeSet<_> = conffiles.lines().collect();
    assert_eq!(conffiles, BTreeSet::from(["/etc/codemoded/codemode.toml", "/etc/codemoded/policy/authz.rego"]));
    let control = fs::read_to_string(folder.path().join("DEBIAN/control")).unwrap();
    for part in ["Package: codemoded\n", "libc6 (>= ", "init-system-helpers", "systemd | systemd-standalone-sysusers"] {
        assert!(control.contains(part), "{part} in:\n{control}");
    }
}

#[test]
fn the_maintainer_scripts_are_shell_and_know_every_call_of_dpkg() {
    let Some((folder, _)) = unpacked("the_maintainer_scripts_are_shell_and_know_every_call_of_dpkg") else { return };
    for (script, call) in [("postinst", "configure"), ("prerm", "remove"), ("postrm", "purge")] {
        let path = folder.path().join("DEBIAN").join(script);
        printed(Command::new("sh").arg("-n").arg(&path));
        assert!(fs::read_to_string(&path).unwrap().contains(call), "{script}");
    }
    // What dpkg asks on the way of an upgrade, or of one that failed, does nothing where no system runs.
    for (script, calls) in [("prerm", &["upgrade", "failed-upgrade"][..]), ("postrm", &["upgrade", "abort-install"])] {
        for call in calls {
            printed(Command::new("sh").arg(folder.path().join("DEBIAN").join(script)).arg(call).arg("0.9"));
        }
    }
}

#[test]
fn lintian_finds_no_error() {
    let Some((_folder, package)) = unpacked("lintian_finds_no_error") else { return };
    if !is_there("lintian", &["--version"]) {
        return not_run("lintian_finds_no_error", "needs Debian's package lintian");
    }
    let mut lintian = Command::new("lintian");
    // It is not for Debian's own archive, where a first version closes a bug.
    lintian.args(["--allow-root", "--fail-on", "error,warning", "--suppress-tags", "initial-upload-closes-no-bugs"]);
    printed(lintian.arg(package));
}

/// The relative links of a document.
fn links(text: &str) -> impl Iterator<Item = &str> {
    let targets = text.split("](").skip(1).filter_map(|rest| rest.split_once(')')).map(|(target, _)| target);
    let paths = targets.map(|target| target.split('#').next().unwrap());
    paths.filter(|path| !path.is_empty() && !path.contains("://"))
}

/// Every document below a folder.
fn documents(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let of = |path: PathBuf| if path.is_dir() { documents(&path) } else { vec![path] };
    entries.flat_map(of).filter(|path| path.extension().is_some_and(|extension| extension == "md")).collect()
}

#[test]
fn every_link_of_the_installed_documents_leads_somewhere() {
    let Some((folder, _)) = unpacked("every_link_of_the_installed_documents_leads_somewhere") else { return };
    let doc = folder.path().join("usr/share/doc/codemoded");
    for path in [
        "config/README.md",
        "config/policy/authz.rego",
        "systemd/README.md",
        "packaging/README.md",
        "packaging/proxies/README.md",
        "packaging/proxies/nginx-tokens.conf",
        "packaging/proxies/Caddyfile",
        "plugins/records/README.md",
        "plugins/files/README.md",
        "plugin-api/README.md",
    ] {
        assert!(doc.join(path).is_file(), "{path}");
    }
    for document in documents(&doc) {
        let text = fs::read_to_string(&document).unwrap();
        for link in links(&text) {
            assert!(document.parent().unwrap().join(link).exists(), "{}: {link}", document.display());
        }
    }
    let first = fs::read_to_string(doc.join("README.md")).unwrap();
    let leads: BTreeSet<_> = links(&first).collect();
    for link in
        ["config/README.md", "packaging/README.md", "packaging/proxies/README.md", "systemd/README.md", "copyright"]
    {
        assert!(leads.contains(link), "{link} in {leads:?}");
    }
}

/// The configuration as if the package were installed below this folder.
fn configured(folder: &Path) -> String {
    let at = |path: &str| folder.join(path.trim_start_matches('/'));
    let config = fs::read_to_string(at("etc/codemoded/codemode.toml")).unwrap();
    for made in ["var/lib/codemoded", "run/codemoded"] {
        fs::create_dir_all(at(made)).unwrap();
    }
    ["/usr/lib/codemoded", "/usr/share/doc/codemoded", "/var/lib/codemoded", "/run/codemoded"]
        .iter()
        .fold(config, |text, path| text.replace(path, at(path).to_str().unwrap()))
}

/// The block of this kind that follows some words of the README.
fn shown<'a>(readme: &'a str, words: &str, kind: &str) -> &'a str {
    let after = readme.split_once(words).unwrap_or_else(|| panic!("no `{words}`")).1;
    after.split_once(&format!("```{kind}\n")).unwrap().1.split_once("\n```").unwrap().0
}

#[test]
fn the_request_that_the_readme_shows_is_answered_as_it_shows() {
    let test = "the_request_that_the_readme_shows_is_answered_as_it_shows";
    let Some((folder, _)) = unpacked(test) else { return };
    if !is_there("curl", &["--version"]) {
        return not_run(test, "needs curl");
    }
    let readme = fs::read_to_string(folder.path().join("usr/share/doc/codemoded/README.md")).unwrap();
    let words = "This is what an agent's\nclient sends";
    let config = configured(folder.path()).replace("127.0.0.1:8787", "127.0.0.1:0");
    let daemon = Daemon::start_with(&config, |own| {
        fs::create_dir(own.join("policy")).unwrap();
        fs::copy(folder.path().join("etc/codemoded/policy/authz.rego"), own.join("policy/authz.rego")).unwrap();
    });
    let command = shown(&readme, words, "sh");
    assert!(command.contains("http://127.0.0.1:8787/mcp"), "{command}");
    let command = command.replace("http://127.0.0.1:8787/mcp", &daemon.url);
    let answer: Value = serde_json::from_str(&printed(Command::new("sh").arg("-c").arg(command))).unwrap();
    let mut expected: Value = serde_json::from_str(shown(&readme, words, "json")).unwrap();
    // Each run has its own.
    expected["result"]["_meta"]["codemoded/run"] = answer["result"]["_meta"]["codemoded/run"].clone();
    assert_eq!(answer, expected);
}

#[test]
fn the_first_configuration_serves() {
    let Some((folder, _)) = unpacked("the_first_configuration_serves") else { return };
    let at = |path: &str| folder.path().join(path);
    fs::write(at("etc/codemoded/codemode.toml"), configured(folder.path())).unwrap();
    fs::write(
        at("try.star"),
        "def main():\n    records.put(key = \"a\", value = 1)\n    \
         return [records.entries(key = \"a\"), attempt(records.delete, key = \"a\").ok]\n",
    )
    .unwrap();
    let (code, result, errors) = run(&["--config", "etc/codemoded/codemode.toml", "run", "try.star"], folder.path());
    assert_eq!(code, 0, "{errors}");
    assert_eq!(result, "[{\"entries\":[1]},false]\n", "the policy refuses what no rule allows");
}

#[test]
fn a_plugin_builds_with_the_api_that_is_installed() {
    let Some((folder, _)) = unpacked("a_plugin_builds_with_the_api_that_is_installed") else { return };
    let api = folder.path().join("usr/share/codemoded/plugin-api");
    let manifest = fs::read_to_string(api.join("Cargo.toml")).unwrap();
    assert!(!manifest.contains("workspace = true"), "it leans on a workspace that is not there:\n{manifest}");
    let made = ["plugin", "new", "bell", "--api", api.to_str().unwrap()];
    let (code, _, errors) = run(&made, folder.path());
    assert_eq!(code, 0, "{errors}");
    let project = folder.path().join("bell");
    fs::copy(checkout().join("Cargo.lock"), project.join("Cargo.lock")).unwrap();
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["build", "--offline", "--quiet"]).current_dir(&project);
    printed(cargo.env("CARGO_TARGET_DIR", super::target().join("project")));
    let library = super::target().join("project/debug/libcodemode_bell.so");
    let (code, shown, errors) = run(&["plugin", "inspect", library.to_str().unwrap()], Path::new("/"));
    assert_eq!(code, 0, "{errors}");
    assert!(shown.contains("  bell.frequent(*, text: str, limit: int | None)"), "{shown}");
}
