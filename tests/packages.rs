//! What a release publishes, made by the scripts that make releases, from the binaries under test.

mod deb;
mod image;
mod kubernetes;
mod release;
mod unit;

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::harness::{executable, not_run};

fn checkout() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

/// The target folder, whatever this machine calls it.
fn target() -> PathBuf {
    Path::new(executable()).ancestors().nth(2).unwrap().to_owned()
}

/// What a program that must succeed prints.
#[track_caller]
fn printed(command: &mut Command) -> String {
    let done = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let errors = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success(), "{command:?}: {errors}");
    String::from_utf8(done.stdout).unwrap()
}

fn is_there(program: &str, arguments: &[&str]) -> bool {
    Command::new(program).args(arguments).output().is_ok_and(|done| done.status.success())
}

/// The folder of a release of the binaries under test, made once in a run of all tests; nothing where this machine lacks
/// what it takes.
#[track_caller]
fn released(test: &str) -> Option<PathBuf> {
    if !is_there("cargo", &["deb", "--version"]) || !is_there("dpkg-shlibdeps", &["--version"]) {
        not_run(test, "needs cargo-deb, and Debian's package dpkg-dev");
        return None;
    }
    // Tests are processes of their own; a run of all of them has one number.
    let run = std::env::var("NEXTEST_RUN_ID").unwrap_or_else(|_| std::process::id().to_string());
    let folder = target().join("releases");
    fs::create_dir_all(&folder).unwrap();
    let lock = File::create(folder.join("lock")).unwrap();
    lock.lock().unwrap();
    let release = folder.join(&run);
    if !release.exists() {
        for old in fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).filter(|path| path.is_dir()) {
            fs::remove_dir_all(old).unwrap();
        }
        let key = folder.join("key");
        // It refuses to write over an old one.
        let _ = fs::remove_file(&key);
        printed(Command::new("ssh-keygen").args(["-q", "-t", "ed25519", "-N", "", "-f"]).arg(&key));
        let mut script = Command::new(checkout().join("packaging/release"));
        printed(script.arg(&release).arg("dev").env("CODEMODE_SIGNING_KEY", &key).env("CARGO_TARGET_DIR", target()));
    }
    Some(release)
}

/// The one file of a release with this ending.
#[track_caller]
fn artefact(release: &Path, ending: &str) -> PathBuf {
    let files = fs::read_dir(release).unwrap().map(|entry| entry.unwrap().path());
    let found: Vec<_> = files.filter(|path| path.to_string_lossy().ends_with(ending)).collect();
    assert_eq!(found.len(), 1, "{ending}: {found:?}");
    found[0].clone()
}
