//! `files.search`: the lines that match a regular expression.
//!
//! The expressions have no back-references and no look-around, so that a search takes time linear in what it reads,
//! whatever the pattern; the compiled size is bounded too.

use std::io;
use std::ops::ControlFlow;

use codemode_plugin_api::prelude::*;
use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use grep_searcher::{Searcher, SearcherBuilder, Sink, SinkMatch};

use crate::answer::{Room, text_bytes};
use crate::error::FilesError;
use crate::globs::{GlobArgument, Globs};
use crate::path::RelativePath;
use crate::roots::{Root, Roots};
use crate::text::Loaded;
use crate::walk::{Kind, Reach, Walk};

const MAX_COMPILED_BYTES: usize = 4 * 1024 * 1024;
const MAX_NESTING: u32 = 100;

/// A longer line is cut, with `...` at its end.
const MAX_LINE_BYTES: usize = 1_000;

/// Bytes of a match's JSON text besides its strings.
const MATCH_BYTES: usize = 64;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Search {
    /// What to find in a line: a regular expression without back-references or look-around.
    #[schemars(length(min = 1, max = 1000))]
    pattern: String,
    /// The file, or the folder below which to search, relative to the root; the whole root if omitted.
    #[schemars(length(max = 4096))]
    path: Option<String>,
    /// Search only files whose path from the folder matches: `*.rs`, `src/**`, `!*_test.rs`.
    glob: Option<GlobArgument>,
    /// Whether upper and lower case differ.
    #[serde(default = "default_case_sensitive")]
    case_sensitive: bool,
    /// So many lines before and after each match as well.
    #[serde(default)]
    #[schemars(range(min = 0, max = 20))]
    context: u8,
    /// The root to search in; may be omitted where there is only one.
    root: Option<String>,
    /// At most so many matches.
    #[serde(default = "default_limit")]
    #[schemars(range(min = 1, max = 5000))]
    limit: u32,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Found {
    root: String,
    /// One for each matching line, sorted by path and line.
    matches: Vec<Match>,
    /// Whether there are more than these.
    truncated: bool,
    /// Files that were looked in.
    searched: u64,
    /// Files that are binary or too large, names that are not UTF-8, and what cannot be read, all left out.
    skipped: u64,
}

#[derive(Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct Match {
    path: String,
    /// From 1.
    line: u64,
    /// The line without its end; over 1,000 bytes it is cut and ends with `...`.
    text: String,
    /// The lines before it, as many as `context` asks for.
    before: Vec<String>,
    /// The lines after it, likewise.
    after: Vec<String>,
}

/// A search on its way.
struct Hunt<'a> {
    matcher: RegexMatcher,
    searcher: Searcher,
    context: usize,
    limit: usize,
    room: Room,
    cancelled: &'a dyn Fn() -> bool,
    found: Found,
}

/// Takes the matches of one file.
struct InFile<'h, 'a, 't> {
    path: &'t RelativePath,
    text: &'t str,
    context: usize,
    limit: usize,
    room: &'h mut Room,
    cancelled: &'a dyn Fn() -> bool,
    found: &'h mut Found,
}

pub(crate) fn search(roots: &Roots, input: &Search, cancelled: &dyn Fn() -> bool) -> Result<Found, FilesError> {
    let root = roots.pick(input.root.as_deref())?;
    let base = RelativePath::parse_or_root(input.path.as_deref())?;
    let globs = input.glob.as_ref().map_or_else(|| Ok(Globs::all()), Globs::parse)?;
    let mut hunt = Hunt::new(root, input, cancelled)?;
    if is_file(root, &base)? {
        hunt.in_text(&base, &root.text(&base)?)?;
    } else {
        hunt.below(root, &base, &globs)?;
    }
    Ok(hunt.found)
}

fn default_case_sensitive() -> bool {
    true
}

fn default_limit() -> u32 {
    200
}

fn is_file(root: &Root, path: &RelativePath) -> Result<bool, FilesError> {
    let real = root.follow(path)?;
    let metadata = root.dir().metadata(real.to_open()).map_err(|error| FilesError::at(path, error))?;
    Ok(!metadata.is_dir())
}

impl<'a> Hunt<'a> {
    fn new(root: &Root, input: &Search, cancelled: &'a dyn Fn() -> bool) -> Result<Self, FilesError> {
        let root = root.name.clone();
        Ok(Self {
            matcher: compile(&input.pattern, input.case_sensitive)?,
            searcher: SearcherBuilder::new().line_number(true).bom_sniffing(false).build(),
            context: usize::from(input.context),
            limit: input.limit as usize,
            room: Room::full(),
            cancelled,
            found: Found { root, matches: Vec::new(), truncated: false, searched: 0, skipped: 0 },
        })
    }

    fn below(&mut self, root: &Root, base: &RelativePath, globs: &Globs) -> Result<(), FilesError> {
        let walk = Walk { root, reach: Reach::Below(globs), cancelled: self.cancelled };
        let skipped = walk.run(base, &mut |entry| {
            if entry.kind == Kind::File {
                match entry.load(root.view.max_file_bytes) {
                    Ok(Loaded::Text(text)) => self.in_text(entry.path, &text)?,
                    Ok(Loaded::Binary | Loaded::Oversized(_) | Loaded::Folder | Loaded::Special) | Err(_) => {
                        self.found.skipped += 1;
                    }
                }
            }
            Ok(if self.found.truncated { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
        })?;
        self.found.skipped += skipped;
        Ok(())
    }

    fn in_text(&mut self, path: &RelativePath, text: &str) -> Result<(), FilesError> {
        self.found.searched += 1;
        let sink = InFile {
            path,
            text,
            context: self.context,
            limit: self.limit,
            room: &mut self.room,
            cancelled: self.cancelled,
            found: &mut self.found,
        };
        self.searcher.search_slice(&self.matcher, text.as_bytes(), sink).map_err(FilesError::Io)?;
        if (self.cancelled)() { Err(FilesError::Cancelled) } else { Ok(()) }
    }
}

impl Sink for InFile<'_, '_, '_> {
    type Error = io::Error;

    /// Answers whether to go on in this file.
    fn matched(&mut self, _: &Searcher, line: &SinkMatch<'_>) -> Result<bool, io::Error> {
        let start = usize::try_from(line.absolute_byte_offset()).unwrap_or(usize::MAX);
        let found = self.describe(start, start.saturating_add(line.bytes().len()), line.line_number().unwrap_or(1));
        self.found.truncated = self.found.matches.len() == self.limit || !self.room.take(found.json_bytes());
        if self.found.truncated {
            return Ok(false);
        }
        self.found.matches.push(found);
        Ok(!(self.cancelled)())
    }
}

impl InFile<'_, '_, '_> {
    fn describe(&self, start: usize, end: usize, line: u64) -> Match {
        let text = self.text.get(start..end).unwrap_or_default();
        let before = self.text.get(..start).unwrap_or_default();
        let after = self.text.get(end..).unwrap_or_default();
        let mut before: Vec<String> = before.split_inclusive('\n').rev().take(self.context).map(clip).collect();
        before.reverse();
        let after = after.split_inclusive('\n').take(self.context).map(clip).collect();
        Match { path: self.path.as_str().to_owned(), line, text: clip(text), before, after }
    }
}

impl Match {
    fn json_bytes(&self) -> usize {
        let around = self.before.iter().chain(&self.after).map(|line| text_bytes(line) + 1).sum::<usize>();
        MATCH_BYTES + text_bytes(&self.path) + text_bytes(&self.text) + around
    }
}

fn compile(pattern: &str, case_sensitive: bool) -> Result<RegexMatcher, FilesError> {
    RegexMatcherBuilder::new()
        .case_insensitive(!case_sensitive)
        .multi_line(true)
        .crlf(true)
        // After `crlf`, which would set another: `\r` before it belongs to the line.
        .line_terminator(Some(b'\n'))
        .size_limit(MAX_COMPILED_BYTES)
        .dfa_size_limit(MAX_COMPILED_BYTES)
        .nest_limit(MAX_NESTING)
        .build(pattern)
        .map_err(|error| FilesError::Pattern { reason: reason(&error.to_string()) })
}

/// The parser draws the pattern with carets below it over several lines; what it says about it comes last.
fn reason(message: &str) -> String {
    message.rsplit_once("error: ").map_or(message, |(_, reason)| reason).trim().to_owned()
}

/// A line without its end, at most `MAX_LINE_BYTES` of it.
fn clip(line: &str) -> String {
    let line = line.strip_suffix('\n').unwrap_or(line);
    let line = line.strip_suffix('\r').unwrap_or(line);
    if line.len() <= MAX_LINE_BYTES {
        return line.to_owned();
    }
    let end = line.floor_char_boundary(MAX_LINE_BYTES);
    format!("{}...", line.get(..end).unwrap_or_default())
}

#[cfg(test)]
mod tests;
