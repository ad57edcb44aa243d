//! Rules for what people read: the tree itself, the documents' links, and the commands that they show.

use std::fs;

use super::{Fault, File, files, obeyed, root, sees};

/// The tree is the first document. Tools may add their dot-files, and cargo its build.
const ROOT: [&str; 11] = [
    "Cargo.lock",
    "Cargo.toml",
    "LICENSE",
    "README.md",
    "codemoded",
    "config",
    "packaging",
    "plugin-api",
    "plugins",
    "systemd",
    "tests",
];

#[test]
fn nothing_joins_the_root() {
    for entry in fs::read_dir(root()).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        let belongs = ROOT.contains(&name.as_str()) || name.starts_with('.') || name == "target";
        assert!(belongs, "`{name}`: put it into one of {ROOT:?}");
    }
}

#[test]
fn every_link_leads_somewhere() {
    obeyed(links, &["md"]);
}

fn links(file: &File) -> Vec<Fault> {
    let folder = root().join(&file.path).parent().unwrap().to_path_buf();
    let leads_nowhere = |target: &str| {
        let path = target.split('#').next().unwrap();
        !target.contains("://") && !path.is_empty() && !folder.join(path).exists()
    };
    let mut faults = Vec::new();
    for (line, text) in file.lines() {
        let targets = text.split("](").skip(1).filter_map(|rest| rest.split_once(')')).map(|(target, _)| target);
        faults.extend(
            targets
                .filter(|target| leads_nowhere(target))
                .map(|target| Fault::new(line, format!("nothing is at `{target}`: mend the link"))),
        );
    }
    faults
}

#[test]
fn every_command_of_the_documents_exists() {
    obeyed(commands, &["md"]);
    let shown = files(&["md"]).iter().any(|file| file.path == "README.md" && shown_paths(file).count() > 0);
    assert!(shown, "README.md: shows no command that starts in the checkout");
}

fn commands(file: &File) -> Vec<Fault> {
    shown_paths(file)
        .filter(|(_, path)| !root().join(path).exists())
        .map(|(line, path)| Fault::new(line, format!("no file `{path}` in the checkout: mend the command")))
        .collect()
}

/// Paths into the checkout in blocks of shell commands; what a build makes is not there before it.
fn shown_paths(file: &File) -> impl Iterator<Item = (usize, &str)> {
    let mut in_shell = false;
    let is_path = |word: &&str| word.starts_with("./") || ROOT.iter().any(|name| word.starts_with(&format!("{name}/")));
    file.lines()
        .filter(move |(_, line)| {
            if line.starts_with("```") {
                in_shell = !in_shell && ["```sh", "```bash", "```console"].contains(line);
                return false;
            }
            in_shell
        })
        .flat_map(move |(number, line)| line.split_whitespace().filter(is_path).map(move |word| (number, word)))
        .filter(|(_, word)| !word.starts_with("./target/"))
}

#[test]
fn nothing_depends_on_one_machine() {
    obeyed(machine, &["rs", "py", "md", "toml", "star", "rego", "service", "yml", "json", ""]);
}

fn machine(file: &File) -> Vec<Fault> {
    const HOMES: [&str; 3] = [concat!("/ro", "ot/"), concat!("/wo", "rk/"), concat!("/ho", "me/")];
    file.faults(
        |line| HOMES.iter().any(|home| line.contains(home)),
        "a path of one machine: make it relative or a setting",
    )
}

#[test]
fn each_rule_sees_its_fault() {
    sees(links, "README.md", "[a](Cargo.toml) and [b](no-such-file.md)\n[c](https://example.com)\n", &[1]);
    sees(links, "tests/README.md", "[a](../Cargo.toml#x) [b](#here)\n", &[]);
    sees(commands, "README.md", "```sh\n./tests/run --all\n./tests/walk\n```\n", &[3]);
    sees(commands, "README.md", "```sh\n./target/debug/codemoded --config config/none.toml\n```\n", &[2]);
    sees(commands, "README.md", "```\n./tests/walk\n```\n", &[]);
    sees(machine, "a.toml", concat!("x = \"/ho", "me/me/records.db\"\n"), &[1]);
}
