//! Rules for the packages' manifests: the same lints for all, and no dependency that nobody uses.

use super::{Fault, File, files, obeyed, sees, words};

const WORKSPACE: &str = "Cargo.toml";

/// Sources outside a package: the daemon's tests live beside it, at the root, and its fuzzers include its modules.
const FOREIGN: [(&str, &str); 2] = [("codemoded/", "tests/"), ("codemoded/fuzz/", "codemoded/src/")];

#[test]
fn every_package_takes_the_workspace_lints() {
    obeyed(lints, &["toml"]);
}

fn lints(file: &File) -> Vec<Fault> {
    let takes_them = file.text.contains("[lints]\nworkspace = true\n");
    // A fuzz target is a workspace of its own, built by its own tool.
    let is_member = is_package(file) && !file.text.contains("\n[workspace]");
    if is_member && !takes_them {
        return vec![Fault::new(1, "add `[lints]` with `workspace = true`, or the package escapes the house's lints")];
    }
    vec![]
}

#[test]
fn every_dependency_of_the_workspace_is_some_packages() {
    let manifests = files(&["toml"]);
    let workspace = manifests.iter().find(|file| file.path == WORKSPACE).unwrap();
    let taken =
        |name: &str| manifests.iter().any(|file| is_package(file) && dependencies(file).any(|(_, own)| own == name));
    let unused: Vec<_> = dependencies(workspace).filter(|(_, name)| !taken(name)).collect();
    assert!(unused.is_empty(), "{WORKSPACE}: no package takes these: remove them (line, name): {unused:?}");
}

#[test]
fn every_dependency_of_a_package_is_used_by_it() {
    let sources = files(&["rs"]);
    let unused: Vec<String> = files(&["toml"])
        .iter()
        .filter(|manifest| is_package(manifest))
        .flat_map(|manifest| unused(manifest, &sources))
        .collect();
    assert!(unused.is_empty(), "dependencies that no source names: remove them\n{}", unused.join("\n"));
}

fn unused(manifest: &File, sources: &[File]) -> Vec<String> {
    let package = manifest.path.strip_suffix("Cargo.toml").unwrap();
    let own = |file: &&File| {
        let is_foreign = |(owner, folder): &(&str, &str)| *owner == package && file.path.starts_with(folder);
        file.path.starts_with(package) || FOREIGN.iter().any(is_foreign)
    };
    let sources: Vec<_> = sources.iter().filter(own).collect();
    let is_named = |name: &str| {
        let name = name.replace('-', "_");
        sources.iter().any(|file| file.lines().any(|(_, line)| words(line).any(|word| word == name)))
    };
    dependencies(manifest)
        // A plugin is taken as a dependency so that its library lies beside the test that loads it.
        .filter(|(_, name)| !name.starts_with("codemode-") && !is_named(name))
        .map(|(line, name)| format!("{}:{line}: {name}", manifest.path))
        .collect()
}

fn is_package(file: &File) -> bool {
    file.name() == "Cargo.toml" && file.text.contains("[package]\n")
}

/// The names in the tables of dependencies, each with its line.
fn dependencies(manifest: &File) -> impl Iterator<Item = (usize, &str)> {
    let mut inside = false;
    manifest.lines().filter_map(move |(line, text)| {
        if text.starts_with('[') {
            inside = text.ends_with("dependencies]");
            return None;
        }
        let name = text.split(['.', ' ', '=']).next().unwrap();
        let is_entry = inside && text.starts_with(|c: char| c.is_ascii_alphanumeric()) && text.contains('=');
        is_entry.then_some((line, name))
    })
}

#[test]
fn each_rule_sees_its_fault() {
    sees(lints, "a/Cargo.toml", "[package]\nname = \"a\"\n", &[1]);
    sees(lints, "a/Cargo.toml", "[package]\nname = \"a\"\n\n[lints]\nworkspace = true\n", &[]);
    let manifest = File {
        path: "a/Cargo.toml".to_owned(),
        text: "[package]\nname = \"a\"\n\n[dependencies]\nb-c.workspace = true\nd = { path = \"d\" }\n\n[lints]\n"
            .to_owned(),
    };
    assert_eq!(dependencies(&manifest).collect::<Vec<_>>(), [(5, "b-c"), (6, "d")]);
    let source = File { path: "a/src/lib.rs".to_owned(), text: "use b_c::E;\n".to_owned() };
    assert_eq!(unused(&manifest, &[source]), ["a/Cargo.toml:6: d"]);
}
