//! The catalog as a worker sees it: names and input schemas, in one sealed memory file that every worker maps.
//!
//! It is written once per generation. A worker decodes nothing up front: it finds a name by binary search and
//! compiles that one schema on first use, so a run costs the same with ten capabilities and with twenty thousand.
//!
//! Layout, little-endian: magic, `u32` count, then per capability (in byte order of the names) four `u32`: where its
//! name starts and how long it is, where its schema starts and how long it is; then the texts. A capability's
//! position is its number in the protocol.

use std::io;
use std::ops::Range;
use std::os::fd::OwnedFd;

use crate::sealed;

/// Opens every manifest of this layout.
const MAGIC: [u8; 8] = *b"cmcat\0\0\x01";
const HEADER_BYTES: usize = 12;
const ENTRY_BYTES: usize = 16;

/// A mapped manifest.
#[derive(Clone, Copy, Debug)]
pub struct Manifest<'a> {
    bytes: &'a [u8],
    count: usize,
}

/// One capability of a manifest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry<'a> {
    /// The capability's number in the protocol.
    pub number: u32,
    pub name: &'a str,
    /// JSON text of the input schema.
    pub schema: &'a str,
}

/// The bytes are no manifest, or too large to be one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the catalog's map is damaged or too large")]
pub struct ManifestError;

/// Writes a manifest of names, which must be in ascending byte order, and their input schemas.
pub fn write(entries: &[(&str, &str)]) -> Result<Vec<u8>, ManifestError> {
    let count = entries.len();
    let number = |value: usize| u32::try_from(value).map_err(|_| ManifestError);
    let mut table = Vec::with_capacity(HEADER_BYTES + count * ENTRY_BYTES);
    table.extend_from_slice(&MAGIC);
    table.extend_from_slice(&number(count)?.to_le_bytes());
    let mut texts = Vec::new();
    let start = HEADER_BYTES + count * ENTRY_BYTES;
    for &(name, schema) in entries {
        for text in [name, schema] {
            table.extend_from_slice(&number(start + texts.len())?.to_le_bytes());
            table.extend_from_slice(&number(text.len())?.to_le_bytes());
            texts.extend_from_slice(text.as_bytes());
        }
    }
    table.append(&mut texts);
    Ok(table)
}

/// Puts a manifest into a memory file that nobody can change any more.
pub fn seal(manifest: &[u8]) -> io::Result<OwnedFd> {
    sealed::file("codemoded-catalog", manifest)
}

impl<'a> Manifest<'a> {
    pub fn new(bytes: &'a [u8]) -> Result<Self, ManifestError> {
        let (magic, rest) = bytes.split_first_chunk::<8>().ok_or(ManifestError)?;
        let (count, _) = rest.split_first_chunk::<4>().ok_or(ManifestError)?;
        let count = u32::from_le_bytes(*count) as usize;
        let complete = bytes.len() >= count.saturating_mul(ENTRY_BYTES).saturating_add(HEADER_BYTES);
        if *magic == MAGIC && complete { Ok(Self { bytes, count }) } else { Err(ManifestError) }
    }

    pub fn len(&self) -> usize {
        self.count
    }

    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// The capability of that exact name.
    pub fn find(&self, name: &str) -> Option<Entry<'a>> {
        let number = self.first_not_below(name);
        let entry = self.entry(number)?;
        (entry.name == name).then_some(entry)
    }

    /// Whether some capability's name starts with these segments and goes on.
    pub fn is_namespace(&self, prefix: &str) -> bool {
        let first = self.first_not_below(&format!("{prefix}."));
        self.name(first).is_some_and(|name| is_below(name, prefix))
    }

    /// The numbers of the capabilities whose names start with these segments and go on.
    pub fn below(&self, prefix: &str) -> Range<usize> {
        // `/` is the byte after `.`.
        self.first_not_below(&format!("{prefix}."))..self.first_not_below(&format!("{prefix}/"))
    }

    /// The distinct next segments below a prefix, in order; the roots where the prefix is empty.
    pub fn segments(&self, prefix: &str) -> Vec<&'a str> {
        let skip = if prefix.is_empty() { 0 } else { prefix.len() + 1 };
        let mut segments = Vec::new();
        let mut next = if prefix.is_empty() { 0 } else { self.first_not_below(&format!("{prefix}.")) };
        while let Some(name) = self.name(next) {
            let Some(rest) = name.get(skip..).filter(|_| is_below(name, prefix)) else { break };
            let segment = rest.split('.').next().unwrap_or(rest);
            segments.push(segment);
            // The first byte after `.` bounds everything below this segment.
            let end = name.get(..skip + segment.len()).unwrap_or(name);
            next = self.first_not_below(&format!("{end}/")).max(next + 1);
        }
        segments
    }

    fn first_not_below(&self, name: &str) -> usize {
        let (mut low, mut high) = (0, self.count);
        while low < high {
            let middle = low + (high - low) / 2;
            match self.name(middle) {
                Some(found) if found < name => low = middle + 1,
                Some(_) | None => high = middle,
            }
        }
        low
    }

    fn entry(&self, number: usize) -> Option<Entry<'a>> {
        let at = HEADER_BYTES + number * ENTRY_BYTES;
        Some(Entry {
            number: u32::try_from(number).ok()?,
            name: self.name(number)?,
            schema: self.text(self.number(at + 8)?, self.number(at + 12)?)?,
        })
    }

    fn name(&self, number: usize) -> Option<&'a str> {
        if number >= self.count {
            return None;
        }
        let at = HEADER_BYTES + number * ENTRY_BYTES;
        self.text(self.number(at)?, self.number(at + 4)?)
    }

    fn number(&self, at: usize) -> Option<usize> {
        let (number, _) = self.bytes.get(at..)?.split_first_chunk::<4>()?;
        Some(u32::from_le_bytes(*number) as usize)
    }

    fn text(&self, start: usize, length: usize) -> Option<&'a str> {
        let bytes = self.bytes.get(start..start.checked_add(length)?)?;
        std::str::from_utf8(bytes).ok()
    }
}

fn is_below(name: &str, prefix: &str) -> bool {
    prefix.is_empty() || name.strip_prefix(prefix).is_some_and(|rest| rest.starts_with('.'))
}
