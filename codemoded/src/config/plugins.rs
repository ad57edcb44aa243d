//! Which libraries are loaded, under which instance names and with which settings.

use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::fault::Problem;
use super::place::{KeyPath, Place, message_place};
use super::reading::Reading;
use super::{json, raw, reference};

/// One plugin instance to start.
#[derive(Clone, PartialEq)]
pub struct PluginSpec {
    /// Absent for a library found in `plugin_dirs`, whose descriptor names it.
    pub name: Option<String>,
    /// Absolute.
    pub library: PathBuf,
    /// A JSON object.
    pub settings: serde_json::Value,
    /// Where the configuration names it, for messages.
    pub place: String,
}

/// An identifier: the name is also a namespace of programs where the plugin allows it.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub(super) struct InstanceName(String);

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no instance name; write a letter and then letters, digits or `_`, at most 64, such as \"records\"")]
pub(super) struct InvalidInstanceName(String);

impl TryFrom<String> for InstanceName {
    type Error = InvalidInstanceName;

    fn try_from(text: String) -> Result<Self, InvalidInstanceName> {
        let sound = text.starts_with(|c: char| c.is_ascii_alphabetic())
            && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
            && text.len() <= 64;
        if sound { Ok(Self(text)) } else { Err(InvalidInstanceName(text)) }
    }
}

/// Settings may hold a secret.
impl fmt::Debug for PluginSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PluginSpec")
            .field("name", &self.name)
            .field("library", &self.library)
            .field("place", &self.place)
            .finish_non_exhaustive()
    }
}

/// The instances of the tables, then those of the folders, each folder in the order of its file names.
pub(super) fn check(reading: &mut Reading, dirs: raw::List<String>, tables: raw::List<raw::Plugin>) -> Vec<PluginSpec> {
    let key = KeyPath::new(["plugin_dirs"]);
    let mut folders = Vec::new();
    for (index, dir) in dirs.into_iter().enumerate() {
        let Some(dir) = dir else { continue };
        let (key, dir) = (key.index(index), reading.absolute(dir));
        match libraries_in(&dir) {
            Ok(libraries) => folders.push((key, dir, libraries)),
            Err(problem) => reading.fault(key, problem),
        }
    }
    let searched: Vec<PathBuf> = folders.iter().map(|(_, dir, _)| dir.clone()).collect();
    let mut specs = named(reading, &searched, tables);
    let mut taken: Vec<PathBuf> = specs.iter().map(|spec| same_file(&spec.library)).collect();
    for (key, _, libraries) in folders {
        for library in libraries {
            let file = same_file(&library);
            if !taken.contains(&file) {
                taken.push(file);
                let place = message_place(&reading.place(&key), &key);
                specs.push(PluginSpec { name: None, library, settings: serde_json::Map::new().into(), place });
            }
        }
    }
    specs
}

fn named(reading: &mut Reading, dirs: &[PathBuf], tables: raw::List<raw::Plugin>) -> Vec<PluginSpec> {
    let mut names: Vec<(String, Place)> = Vec::new();
    let mut specs = Vec::new();
    for (index, table) in tables.into_iter().enumerate() {
        let Some(table) = table else { continue };
        let key = KeyPath::new(["plugins"]).index(index);
        let name = table.name.map(|name| name.0);
        match &name {
            None => reading.missing(key.key("name"), "name the instance, such as `name = \"records\"`"),
            Some(name) => {
                let place = reading.place(&key.key("name"));
                match names.iter().find(|(other, _)| other == name) {
                    Some((_, first)) => {
                        let problem = Problem::Repeated { given: name.clone(), first: first.clone() };
                        reading.fault(key.key("name"), problem);
                    }
                    None => names.push((name.clone(), place)),
                }
            }
        }
        let settings = json::table(reading, &key.key("config"), table.config).into();
        let place = message_place(&reading.place(&key), &key);
        if let Some(library) = library(reading, &key.key("library"), dirs, table.library) {
            specs.push(PluginSpec { name, library, settings, place });
        }
    }
    specs
}

fn library(reading: &mut Reading, key: &KeyPath, dirs: &[PathBuf], given: Option<String>) -> Option<PathBuf> {
    let Some(given) = given else {
        reading.missing(key.clone(), "name its library, such as `library = \"libcodemode_records.so\"`");
        return None;
    };
    let found = if given.contains('/') {
        let path = reading.absolute(&given);
        reference::check_file(&path).map(|()| path)
    } else {
        let candidate = dirs.iter().map(|dir| dir.join(&given)).find(|path| path.exists());
        let candidate = candidate.ok_or(Problem::NotInDirs { library: given, dirs: dirs.to_vec() });
        candidate.and_then(|path| reference::check_file(&path).map(|()| path))
    };
    found.map_err(|problem| reading.fault(key.clone(), problem)).ok()
}

/// The shared objects of a folder, by name.
fn libraries_in(dir: &Path) -> Result<Vec<PathBuf>, Problem> {
    let listed = fs::read_dir(dir).and_then(|entries| {
        let paths = entries.map(|entry| entry.map(|entry| entry.path()));
        paths.collect::<io::Result<Vec<_>>>()
    });
    let mut libraries = listed.map_err(|cause| match cause.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => Problem::NoFolder(dir.to_owned()),
        _ => Problem::UnreadableFolder { path: dir.to_owned(), source: cause },
    })?;
    libraries.retain(|path| path.extension().is_some_and(|extension| extension == "so") && path.is_file());
    libraries.sort();
    Ok(libraries)
}

/// One name for a file that several paths lead to.
fn same_file(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_owned())
}
