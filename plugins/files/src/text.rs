//! Reads a whole file as text, where it is a regular, UTF-8 one of bounded size.

use std::io::{self, Read};

use cap_std::fs::{Dir, File, Metadata, OpenOptions, OpenOptionsExt};
use rustix::fs::OFlags;

/// What was found in place of, or as, text.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Loaded {
    Text(String),
    /// It holds a NUL or is no UTF-8.
    Binary,
    /// It has this many bytes, or had when it was last asked.
    Oversized(u64),
    Folder,
    /// A pipe, a device, a socket.
    Special,
}

pub(crate) fn load(dir: &Dir, path: &str, max_bytes: u64) -> io::Result<Loaded> {
    // Merely opening a device can have an effect, so the first look is from outside.
    if let Some(refused) = refusal(&dir.metadata(path)?, max_bytes) {
        return Ok(refused);
    }
    let file = dir.open_with(path, &options())?;
    match refusal(&file.metadata()?, max_bytes) {
        Some(refused) => Ok(refused),
        None => read(file, max_bytes),
    }
}

/// The file may have become a pipe since it was looked at: opening it must not wait for a writer.
fn options() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.read(true).custom_flags((OFlags::NONBLOCK | OFlags::NOCTTY).bits().cast_signed());
    options
}

fn refusal(metadata: &Metadata, max_bytes: u64) -> Option<Loaded> {
    if metadata.is_dir() {
        Some(Loaded::Folder)
    } else if !metadata.is_file() {
        Some(Loaded::Special)
    } else if metadata.len() > max_bytes {
        Some(Loaded::Oversized(metadata.len()))
    } else {
        None
    }
}

fn read(file: File, max_bytes: u64) -> io::Result<Loaded> {
    let mut bytes = Vec::new();
    // One more than allowed shows that the file grew while it was read.
    let count = file.take(max_bytes.saturating_add(1)).read_to_end(&mut bytes)? as u64;
    if count > max_bytes {
        return Ok(Loaded::Oversized(count));
    }
    Ok(match String::from_utf8(bytes) {
        Ok(text) if !text.contains('\0') => Loaded::Text(text),
        Ok(_) | Err(_) => Loaded::Binary,
    })
}
