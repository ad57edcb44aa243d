//! The configured folders, each held open as a directory that nothing can leave.
//!
//! Every later access is relative to one of these handles: the kernel (or, where it cannot, `cap-std`) refuses `..`,
//! absolute paths and links that lead out, at the moment of the access and not in a check before it.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use cap_std::ambient_authority;
use cap_std::fs::Dir;

use crate::error::FilesError;
use crate::path::RelativePath;
use crate::text::{self, Loaded};

/// What of a root is shown.
#[derive(Clone, Copy, Debug)]
pub(crate) struct View {
    /// Files and folders whose name starts with a dot.
    pub(crate) hidden: bool,
    /// Files and folders that `.gitignore` and `.ignore` files name.
    pub(crate) ignored: bool,
    /// A larger file is neither read nor searched.
    pub(crate) max_file_bytes: u64,
}

#[derive(Debug)]
pub(crate) struct Root {
    pub(crate) name: String,
    pub(crate) view: View,
    dir: Dir,
}

/// At least one root, by name.
#[derive(Debug)]
pub(crate) struct Roots(BTreeMap<String, Root>);

#[derive(Debug, thiserror::Error)]
pub(crate) enum RootsError {
    #[error("`roots` is empty: name at least one folder, as in `roots = {{ docs = \"/srv/docs\" }}`")]
    Empty,
    #[error("`roots` has an empty name")]
    EmptyName,
    #[error("root `{name}`: cannot {done} the folder `{}`", path.display())]
    Closed {
        done: &'static str,
        name: String,
        path: PathBuf,
        #[source]
        cause: io::Error,
    },
}

impl Roots {
    pub(crate) fn open(folders: &BTreeMap<String, PathBuf>, view: View) -> Result<Self, RootsError> {
        if folders.is_empty() {
            return Err(RootsError::Empty);
        }
        folders
            .iter()
            .map(|(name, path)| Ok((name.clone(), Root::open(name, path, view)?)))
            .collect::<Result<_, _>>()
            .map(Self)
    }

    /// The named root; the only one where there is but one and no name is given.
    pub(crate) fn pick(&self, name: Option<&str>) -> Result<&Root, FilesError> {
        match (name, self.0.values().next()) {
            (Some(name), _) => {
                self.0.get(name).ok_or_else(|| FilesError::UnknownRoot { name: name.to_owned(), known: self.names() })
            }
            (None, Some(only)) if self.0.len() == 1 => Ok(only),
            (None, _) => Err(FilesError::RootNeeded { known: self.names() }),
        }
    }

    fn names(&self) -> String {
        self.0.keys().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
    }
}

impl Root {
    fn open(name: &str, path: &Path, view: View) -> Result<Self, RootsError> {
        if name.is_empty() {
            return Err(RootsError::EmptyName);
        }
        let closed =
            |done| move |cause| RootsError::Closed { done, name: name.to_owned(), path: path.to_owned(), cause };
        let dir = Dir::open_ambient_dir(path, ambient_authority()).map_err(closed("open"))?;
        // It can be opened by whoever may not look into it.
        drop(dir.entries().map_err(closed("list"))?);
        Ok(Self { name: name.to_owned(), view, dir })
    }

    pub(crate) fn dir(&self) -> &Dir {
        &self.dir
    }

    /// Where a path leads once its links are followed. A link cannot show what its target's own path would hide.
    pub(crate) fn follow(&self, path: &RelativePath) -> Result<RelativePath, FilesError> {
        self.refuse_hidden(path, path)?;
        let real = self.dir.canonicalize(path.to_open()).map_err(|error| FilesError::at(path, error))?;
        let real = real.to_str().ok_or_else(|| FilesError::Unreadable { path: path.to_string() })?;
        let real = RelativePath::parse(real)?;
        self.refuse_hidden(&real, path)?;
        Ok(real)
    }

    pub(crate) fn open_folder(&self, path: &RelativePath) -> Result<Dir, FilesError> {
        self.dir.open_dir(path.to_open()).map_err(|error| match error.kind() {
            io::ErrorKind::NotADirectory => FilesError::NotFolder { path: path.to_string() },
            _ => FilesError::at(path, error),
        })
    }

    /// The text of the file at `path`, where it is one that may be read.
    pub(crate) fn text(&self, path: &RelativePath) -> Result<String, FilesError> {
        let real = self.follow(path)?;
        let loaded = text::load(&self.dir, real.to_open(), self.view.max_file_bytes)
            .map_err(|error| FilesError::at(path, error))?;
        let path = path.to_string();
        match loaded {
            Loaded::Text(text) => Ok(text),
            Loaded::Binary => Err(FilesError::Binary { path }),
            Loaded::Oversized(bytes) => Err(FilesError::Oversized { path, bytes }),
            Loaded::Folder => Err(FilesError::Folder { path }),
            Loaded::Special => Err(FilesError::NotRegular { path }),
        }
    }

    /// A hidden path is, for the calling program, not there.
    fn refuse_hidden(&self, path: &RelativePath, given: &RelativePath) -> Result<(), FilesError> {
        if path.is_hidden() && !self.view.hidden {
            return Err(FilesError::Missing { path: given.to_string() });
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
