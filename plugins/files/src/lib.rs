//! A read-only view of configured folders: list, read, search, stat.
//!
//! What a program may see is decided by [`Settings`] alone; nothing that it says leads out of a root.
#![forbid(unsafe_code)]

mod answer;
mod error;
#[cfg(test)]
mod fixture;
mod globs;
mod ignored;
mod list;
mod path;
mod read;
mod roots;
mod search;
mod stat;
mod text;
mod walk;

use std::collections::BTreeMap;
use std::path::PathBuf;

use codemode_plugin_api::prelude::*;

use crate::error::FilesError;
use crate::list::{List, Listing};
use crate::read::{Excerpt, Read};
use crate::roots::{Roots, View};
use crate::search::{Found, Search};
use crate::stat::{Stat, Status};

/// What an operator configures.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// The folders to show, each under the name that programs use for it. Relative to the configuration file.
    #[schemars(extend("minProperties" = 1))]
    roots: BTreeMap<String, PathBuf>,
    /// A file larger than so many bytes is neither read nor searched.
    #[serde(default = "default_max_file_bytes")]
    #[schemars(range(min = 1))]
    max_file_bytes: u64,
    /// Show files and folders whose name starts with a dot.
    #[serde(default)]
    show_hidden: bool,
    /// List and search what `.gitignore` and `.ignore` files name as well.
    #[serde(default)]
    show_ignored: bool,
}

/// An instance: its roots, held open.
#[derive(Debug)]
pub struct Files {
    roots: Roots,
}

impl Plugin for Files {
    type Settings = Settings;

    fn start(settings: Settings, host: &Host) -> Result<Self, StartError> {
        let view = View {
            hidden: settings.show_hidden,
            ignored: settings.show_ignored,
            max_file_bytes: settings.max_file_bytes,
        };
        let folders = settings.roots.into_iter().map(|(name, path)| (name, host.resolve(path))).collect();
        Ok(Self { roots: Roots::open(&folders, view)? })
    }

    fn capabilities(c: &mut Capabilities<Self>) {
        c.namespace_configurable();
        c.add("files.list", list)
            .summary("List files and folders, by glob where one is given.")
            .description(LIST)
            .terms(["directory", "dir", "ls", "tree", "find", "glob", "walk", "paths", "names"])
            .read_only()
            .idempotent();
        c.add("files.read", read)
            .summary("Read a text file, whole or a range of lines.")
            .description(READ)
            .terms(["open", "cat", "content", "source", "head", "tail", "load", "show", "view"])
            .read_only()
            .idempotent();
        c.add("files.search", search)
            .summary("Find text in files by regular expression.")
            .description(SEARCH)
            .terms([
                "find", "text", "grep", "rg", "ripgrep", "regex", "pattern", "match", "lines", "code", "content",
                "look",
            ])
            .read_only()
            .idempotent();
        c.add("files.stat", stat)
            .summary("Tell a path's kind, size and time of change.")
            .description(STAT)
            .terms(["metadata", "exists", "info", "mtime", "modified", "bytes", "folder", "directory"])
            .read_only()
            .idempotent();
    }
}

export!(Files);

const LIST: &str = "\
Without `glob`, gives what is directly in the folder `path`, of every kind. With `glob`, gives what lies below it at any \
depth and matches, folders themselves left out. Paths in the answer are relative to the root, as reading them \
takes them. Links are listed and not followed. Hidden and git-ignored files are left out unless the server shows them.";

const READ: &str = "\
Lines are numbered from 1 and `end_line` is included. `text` keeps the line ends of the file, so \
`text.count(\"\\n\")` is what `wc -l` says. Only UTF-8 text of bounded size can be read; where `truncated` is true, go on \
with `start_line = end_line + 1`.";

const SEARCH: &str = "\
Looks line by line through the text files below `path`, or in the one file that it names, and gives each matching line \
with its number. The pattern is a regular expression in Rust's syntax (no back-references, no look-around); write \
`\\\\.` for a dot as such. Binary, too large, hidden and git-ignored files are left out.";

const STAT: &str = "\
Follows links, as long as they stay in the root. A path that does not exist is an error.";

fn list(files: &Files, call: &Call, input: List) -> Result<Listing, CapabilityError> {
    list::list(&files.roots, &input, &|| call.is_cancelled()).map_err(told)
}

fn read(files: &Files, call: &Call, input: Read) -> Result<Excerpt, CapabilityError> {
    read::read(&files.roots, &input, &|| call.is_cancelled()).map_err(told)
}

fn search(files: &Files, call: &Call, input: Search) -> Result<Found, CapabilityError> {
    search::search(&files.roots, &input, &|| call.is_cancelled()).map_err(told)
}

fn stat(files: &Files, _: &Call, input: Stat) -> Result<Status, CapabilityError> {
    stat::stat(&files.roots, &input).map_err(told)
}

/// What the calling program may read of an error: all but what it has no part in.
fn told(error: FilesError) -> CapabilityError {
    match error {
        FilesError::Cancelled | FilesError::Io(_) => error.into(),
        published => CapabilityError::published(published.to_string()),
    }
}

fn default_max_file_bytes() -> u64 {
    1024 * 1024
}
