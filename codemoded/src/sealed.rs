//! Files in memory that nobody can change any more.

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::OwnedFd;
use std::thread;
use std::time::Duration;

use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, memfd_create};
use rustix::io::Errno;

/// How often, and how far apart, a busy file is tried; the kernel waits up to some 150 ms each time besides.
const ATTEMPTS: u32 = 20;
const PAUSE: Duration = Duration::from_millis(50);

/// A sealed file of these bytes.
pub(crate) fn file(name: &str, bytes: &[u8]) -> io::Result<OwnedFd> {
    let mut file = File::from(memfd_create(name, MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING)?);
    file.write_all(bytes)?;
    seal(file)
}

/// Seals a memory file for good: its bytes, its size and its seals.
pub(crate) fn seal(file: File) -> io::Result<OwnedFd> {
    let seals = SealFlags::WRITE | SealFlags::SHRINK | SealFlags::GROW | SealFlags::SEAL;
    for _ in 1..ATTEMPTS {
        match fcntl_add_seals(&file, seals) {
            // The kernel itself holds on to a page for a moment, as when it looks for memory to reclaim.
            Err(Errno::BUSY) => thread::sleep(PAUSE),
            Err(error) => return Err(error.into()),
            Ok(()) => return Ok(file.into()),
        }
    }
    fcntl_add_seals(&file, seals)?;
    Ok(file.into())
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Seek, SeekFrom};

    use rustix::pipe::{SpliceFlags, splice};

    use super::*;

    #[test]
    fn a_sealed_file_has_its_bytes_and_keeps_them() -> io::Result<()> {
        let mut file = File::from(file("tried", b"as it was")?);
        let mut text = String::new();
        file.seek(SeekFrom::Start(0))?;
        file.read_to_string(&mut text)?;
        assert_eq!(text, "as it was");
        file.seek(SeekFrom::Start(0))?;
        assert_eq!(file.write_all(b"x").map_err(|error| error.kind()), Err(io::ErrorKind::PermissionDenied));
        assert!(file.set_len(0).is_err() && file.set_len(100).is_err());
        Ok(())
    }

    #[test]
    fn a_file_that_is_busy_for_a_moment_is_sealed_after_it() -> io::Result<()> {
        let mut file = File::from(memfd_create("tried", MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING)?);
        file.write_all(b"as it was")?;
        // A pipe that is given a page of a file holds on to that page.
        let (reader, writer) = rustix::pipe::pipe()?;
        assert_eq!(splice(&file, Some(&mut 0), &writer, None, 9, SpliceFlags::empty())?, 9);
        assert_eq!(fcntl_add_seals(&file, SealFlags::WRITE), Err(Errno::BUSY));
        let sealing = thread::spawn(move || seal(file));
        thread::sleep(2 * PAUSE);
        File::from(reader).read_exact(&mut [0; 9])?;
        let sealed = sealing.join().map_err(|_| io::Error::other("sealing panicked"))??;
        assert!(rustix::fs::fcntl_get_seals(&sealed)?.contains(SealFlags::WRITE | SealFlags::SEAL));
        Ok(())
    }
}
