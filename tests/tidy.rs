//! House rules that no lint knows: how the sources, the manifests and the documents are kept.
//!
//! Each rule reads one file and answers with the faults it sees; a fault says where it is and how to mend it.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking, outside the test's own function too")]

mod documents;
mod log;
mod manifests;
mod sources;

use std::fs;
use std::path::{Path, PathBuf};

/// A file of the checkout, by its path from the root, with `/` between the parts.
struct File {
    path: String,
    text: String,
}

impl File {
    fn lines(&self) -> impl Iterator<Item = (usize, &str)> {
        (1..).zip(self.text.lines())
    }

    fn name(&self) -> &str {
        self.path.rsplit('/').next().unwrap()
    }

    fn extension(&self) -> &str {
        self.name().rsplit_once('.').map_or("", |(_, extension)| extension)
    }

    /// Every line that is a fault, each with the same way to mend it.
    fn faults(&self, is_fault: impl Fn(&str) -> bool, mend: &str) -> Vec<Fault> {
        self.lines().filter(|(_, line)| is_fault(line)).map(|(line, _)| Fault::new(line, mend)).collect()
    }
}

struct Fault {
    line: usize,
    mend: String,
}

impl Fault {
    fn new(line: usize, mend: impl Into<String>) -> Self {
        Self { line, mend: mend.into() }
    }
}

type Rule = fn(&File) -> Vec<Fault>;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_path_buf()
}

/// Every file with one of these extensions, except in folders that a tool made.
fn files(extensions: &[&str]) -> Vec<File> {
    let mut found = Vec::new();
    collect(&root(), "", &mut found);
    found.retain(|file| extensions.contains(&file.extension()));
    assert!(!found.is_empty(), "no file with an extension of {extensions:?} under {}", root().display());
    found
}

fn collect(folder: &Path, prefix: &str, found: &mut Vec<File>) {
    let made_by_a_tool =
        |name: &str| ["target", "__pycache__", "node_modules", "corpus", "artifacts", ".git"].contains(&name);
    let mut entries: Vec<_> = fs::read_dir(folder).unwrap().map(Result::unwrap).collect();
    entries.sort_by_key(fs::DirEntry::file_name);
    for entry in entries {
        let name = entry.file_name().into_string().unwrap();
        let path = format!("{prefix}{name}");
        let kind = entry.file_type().unwrap();
        if kind.is_dir() && !made_by_a_tool(&name) {
            collect(&entry.path(), &format!("{path}/"), found);
        } else if kind.is_file()
            && let Ok(text) = fs::read_to_string(entry.path())
        {
            found.push(File { path, text });
        }
    }
}

#[track_caller]
fn obeyed(rule: Rule, extensions: &[&str]) {
    let broken: Vec<String> = files(extensions)
        .iter()
        .flat_map(|file| rule(file).into_iter().map(|fault| format!("{}:{}: {}", file.path, fault.line, fault.mend)))
        .collect();
    assert!(broken.is_empty(), "house rules are broken:\n{}", broken.join("\n"));
}

/// A rule that sees nothing proves nothing: it must find exactly these lines of a bad file, and none of a good one.
#[track_caller]
fn sees(rule: Rule, path: &str, text: &str, lines: &[usize]) {
    let file = File { path: path.to_owned(), text: text.to_owned() };
    let found: Vec<usize> = rule(&file).iter().map(|fault| fault.line).collect();
    assert_eq!(found, lines, "{path}:\n{text}");
}

/// The words of a line as the language sees them: `unsafe_code` is one word.
fn words(line: &str) -> impl Iterator<Item = &str> {
    line.split(|c: char| !(c.is_alphanumeric() || c == '_')).filter(|word| !word.is_empty())
}
