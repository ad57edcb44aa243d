//! Typing the merged settings without stopping at the first fault.
//!
//! The raw types are the only truth about keys and their types. Serde stops at the first error, so each error is noted,
//! the value that caused it is struck from the tree, and the type is tried again, until what is left fits.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use figment::error::{Actual, Kind};
use figment::value::{Empty, Value};
use serde::de::DeserializeOwned;

use super::fault::{ConfigFault, Problem};
use super::place::{KeyPath, Place, is_inline_table, is_table, locate};
use super::raw::table;
use super::reference;
use super::referred::Referred;
use super::sources::{Merged, Origin, parse};

/// The settings being typed, and the faults found so far.
pub(super) struct Reading {
    merged: Merged,
    /// What is left of the tree.
    tree: Value,
    /// How a value may be read if its first type does not fit: a variable's text, or a referenced file's number.
    second_readings: BTreeMap<KeyPath, Value>,
    struck: BTreeSet<KeyPath>,
    referred: Referred,
    faults: Vec<ConfigFault>,
    folder: PathBuf,
    /// Files that a secret came from, or may have.
    secret_files: Vec<PathBuf>,
}

impl Reading {
    /// Replaces every `{ file = "…" }` by that file's text. `folder` is absolute.
    pub(super) fn new(merged: Merged, folder: PathBuf) -> Self {
        let tree = merged.tree.clone();
        let second_readings = merged.texts.clone();
        let mut reading = Self {
            merged,
            tree,
            second_readings,
            struck: BTreeSet::new(),
            referred: Referred::default(),
            faults: Vec::new(),
            folder,
            secret_files: Vec::new(),
        };
        reading.resolve_references();
        reading
    }

    /// Types the value at a key. Each part that does not fit becomes a fault and counts as absent.
    pub(super) fn read<T: DeserializeOwned + Default>(&mut self, path: &KeyPath) -> T {
        loop {
            let Some(node) = find(&self.tree, path) else { return T::default() };
            let error = match table::<T, _>(node) {
                Ok(typed) => return typed,
                Err(error) => error,
            };
            let at = path.join(&error.path);
            if self.takes_second_reading(&at, &error.kind) {
                continue;
            }
            let problem = self.problem_of::<T>(path, &at, error.kind);
            if !self.strike(at, problem) {
                return T::default();
            }
        }
    }

    /// A fault of what was typed. The problem may show the value.
    pub(super) fn fault(&mut self, key: KeyPath, problem: Problem) {
        let problem = self.referred.conceal(&key, problem);
        self.tell(key, problem);
    }

    fn tell(&mut self, key: KeyPath, problem: Problem) {
        let at_name = matches!(problem, Problem::UnknownKey { .. });
        let place = self.place_of(&key, at_name);
        self.faults.push(ConfigFault { place, key, problem });
    }

    /// A value that must be there, unless it was there and its fault is already told.
    pub(super) fn missing(&mut self, key: KeyPath, mend: &'static str) {
        let told = (0..=key.steps().len()).any(|above| {
            let prefix = key.steps().iter().take(above).cloned();
            self.struck.contains(&KeyPath::new(prefix))
        });
        if !told {
            self.fault(key, Problem::Missing { mend });
        }
    }

    pub(super) fn place(&self, key: &KeyPath) -> Place {
        self.place_of(key, false)
    }

    /// A path is relative to the file's folder, whichever source gave it.
    pub(super) fn absolute(&self, path: impl AsRef<Path>) -> PathBuf {
        self.folder.join(path).components().collect()
    }

    pub(super) fn note_secret_file(&mut self, file: PathBuf) {
        self.secret_files.push(file);
    }

    pub(super) fn secret_files(&self) -> &[PathBuf] {
        &self.secret_files
    }

    pub(super) fn merged(&self) -> &Merged {
        &self.merged
    }

    pub(super) fn into_faults(self) -> Vec<ConfigFault> {
        let mut faults = self.faults;
        faults.sort_by_key(ConfigFault::reading_order);
        faults
    }

    pub(super) fn is_sound(&self) -> bool {
        self.faults.is_empty()
    }

    fn takes_second_reading(&mut self, at: &KeyPath, kind: &Kind) -> bool {
        let second = matches!(kind, Kind::InvalidType(..)).then(|| self.second_readings.remove(at)).flatten();
        second.is_some_and(|second| replace(&mut self.tree, at, second))
    }

    /// What is wrong at `at`, below `path`, without the text of a file that the value came from.
    fn problem_of<T: DeserializeOwned>(&self, path: &KeyPath, at: &KeyPath, kind: Kind) -> Problem {
        let problem = problem(at, kind);
        self.referred.retold(at, problem, |stranger| {
            let mut tree = self.tree.clone();
            replace(&mut tree, at, stranger);
            let error = find(&tree, path).and_then(|node| table::<T, _>(node).err())?;
            (path.join(&error.path) == *at).then(|| self::problem(at, error.kind))
        })
    }

    /// Notes a problem of the value at `at` and takes it out; false where that is not possible.
    fn strike(&mut self, at: KeyPath, problem: Problem) -> bool {
        self.tell(at.clone(), problem);
        let gone = strike(&mut self.tree, &at);
        self.struck.insert(at);
        gone
    }

    fn place_of(&self, key: &KeyPath, at_name: bool) -> Place {
        let document = &self.merged.document;
        let above = (1..=key.steps().len()).rev().map(|steps| KeyPath::new(key.steps().iter().take(steps).cloned()));
        let here = locate(document, key, at_name);
        let node = find(&self.merged.tree, key);
        let metadata = node.and_then(|node| self.merged.figment.get_metadata(node.tag()));
        // A table set from several sources has the tag of the last; the file is where its reader looks.
        let in_file = is_table(document, key) && node.is_some_and(|node| self.is_of_file(node));
        match metadata {
            Some(metadata) if Origin::of(metadata) != Origin::File && !in_file => {
                Place::Override { name: metadata.name.to_string() }
            }
            Some(_) | None => Place::File {
                name: self.merged.name.clone(),
                position: here.or_else(|| above.skip(1).find_map(|key| locate(document, &key, true))),
            },
        }
    }

    /// Whether the file says anything of a table.
    fn is_of_file(&self, node: &Value) -> bool {
        match node {
            Value::Dict(_, members) if !members.is_empty() => members.values().any(|member| self.is_of_file(member)),
            other => {
                let metadata = self.merged.figment.get_metadata(other.tag());
                metadata.is_none_or(|metadata| Origin::of(metadata) == Origin::File)
            }
        }
    }

    fn resolve_references(&mut self) {
        let mut found = Vec::new();
        references(&self.tree, &KeyPath::root(), &mut found);
        for (key, file) in found {
            let from_file = find(&self.tree, &key.key("file"))
                .and_then(|node| self.merged.figment.get_metadata(node.tag()))
                .is_none_or(|metadata| Origin::of(metadata) == Origin::File);
            if from_file && !is_inline_table(&self.merged.document, &key) {
                continue;
            }
            let file = self.absolute(file);
            match reference::read_text(&file) {
                Ok(text) => {
                    self.referred.note(key.clone(), file.clone(), text.clone());
                    self.secret_files.push(file);
                    self.second_readings.insert(key.clone(), parse(&text));
                    replace(&mut self.tree, &key, Value::from(text));
                }
                Err(problem) => {
                    self.fault(key.clone(), problem);
                    strike(&mut self.tree, &key);
                    self.struck.insert(key);
                }
            }
        }
    }
}

/// Every table that holds the one key `file`, with a string.
fn references(node: &Value, path: &KeyPath, found: &mut Vec<(KeyPath, String)>) {
    match node {
        Value::Dict(_, members) => match members.get("file") {
            Some(Value::String(_, file)) if members.len() == 1 => found.push((path.clone(), file.clone())),
            Some(_) | None => members.iter().for_each(|(key, member)| references(member, &path.key(key), found)),
        },
        Value::Array(_, items) => {
            items.iter().enumerate().for_each(|(index, item)| references(item, &path.index(index), found));
        }
        Value::String(..) | Value::Char(..) | Value::Bool(..) | Value::Num(..) | Value::Empty(..) => {}
    }
}

fn find<'a>(root: &'a Value, path: &KeyPath) -> Option<&'a Value> {
    path.steps().iter().try_fold(root, |node, step| match node {
        Value::Dict(_, members) => members.get(step),
        Value::Array(_, items) => items.get(step.parse::<usize>().ok()?),
        Value::String(..) | Value::Char(..) | Value::Bool(..) | Value::Num(..) | Value::Empty(..) => None,
    })
}

fn find_mut<'a>(root: &'a mut Value, steps: &[String]) -> Option<&'a mut Value> {
    steps.iter().try_fold(root, |node, step| match node {
        Value::Dict(_, members) => members.get_mut(step),
        Value::Array(_, items) => items.get_mut(step.parse::<usize>().ok()?),
        Value::String(..) | Value::Char(..) | Value::Bool(..) | Value::Num(..) | Value::Empty(..) => None,
    })
}

fn replace(root: &mut Value, path: &KeyPath, value: Value) -> bool {
    find_mut(root, path.steps()).map(|node| *node = value).is_some()
}

/// Takes a value out. An array's element becomes empty, so that the others keep their numbers.
fn strike(root: &mut Value, path: &KeyPath) -> bool {
    let Some((last, above)) = path.steps().split_last() else { return false };
    match find_mut(root, above) {
        Some(Value::Dict(_, members)) => members.remove(last).is_some(),
        Some(Value::Array(tag, items)) => {
            let element = last.parse::<usize>().ok().and_then(|index| items.get_mut(index));
            element.map(|element| *element = Value::Empty(*tag, Empty::None)).is_some()
        }
        Some(_) | None => false,
    }
}

fn problem(at: &KeyPath, kind: Kind) -> Problem {
    match kind {
        // A section, which TOML also lets one write as an array of tables.
        Kind::InvalidType(Actual::Seq, expected) if expected == "a table" && at.steps().len() == 1 => {
            Problem::NoTable { section: at.to_string() }
        }
        Kind::UnknownField(given, known) => Problem::UnknownKey { given, known: known.to_vec() },
        Kind::UnknownVariant(given, known) => Problem::UnknownChoice { given, known: known.to_vec() },
        // The value itself is not shown: it may be a secret.
        Kind::InvalidType(found, expected) => {
            Problem::WrongType { expected: in_toml(&expected).to_owned(), found: type_name(&found) }
        }
        Kind::Message(text) => Problem::Refused(text),
        other @ (Kind::InvalidValue(..)
        | Kind::InvalidLength(..)
        | Kind::MissingField(..)
        | Kind::DuplicateField(..)
        | Kind::ISizeOutOfRange(..)
        | Kind::USizeOutOfRange(..)
        | Kind::Unsupported(..)
        | Kind::UnsupportedKey(..)) => Problem::Refused(other.to_string()),
    }
}

/// Serde's name of a type, in TOML's words.
fn in_toml(serde: &str) -> &str {
    match serde {
        "a sequence" => "an array",
        "a map" => "a table",
        "a boolean" => "true or false",
        other => other,
    }
}

fn type_name(actual: &Actual) -> &'static str {
    match actual {
        Actual::Bool(_) => "a boolean",
        Actual::Unsigned(_) | Actual::Signed(_) => "an integer",
        Actual::Float(_) => "a float",
        Actual::Char(_) | Actual::Str(_) | Actual::Bytes(_) => "a string",
        Actual::Unit | Actual::Option => "nothing",
        Actual::Seq => "an array",
        Actual::Map | Actual::NewtypeStruct => "a table",
        Actual::Enum | Actual::UnitVariant | Actual::NewtypeVariant => "a choice",
        Actual::TupleVariant | Actual::StructVariant | Actual::Other(_) => "something else",
    }
}
