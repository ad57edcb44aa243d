//! Visits what lies below a folder, sorted, through the root's handle only.
//!
//! `ignore`'s own walker takes paths of the whole file system, where a folder that is swapped for a link during the
//! walk leads out of the root; here each folder is opened from the one above it, and links are never followed.

use std::io;
use std::ops::ControlFlow;

use cap_std::fs::{Dir, FileType};
use codemode_plugin_api::prelude::*;

use crate::error::FilesError;
use crate::globs::Globs;
use crate::ignored::Rules;
use crate::path::{RelativePath, is_hidden_name};
use crate::roots::Root;
use crate::text::{self, Loaded};

/// Folders below folders beyond this are counted as skipped; it bounds the open handles of one walk.
const MAX_DEPTH: usize = 64;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub(crate) enum Kind {
    File,
    Folder,
    Link,
    Other,
}

/// Which of the things below a folder are visited.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Reach<'a> {
    /// What is in the folder itself, of any kind.
    Children,
    /// What is anywhere below it and matches, folders apart.
    Below(&'a Globs),
}

/// One thing below a folder, its folder still open.
#[derive(Debug)]
pub(crate) struct Entry<'a> {
    pub(crate) path: &'a RelativePath,
    pub(crate) kind: Kind,
    folder: &'a Dir,
    name: &'a str,
}

/// A walk about to begin.
pub(crate) struct Walk<'a> {
    pub(crate) root: &'a Root,
    pub(crate) reach: Reach<'a>,
    pub(crate) cancelled: &'a dyn Fn() -> bool,
}

/// What one walk has in hand.
struct Progress<'a, 'v> {
    walk: &'a Walk<'a>,
    base: RelativePath,
    rules: Rules,
    skipped: u64,
    visit: &'v mut dyn FnMut(&Entry<'_>) -> Result<ControlFlow<()>, FilesError>,
}

impl Entry<'_> {
    /// Bytes of a file; 0 for anything else.
    pub(crate) fn size(&self) -> u64 {
        if self.kind != Kind::File {
            return 0;
        }
        self.folder.symlink_metadata(self.name).map(|metadata| metadata.len()).unwrap_or_default()
    }

    pub(crate) fn load(&self, max_bytes: u64) -> io::Result<Loaded> {
        text::load(self.folder, self.name, max_bytes)
    }
}

impl From<FileType> for Kind {
    fn from(kind: FileType) -> Self {
        if kind.is_file() {
            Self::File
        } else if kind.is_dir() {
            Self::Folder
        } else if kind.is_symlink() {
            Self::Link
        } else {
            Self::Other
        }
    }
}

impl Walk<'_> {
    /// Visits until told to stop. Gives how many things had to be left out: names that are no UTF-8, folders that
    /// cannot be read.
    pub(crate) fn run(
        &self,
        base: &RelativePath,
        visit: &mut dyn FnMut(&Entry<'_>) -> Result<ControlFlow<()>, FilesError>,
    ) -> Result<u64, FilesError> {
        let base = self.root.follow(base)?;
        let folder = self.root.open_folder(&base)?;
        let mut progress = Progress { walk: self, base: base.clone(), rules: Rules::default(), skipped: 0, visit };
        progress.obey_folders_above(&base)?;
        // Whether it was stopped early, its visitor knows.
        let _: ControlFlow<()> = progress.folder(&folder, &base, 0)?;
        Ok(progress.skipped)
    }
}

impl Progress<'_, '_> {
    /// The rules of the root and of each folder on the way to `base`.
    fn obey_folders_above(&mut self, base: &RelativePath) -> Result<(), FilesError> {
        let names: Vec<&str> = base.names().collect();
        let mut above = RelativePath::parse("")?;
        for name in names {
            self.obey(&self.walk.root.open_folder(&above)?, &above);
            above = above.join(name);
        }
        Ok(())
    }

    fn obey(&mut self, folder: &Dir, path: &RelativePath) {
        if !self.walk.root.view.ignored {
            self.rules.enter(folder, path.as_str());
        }
    }

    fn folder(&mut self, folder: &Dir, path: &RelativePath, depth: usize) -> Result<ControlFlow<()>, FilesError> {
        let mark = self.rules.mark();
        self.obey(folder, path);
        for (name, kind) in self.names(folder, path)? {
            let child = path.join(&name);
            if self.rules.hide(child.as_str(), kind == Kind::Folder) {
                continue;
            }
            let entry = Entry { path: &child, kind, folder, name: &name };
            if self.entry(&entry, depth)?.is_break() {
                return Ok(ControlFlow::Break(()));
            }
        }
        self.rules.leave(mark);
        Ok(ControlFlow::Continue(()))
    }

    fn entry(&mut self, entry: &Entry<'_>, depth: usize) -> Result<ControlFlow<()>, FilesError> {
        self.check_cancelled()?;
        match self.walk.reach {
            Reach::Children => (self.visit)(entry),
            Reach::Below(globs) if entry.kind == Kind::Folder => {
                if globs.enter_folder(self.below_base(entry.path)) {
                    self.enter(entry, depth)
                } else {
                    Ok(ControlFlow::Continue(()))
                }
            }
            Reach::Below(globs) if globs.take_file(self.below_base(entry.path)) => (self.visit)(entry),
            Reach::Below(_) => Ok(ControlFlow::Continue(())),
        }
    }

    fn enter(&mut self, entry: &Entry<'_>, depth: usize) -> Result<ControlFlow<()>, FilesError> {
        match entry.folder.open_dir(entry.name) {
            Ok(folder) if depth < MAX_DEPTH => self.folder(&folder, entry.path, depth + 1),
            Ok(_) | Err(_) => {
                self.skipped += 1;
                Ok(ControlFlow::Continue(()))
            }
        }
    }

    /// The names in a folder that are shown, sorted.
    fn names(&mut self, folder: &Dir, path: &RelativePath) -> Result<Vec<(String, Kind)>, FilesError> {
        let mut names = Vec::new();
        for entry in folder.entries().map_err(|error| FilesError::at(path, error))? {
            self.check_cancelled()?;
            let entry = entry.map_err(|error| FilesError::at(path, error))?;
            let (Ok(name), Ok(kind)) = (entry.file_name().into_string(), entry.file_type()) else {
                self.skipped += 1;
                continue;
            };
            if self.walk.root.view.hidden || !is_hidden_name(&name) {
                names.push((name, Kind::from(kind)));
            }
        }
        names.sort_unstable_by(|left, right| left.0.cmp(&right.0));
        Ok(names)
    }

    fn below_base<'p>(&self, path: &'p RelativePath) -> &'p str {
        let path = path.as_str();
        path.strip_prefix(self.base.as_str()).map_or(path, |rest| rest.trim_start_matches('/'))
    }

    fn check_cancelled(&self) -> Result<(), FilesError> {
        if (self.walk.cancelled)() { Err(FilesError::Cancelled) } else { Ok(()) }
    }
}
