//! A real folder with what a test puts in it, shown as one root.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;

use tempfile::TempDir;

use crate::roots::{Roots, View};

pub(crate) const VIEW: View = View { hidden: false, ignored: false, max_file_bytes: 1024 * 1024 };

pub(crate) struct Folder {
    dir: TempDir,
}

impl Folder {
    /// A root named `work`, and beside it, outside, a file that nobody may see.
    pub(crate) fn new() -> Self {
        let dir = TempDir::new().unwrap();
        fs::create_dir(dir.path().join("work")).unwrap();
        fs::create_dir(dir.path().join("outside")).unwrap();
        fs::write(dir.path().join("outside/secret.txt"), "secret\n").unwrap();
        Self { dir }
    }

    pub(crate) fn with(files: &[(&str, &str)]) -> Self {
        let folder = Self::new();
        for (path, text) in files {
            folder.file(path, text.as_bytes());
        }
        folder
    }

    pub(crate) fn path(&self, path: &str) -> PathBuf {
        self.dir.path().join("work").join(path)
    }

    pub(crate) fn outside(&self) -> PathBuf {
        self.dir.path().join("outside")
    }

    pub(crate) fn file(&self, path: &str, content: &[u8]) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    pub(crate) fn link(&self, path: &str, target: impl AsRef<std::path::Path>) {
        symlink(target, self.path(path)).unwrap();
    }

    pub(crate) fn pipe(&self, path: &str) {
        let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
        rustix::fs::mkfifoat(rustix::fs::CWD, self.path(path), mode).unwrap();
    }

    pub(crate) fn roots(&self) -> Roots {
        self.roots_with(VIEW)
    }

    pub(crate) fn roots_with(&self, view: View) -> Roots {
        Roots::open(&BTreeMap::from([("work".to_owned(), self.path(""))]), view).unwrap()
    }
}

/// An input as it comes from a program.
#[track_caller]
pub(crate) fn input<T: serde::de::DeserializeOwned>(arguments: serde_json::Value) -> T {
    serde_json::from_value(arguments).unwrap()
}

/// Nobody gives up.
pub(crate) fn wanted() -> bool {
    false
}
