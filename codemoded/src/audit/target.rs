//! Where lines go: a file that can be opened again, standard output, or the journal.

use std::fmt;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;

use super::journal::Journal;
use super::{AuditError, Destination};

/// Something that takes lines. A write may take less than it is given.
pub(super) trait Target: Write + fmt::Debug + Send {
    /// Opens it again by its name, and tells whether it has one.
    fn reopen(&mut self) -> io::Result<bool> {
        Ok(false)
    }
}

/// A file by its name, appended to.
#[derive(Debug)]
struct Named {
    path: PathBuf,
    file: File,
}

pub(super) fn open(to: &Destination, stdout: File) -> Result<Option<Box<dyn Target>>, AuditError> {
    Ok(match to {
        Destination::Off => None,
        Destination::File(path) => {
            let file = append(path).map_err(|cause| AuditError::File(path.clone(), cause))?;
            Some(Box::new(Named { path: path.clone(), file }))
        }
        Destination::Journald => Some(Box::new(Journal::open().map_err(AuditError::Journal)?)),
        Destination::Stdout => Some(Box::new(stdout)),
    })
}

/// A new file is its owner's alone. One that is a pipe is opened only where somebody reads, for the start would wait.
fn append(path: &Path) -> io::Result<File> {
    let nonblocking = i32::try_from(OFlags::NONBLOCK.bits()).unwrap_or_default();
    let file = OpenOptions::new().append(true).create(true).mode(0o600).custom_flags(nonblocking).open(path)?;
    rustix::fs::fcntl_setfl(&file, OFlags::APPEND)?;
    Ok(file)
}

impl Target for Named {
    fn reopen(&mut self) -> io::Result<bool> {
        self.file = append(&self.path)?;
        Ok(true)
    }
}

impl Write for Named {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl Target for File {}

impl Target for Journal {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_has_a_name_is_opened_again() {
        let folder = tempfile::tempdir().unwrap();
        let rows = [(Destination::Stdout, false), (Destination::File(folder.path().join("audit.jsonl")), true)];
        for (to, is_reopened) in rows {
            let mut target = open(&to, tempfile::tempfile().unwrap()).unwrap().unwrap();
            assert_eq!(target.reopen().unwrap(), is_reopened, "{to:?}");
        }
    }
}
