//! `files.read`: a text file, or a range of its lines.
//!
//! A line ends with its `\n`, and a text that does not end with one has a last line without. So `total_lines` is what
//! `wc -l` counts wherever a file ends as text files do, and the `\n` in `text` are always what `wc -l` counts.

use codemode_plugin_api::prelude::*;

use crate::answer::{Room, text_bytes};
use crate::error::FilesError;
use crate::path::RelativePath;
use crate::roots::Roots;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Read {
    /// The file, relative to the root.
    #[schemars(length(min = 1, max = 4096))]
    path: String,
    /// The first line wanted, from 1; the first of the file if omitted.
    #[schemars(range(min = 1, max = 9007199254740991_u64))]
    start_line: Option<u64>,
    /// The last line wanted, itself included; the last of the file if omitted or past it.
    #[schemars(range(min = 1, max = 9007199254740991_u64))]
    end_line: Option<u64>,
    /// The root to look in; may be omitted where there is only one.
    root: Option<String>,
}

#[derive(Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct Excerpt {
    root: String,
    path: String,
    /// The lines exactly as they stand in the file, line ends included.
    text: String,
    start_line: u64,
    /// The last line in `text`, itself included; one less than `start_line` where the file is empty.
    end_line: u64,
    /// Lines of the whole file; a last one without a line end counts.
    total_lines: u64,
    /// Whether wanted lines are missing because the answer would be too large: go on at `end_line + 1`. A single line
    /// that is too large by itself is cut.
    truncated: bool,
}

/// Some of a text's lines.
#[derive(Debug, PartialEq, Eq)]
struct Lines<'t> {
    text: &'t str,
    end: u64,
    truncated: bool,
}

pub(crate) fn read(roots: &Roots, input: &Read, cancelled: &dyn Fn() -> bool) -> Result<Excerpt, FilesError> {
    let root = roots.pick(input.root.as_deref())?;
    let path = RelativePath::parse(&input.path)?;
    let start = input.start_line.unwrap_or(1);
    if let Some(end) = input.end_line.filter(|end| *end < start) {
        return Err(FilesError::EmptyRange { start, end });
    }
    let text = root.text(&path)?;
    let total = count_lines(&text);
    if start > total.max(1) {
        return Err(FilesError::PastEnd { path: path.to_string(), start, total });
    }
    let end = input.end_line.map_or(total, |end| end.min(total));
    let lines = cut(&text, start, end, Room::full(), cancelled)?;
    Ok(Excerpt {
        root: root.name.clone(),
        path: path.to_string(),
        text: lines.text.to_owned(),
        start_line: start,
        end_line: lines.end,
        total_lines: total,
        truncated: lines.truncated,
    })
}

pub(crate) fn count_lines(text: &str) -> u64 {
    text.split_inclusive('\n').count() as u64
}

/// The lines from `start` to `end`, as many as there is room for.
fn cut<'t>(
    text: &'t str,
    start: u64,
    end: u64,
    mut room: Room,
    cancelled: &dyn Fn() -> bool,
) -> Result<Lines<'t>, FilesError> {
    let mut from = 0;
    let mut wanted = 0;
    let mut number = 0;
    for line in text.split_inclusive('\n') {
        if cancelled() {
            return Err(FilesError::Cancelled);
        }
        number += 1;
        if number > end {
            break;
        }
        if number < start {
            from += line.len();
            continue;
        }
        if !room.take(text_bytes(line)) {
            // Ends before this line, or within it where it is the only one.
            let whole =
                Lines { text: text.get(from..from + wanted).unwrap_or_default(), end: number - 1, truncated: true };
            let part = Lines { text: room.take_part(line), end: number, truncated: true };
            return Ok(if number == start { part } else { whole });
        }
        wanted += line.len();
    }
    Ok(Lines { text: text.get(from..from + wanted).unwrap_or_default(), end, truncated: false })
}

#[cfg(test)]
mod tests;
