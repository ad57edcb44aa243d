//! `codemoded plugin new`: from a name to a plugin that serves.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::json;

use crate::harness::{Daemon, allow_all, executable, plugin, run};

fn checkout() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

/// Makes a project in a new folder.
#[track_caller]
fn made(name: &str) -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let api = checkout().join("plugin-api");
    let (code, printed, errors) = run(&["plugin", "new", name, "--api", api.to_str().unwrap()], folder.path());
    assert_eq!(code, 0, "{errors}");
    assert!(printed.starts_with(&format!("made {name} with codemode-plugin-api from {}", api.display())), "{printed}");
    let project = folder.path().join(name);
    (folder, project)
}

/// Where the project's dependencies stay built, beside those of the workspace.
fn target() -> PathBuf {
    Path::new(executable()).parent().unwrap().with_file_name("project")
}

#[track_caller]
fn cargo(project: &Path, command: &str) {
    let mut cargo = Command::new(env!("CARGO"));
    cargo.current_dir(project).arg(command).arg("--offline").env("CARGO_TARGET_DIR", target());
    // As whoever has just made the project would run it, without the flags of this test's own build.
    for (name, _) in std::env::vars().filter(|(name, _)| name.starts_with("CARGO_PKG_") || name == "RUSTFLAGS") {
        cargo.env_remove(name);
    }
    let done = cargo.output().unwrap();
    assert!(done.status.success(), "cargo {command}: {}", String::from_utf8_lossy(&done.stderr));
}

#[test]
fn a_new_project_builds_passes_its_tests_and_serves() {
    let (_folder, project) = made("door-bell");
    // The versions that the workspace has at hand, for nothing may be fetched here.
    fs::copy(checkout().join("Cargo.lock"), project.join("Cargo.lock")).unwrap();
    cargo(&project, "test");
    cargo(&project, "build");
    let library = target().join("debug/libcodemode_door_bell.so");
    let shown = fs::read_to_string(project.join("codemode.toml")).unwrap();
    let shown = shown.replace("target/debug/libcodemode_door_bell.so", library.to_str().unwrap());
    fs::write(project.join("codemode.toml"), shown).unwrap();
    let (code, printed, errors) = run(&["run", "example.star"], &project);
    assert_eq!((code, printed.as_str()), (0, "[\"fox\",\"and\",\"brown\"]\n"), "{errors}");

    let daemon = Daemon::start(&allow_all(&plugin("door_bell", &library, "")));
    let found = daemon.call("search_api", json!({ "query": "histogram" }), &[]).structured.unwrap();
    assert_eq!(found["results"][0]["signature"], "door_bell.frequent(*, text: str, limit: int | None)");
    let answer = daemon.main("return door_bell.frequent(text = \"a b a\", limit = 1)");
    assert_eq!(*answer.result(), json!({ "words": [{ "word": "a", "count": 2 }] }));
    let refused = daemon.main("return door_bell.frequent(text = \"a\", limit = 0)");
    assert!(refused.error().contains("argument \"limit\" must be between 1 and 100"), "{refused:?}");
    let told = daemon.main("return door_bell.frequent(text = \"\")");
    assert!(told.error().contains("capability failed: the text has no words to count"), "{told:?}");
}

#[test]
fn a_new_project_is_well_formed() {
    let (_folder, project) = made("a");
    let done = Command::new(env!("CARGO"))
        .args(["fmt", "--check", "--manifest-path"])
        .arg(project.join("Cargo.toml"))
        .output()
        .unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stdout));
    for file in ["README.md", "codemode.toml", "example.star", ".gitignore", "Cargo.toml"] {
        let text = fs::read_to_string(project.join(file)).unwrap();
        assert!(!text.contains("{{") && !text.contains("}}"), "{file}: {text}");
    }
}

#[test]
fn a_name_that_cannot_be_is_refused_with_one_that_can() {
    let folder = tempfile::tempdir().unwrap();
    for (name, mend) in [
        ("Weather Report", "try `weather-report`"),
        ("9lives", "try `lives`"),
        ("json", "programs know it as a word of their language; try `my-json`"),
        ("lambda", "programs know it as a word of their language; try `my-lambda`"),
        ("plugin-api", "the crate that every plugin is built with has it"),
        ("../escape", "try `escape`"),
        ("", "is no plugin's name"),
    ] {
        let (code, _, errors) = run(&["plugin", "new", name], folder.path());
        assert_eq!(code, 64, "{name}: {errors}");
        assert!(errors.starts_with("error: ") && errors.contains(mend), "{name}: {errors}");
    }
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn nothing_is_overwritten_and_no_other_crate_is_taken_for_the_api() {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("bell")).unwrap();
    fs::write(folder.path().join("bell/notes"), "mine").unwrap();
    let (code, _, errors) = run(&["plugin", "new", "bell"], folder.path());
    assert_eq!(code, 73, "{errors}");
    assert_eq!(errors, "error: `bell` is there and not empty: name another folder with --path\n");
    assert_eq!(fs::read_dir(folder.path().join("bell")).unwrap().count(), 1);
    let other = checkout().join("plugins/records");
    let (code, _, errors) =
        run(&["plugin", "new", "bell", "--path", "new", "--api", other.to_str().unwrap()], folder.path());
    assert_eq!(code, 64, "{errors}");
    assert!(errors.contains("is not the folder of the crate `codemode-plugin-api`"), "{errors}");
    assert!(!folder.path().join("new").exists());
}

#[test]
fn without_an_installed_api_the_release_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let (code, _, errors) = run(&["plugin", "new", "bell", "--path", "here/there"], folder.path());
    assert_eq!(code, 0, "{errors}");
    let manifest = fs::read_to_string(folder.path().join("here/there/Cargo.toml")).unwrap();
    let released =
        concat!("{ git = \"", env!("CARGO_PKG_REPOSITORY"), "\", tag = \"v", env!("CARGO_PKG_VERSION"), "\" }");
    let installed = "{ path = \"/usr/share/codemoded/plugin-api\" }";
    let expected = if Path::new("/usr/share/codemoded/plugin-api").exists() { installed } else { released };
    assert!(manifest.contains(&format!("codemode-plugin-api = {expected}\n")), "{manifest}");
}
