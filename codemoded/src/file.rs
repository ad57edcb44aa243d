//! A file that somebody named. Of a regular one no more is read than a bound; anything else may have no end, or hold up
//! whoever opens it, and is refused unless it is asked for as a stream.

use std::fs::{File, FileType};
use std::io::{self, Read};
use std::os::unix::fs::FileTypeExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags};

use crate::position::Position;

/// Why a file cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum FileFault {
    #[error("no file at `{}`", .0.display())]
    Missing(PathBuf),
    #[error("`{}` is {what}, no regular file", path.display())]
    NotRegular { path: PathBuf, what: &'static str },
    #[error("`{}` holds more than {max_bytes} bytes", path.display())]
    TooLarge { path: PathBuf, max_bytes: u64 },
    #[error("{}:{at}: not UTF-8", path.display())]
    NotText { path: PathBuf, at: Position },
    #[error("the user of this process may not read `{}`", path.display())]
    Forbidden { path: PathBuf, source: io::Error },
    #[error("cannot read `{}`", path.display())]
    Unreadable { path: PathBuf, source: io::Error },
}

/// Whether a regular file is there.
pub fn check(path: &Path) -> Result<(), FileFault> {
    let found = path.metadata().map_err(|cause| FileFault::of(path, cause))?;
    regular(path, found.file_type())
}

/// Opens a regular file.
pub fn open(path: &Path) -> Result<File, FileFault> {
    // Opening some devices does something, and opening a pipe waits.
    check(path)?;
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let file = rustix::fs::open(path, flags, Mode::empty()).map_err(|cause| FileFault::of(path, cause.into()))?;
    let file = File::from(file);
    // What was looked at need not be what was opened.
    let found = file.metadata().map_err(|cause| FileFault::of(path, cause))?;
    regular(path, found.file_type())?;
    Ok(file)
}

/// The whole of a regular file.
pub fn read(path: &Path, max_bytes: u64) -> Result<Vec<u8>, FileFault> {
    bounded(path, open(path)?, max_bytes)
}

/// The same of one that must be text.
pub fn read_text(path: &Path, max_bytes: u64) -> Result<String, FileFault> {
    text(path, read(path, max_bytes)?)
}

/// All that a stream gives up to its end: a pipe that a shell made, say, which is waited for.
pub fn read_stream(path: &Path, max_bytes: u64) -> Result<Vec<u8>, FileFault> {
    let file = File::open(path).map_err(|cause| FileFault::of(path, cause))?;
    match file.metadata() {
        Ok(found) if found.is_dir() => regular(path, found.file_type()).map(|()| Vec::new()),
        Ok(_) | Err(_) => bounded(path, file, max_bytes),
    }
}

/// All that a reader gives; `path` is what messages call it.
pub fn bounded(path: &Path, from: impl Read, max_bytes: u64) -> Result<Vec<u8>, FileFault> {
    let mut bytes = Vec::new();
    from.take(max_bytes.saturating_add(1)).read_to_end(&mut bytes).map_err(|cause| FileFault::of(path, cause))?;
    match u64::try_from(bytes.len()) {
        Ok(length) if length <= max_bytes => Ok(bytes),
        Ok(_) | Err(_) => Err(FileFault::TooLarge { path: path.to_owned(), max_bytes }),
    }
}

/// The bytes as text.
pub fn text(path: &Path, bytes: Vec<u8>) -> Result<String, FileFault> {
    String::from_utf8(bytes).map_err(|error| {
        let at = Position::in_bytes(error.as_bytes(), error.utf8_error().valid_up_to());
        FileFault::NotText { path: path.to_owned(), at }
    })
}

fn regular(path: &Path, found: FileType) -> Result<(), FileFault> {
    let what = match found {
        found if found.is_file() => return Ok(()),
        found if found.is_dir() => "a folder",
        found if found.is_fifo() => "a pipe",
        found if found.is_socket() => "a socket",
        found if found.is_block_device() || found.is_char_device() => "a device",
        _ => "something else",
    };
    Err(FileFault::NotRegular { path: path.to_owned(), what })
}

impl FileFault {
    fn of(path: &Path, source: io::Error) -> Self {
        let path = path.to_owned();
        match source.kind() {
            io::ErrorKind::NotFound => Self::Missing(path),
            io::ErrorKind::PermissionDenied => Self::Forbidden { path, source },
            _ => Self::Unreadable { path, source },
        }
    }
}
