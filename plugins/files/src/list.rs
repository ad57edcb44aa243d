//! `files.list`: what is in a folder, or below it.

use std::ops::ControlFlow;

use codemode_plugin_api::prelude::*;

use crate::answer::{Room, text_bytes};
use crate::error::FilesError;
use crate::globs::{GlobArgument, Globs};
use crate::path::RelativePath;
use crate::roots::Roots;
use crate::walk::{Entry, Kind, Reach, Walk};

/// Bytes of an entry's JSON text besides its path.
const ENTRY_BYTES: usize = 48;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct List {
    /// The folder to look in, relative to the root; the root itself if omitted.
    #[schemars(length(max = 4096))]
    path: Option<String>,
    /// Look below the folder, at every depth, for files whose path from the folder matches: `**/*.rs`, `*.{md,txt}`,
    /// `src/**`. Without `/` it is about file names; a leading `!` leaves out. Several take what any of them matches.
    glob: Option<GlobArgument>,
    /// The root to look in; may be omitted where there is only one.
    root: Option<String>,
    /// At most so many entries.
    #[serde(default = "default_limit")]
    #[schemars(range(min = 1, max = 10000))]
    limit: u32,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Listing {
    root: String,
    /// Sorted by name, folder by folder.
    entries: Vec<Listed>,
    /// Whether there are more than these.
    truncated: bool,
    /// Names that are not UTF-8 and folders that cannot be read, all left out.
    skipped: u64,
}

#[derive(Debug, Serialize, JsonSchema)]
struct Listed {
    /// Relative to the root, as the other operations take it.
    path: String,
    kind: Kind,
    /// In bytes; 0 for what is not a file.
    size: u64,
}

pub(crate) fn list(roots: &Roots, input: &List, cancelled: &dyn Fn() -> bool) -> Result<Listing, FilesError> {
    let root = roots.pick(input.root.as_deref())?;
    let base = RelativePath::parse_or_root(input.path.as_deref())?;
    let globs = input.glob.as_ref().map(Globs::parse).transpose()?;
    let reach = globs.as_ref().map_or(Reach::Children, Reach::Below);
    let limit = input.limit as usize;

    let mut entries = Vec::new();
    let mut truncated = false;
    let mut room = Room::full();
    let skipped = Walk { root, reach, cancelled }.run(&base, &mut |entry| {
        truncated = entries.len() == limit || !room.take(text_bytes(entry.path.as_str()) + ENTRY_BYTES);
        if truncated {
            return Ok(ControlFlow::Break(()));
        }
        entries.push(Listed::from(entry));
        Ok(ControlFlow::Continue(()))
    })?;
    Ok(Listing { root: root.name.clone(), entries, truncated, skipped })
}

fn default_limit() -> u32 {
    1_000
}

impl From<&Entry<'_>> for Listed {
    fn from(entry: &Entry<'_>) -> Self {
        Self { path: entry.path.as_str().to_owned(), kind: entry.kind, size: entry.size() }
    }
}

#[cfg(test)]
mod tests;
