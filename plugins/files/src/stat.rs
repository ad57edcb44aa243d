//! `files.stat`: what a path is.

use std::time::UNIX_EPOCH;

use cap_std::fs::Metadata;
use codemode_plugin_api::prelude::*;

use crate::error::FilesError;
use crate::path::RelativePath;
use crate::roots::Roots;
use crate::walk::Kind;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Stat {
    /// The file or folder, relative to the root.
    #[schemars(length(min = 1, max = 4096))]
    path: String,
    /// The root to look in; may be omitted where there is only one.
    root: Option<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Status {
    root: String,
    path: String,
    /// What a link leads to, if the path is one.
    kind: Kind,
    /// In bytes; 0 for what is not a file.
    size: u64,
    /// When the content last changed, in seconds since 1970-01-01 UTC.
    modified: i64,
}

pub(crate) fn stat(roots: &Roots, input: &Stat) -> Result<Status, FilesError> {
    let root = roots.pick(input.root.as_deref())?;
    let path = RelativePath::parse(&input.path)?;
    let real = root.follow(&path)?;
    let metadata = root.dir().metadata(real.to_open()).map_err(|error| FilesError::at(&path, error))?;
    let kind = Kind::from(metadata.file_type());
    Ok(Status {
        root: root.name.clone(),
        path: path.to_string(),
        kind,
        size: if kind == Kind::File { metadata.len() } else { 0 },
        modified: modified(&metadata).map_err(FilesError::Io)?,
    })
}

fn modified(metadata: &Metadata) -> std::io::Result<i64> {
    let time = metadata.modified()?.into_std();
    Ok(match time.duration_since(UNIX_EPOCH) {
        Ok(after) => i64::try_from(after.as_secs()).unwrap_or(i64::MAX),
        Err(before) => i64::try_from(before.duration().as_secs()).map_or(i64::MIN, |seconds| -seconds),
    })
}

#[cfg(test)]
mod tests;
