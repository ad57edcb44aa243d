//! The rules of the `.gitignore` and `.ignore` files that lie in a root, and of no other.
//!
//! They are read through the root's own handle, from the root down, so that a walk that begins in a folder obeys the
//! files above it and nothing outside of the root has a say.

use cap_std::fs::Dir;
use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};

use crate::text::{self, Loaded};

/// In order of precedence, the later over the earlier.
const FILES: [&str; 2] = [".gitignore", ".ignore"];

/// A larger rules file is not one that a person wrote; it is passed over.
const MAX_FILE_BYTES: u64 = 256 * 1024;

/// The rules in force in one folder: its own and those of the folders above it.
#[derive(Debug, Default)]
pub(crate) struct Rules {
    levels: Vec<Level>,
}

#[derive(Debug)]
struct Level {
    /// Bytes of the folder's own path, with its `/`: what follows is what the rules speak of.
    prefix: usize,
    rules: Gitignore,
}

/// How many levels there were before a folder was entered.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Mark(usize);

impl Rules {
    /// Adds the rules that lie in a folder.
    pub(crate) fn enter(&mut self, folder: &Dir, path: &str) {
        let rules = read(folder);
        if !rules.is_empty() {
            let prefix = if path.is_empty() { 0 } else { path.len() + 1 };
            self.levels.push(Level { prefix, rules });
        }
    }

    pub(crate) fn mark(&self) -> Mark {
        Mark(self.levels.len())
    }

    /// Drops what was entered since the mark.
    pub(crate) fn leave(&mut self, mark: Mark) {
        self.levels.truncate(mark.0);
    }

    pub(crate) fn hide(&self, path: &str, is_folder: bool) -> bool {
        for level in self.levels.iter().rev() {
            match level.rules.matched(path.get(level.prefix..).unwrap_or(path), is_folder) {
                Match::Ignore(_) => return true,
                Match::Whitelist(_) => return false,
                Match::None => {}
            }
        }
        false
    }
}

/// A line that is no valid rule is passed over, as `git` does.
fn read(folder: &Dir) -> Gitignore {
    let mut builder = GitignoreBuilder::new("");
    for name in FILES {
        if let Ok(Loaded::Text(text)) = text::load(folder, name, MAX_FILE_BYTES) {
            for line in text.lines() {
                drop(builder.add_line(None, line));
            }
        }
    }
    builder.build().unwrap_or_else(|_| Gitignore::empty())
}
