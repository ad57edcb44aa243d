//! The bytes of a library, in a sealed memory file.
//!
//! A library that is mapped from its own file kills the daemon when somebody overwrites that file. So a library is
//! read once, checked for who could have written it, and mapped from a copy that nobody can change. The copy is known
//! by its content. Once loaded it is kept for ever, for the dynamic linker knows a library by its path, here
//! `/proc/self/fd/N`: a number that came to mean another file would be taken for the old library.

use std::fs::{self, File, Metadata};
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rustix::fs::{MemfdFlags, Mode, OFlags};
use sha2::{Digest as _, Sha256};

use super::fault::{Exposure, Reason};
use crate::sealed;

/// The SHA-256 of a library's bytes.
pub(super) type Digest = [u8; 32];

/// The most bytes of a library; real ones have some tens of millions.
pub(super) const MAX_BYTES: u64 = 1 << 30;

/// How much of it is read at a time.
const PIECE_BYTES: usize = 64 << 10;

#[derive(Debug)]
pub(super) struct Image {
    digest: Digest,
    memory: OwnedFd,
}

/// Who but root and the daemon's user could have written a file.
fn exposure(path: &Path, metadata: &Metadata) -> io::Result<Option<Exposure>> {
    let user = User::of_this_process();
    if let Err(exposed) = user.refuse_others_file(path, metadata) {
        return Ok(Some(exposed));
    }
    // Where the path is a link, both the link and what it names could be exchanged.
    for path in [path.to_owned(), fs::canonicalize(path)?] {
        let folder = match path.parent() {
            Some(folder) if !folder.as_os_str().is_empty() => folder.to_owned(),
            Some(_) | None => PathBuf::from("."),
        };
        if let Err(exposed) = user.refuse_others_folder(&folder, &fs::metadata(&folder)?) {
            return Ok(Some(exposed));
        }
    }
    Ok(None)
}

impl Image {
    /// The copy of a file that only root and the daemon's user could have written.
    pub(super) fn of(path: &Path) -> Result<Self, Reason> {
        let (image, exposed) = Self::of_anyones(path)?;
        exposed.map_or(Ok(image), |exposed| Err(Reason::Exposed(exposed)))
    }

    /// The same of a file that is only looked at, and who else could have written it.
    pub(super) fn of_anyones(path: &Path) -> Result<(Self, Option<Exposure>), Reason> {
        let unreadable = |error: io::Error| match error.kind() {
            io::ErrorKind::NotFound => Reason::Missing,
            _ => Reason::Unreadable(error.to_string()),
        };
        // Without O_NONBLOCK a named pipe would be waited for.
        let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK;
        let file = File::from(rustix::fs::open(path, flags, Mode::empty()).map_err(|e| unreadable(e.into()))?);
        let metadata = file.metadata().map_err(unreadable)?;
        if !metadata.is_file() {
            return Err(Reason::NoFile);
        }
        if metadata.len() > MAX_BYTES {
            return Err(Reason::TooLarge(metadata.len()));
        }
        let exposed = exposure(path, &metadata).map_err(unreadable)?;
        Ok((Self::copy(file.take(MAX_BYTES), unreadable)?, exposed))
    }

    /// Copies and seals. What is hashed is what was copied, whatever becomes of the file meanwhile.
    fn copy(mut from: impl Read, unreadable: impl Fn(io::Error) -> Reason) -> Result<Self, Reason> {
        let uncopied = |error: io::Error| Reason::NoCopy(error.to_string());
        let mut memory = File::from(executable_memory().map_err(uncopied)?);
        let mut hash = Sha256::new();
        let mut piece = vec![0; PIECE_BYTES];
        loop {
            let length = from.read(&mut piece).map_err(&unreadable)?;
            let Some(read) = piece.get(..length).filter(|read| !read.is_empty()) else { break };
            hash.update(read);
            memory.write_all(read).map_err(uncopied)?;
        }
        Ok(Self { digest: hash.finalize().into(), memory: sealed::seal(memory).map_err(uncopied)? })
    }

    /// A sealed file that a parent process handed over.
    pub(super) fn received(memory: OwnedFd) -> Self {
        Self { digest: Digest::default(), memory }
    }

    pub(super) fn digest(&self) -> &Digest {
        &self.digest
    }

    /// The path by which this process can load it.
    pub(super) fn path(&self) -> PathBuf {
        format!("/proc/self/fd/{}", self.memory.as_raw_fd()).into()
    }
}

impl AsFd for Image {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.memory.as_fd()
    }
}

fn executable_memory() -> io::Result<OwnedFd> {
    let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
    match rustix::fs::memfd_create("codemode-plugin", flags | MemfdFlags::EXEC) {
        // Before Linux 6.3 every memory file is executable, and the flag unknown.
        Err(rustix::io::Errno::INVAL) => Ok(rustix::fs::memfd_create("codemode-plugin", flags)?),
        created => Ok(created?),
    }
}

/// The daemon's user, and the group that is nobody else's as far as this machine's tables say.
struct User {
    id: u32,
    private_group: Option<u32>,
}

impl User {
    fn of_this_process() -> Self {
        let id = rustix::process::geteuid().as_raw();
        let group = rustix::process::getegid().as_raw();
        // Where each user has a group of the same number, files are group-writable by default.
        let is_private = || {
            let table = fs::read_to_string;
            table("/etc/group").is_ok_and(|groups| has_no_members(&groups, group))
                && table("/etc/passwd").is_ok_and(|users| is_first_of_no_other(&users, group, id))
        };
        let private = group == id && is_private();
        Self { id, private_group: private.then_some(group) }
    }

    fn refuse_others_file(&self, path: &Path, metadata: &Metadata) -> Result<(), Exposure> {
        if !self.is_owner(metadata.uid()) {
            return Err(Exposure::FileOwner { path: path.to_owned(), owner: metadata.uid(), user: self.id });
        }
        if self.others_may_write(metadata.mode(), metadata.gid()) {
            return Err(Exposure::FileMode(path.to_owned()));
        }
        Ok(())
    }

    fn refuse_others_folder(&self, path: &Path, metadata: &Metadata) -> Result<(), Exposure> {
        if !self.is_owner(metadata.uid()) {
            return Err(Exposure::FolderOwner { path: path.to_owned(), owner: metadata.uid(), user: self.id });
        }
        if self.others_may_write(metadata.mode(), metadata.gid()) {
            return Err(Exposure::FolderMode(path.to_owned()));
        }
        Ok(())
    }

    fn is_owner(&self, owner: u32) -> bool {
        owner == 0 || owner == self.id
    }

    fn others_may_write(&self, mode: u32, group: u32) -> bool {
        mode & 0o002 != 0 || (mode & 0o020 != 0 && self.private_group != Some(group))
    }
}

/// Whether `/etc/passwd` gives the group to no user but this one as the first; such a user is in no list of members.
fn is_first_of_no_other(users: &str, group: u32, user: u32) -> bool {
    users.lines().all(|line| {
        let mut fields = line.split(':').skip(2).map(str::parse::<u32>);
        let (id, first) = (fields.next(), fields.next());
        first != Some(Ok(group)) || id == Some(Ok(user))
    })
}

/// Whether `/etc/group` lists the group and nobody in it.
fn has_no_members(groups: &str, group: u32) -> bool {
    groups.lines().any(|line| {
        let mut fields = line.split(':').skip(2);
        fields.next().is_some_and(|id| id.parse() == Ok(group))
            && fields.next().is_some_and(|members| members.is_empty())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALONE: User = User { id: 1000, private_group: Some(1000) };
    const SHARED: User = User { id: 1000, private_group: None };

    #[track_caller]
    fn check(user: &User, mode: u32, group: u32, expected: bool) {
        assert_eq!(user.others_may_write(mode, group), expected, "{mode:o}");
    }

    #[test]
    fn a_private_group_counts_as_its_user() {
        check(&ALONE, 0o100_775, 1000, false);
        check(&SHARED, 0o100_775, 1000, true);
        check(&ALONE, 0o100_775, 50, true);
    }

    #[test]
    fn a_copy_cannot_be_changed_by_anyone() {
        let bytes: Vec<u8> = (0..=u8::MAX).cycle().take(2 * PIECE_BYTES + 1).collect();
        let image = Image::copy(&*bytes, |error| Reason::Unreadable(error.to_string())).unwrap();
        assert_eq!(*image.digest(), Digest::from(Sha256::digest(&bytes)));
        let mut file = File::options().write(true).open(image.path()).unwrap();
        assert_eq!(file.write(b"x").unwrap_err().kind(), io::ErrorKind::PermissionDenied);
        assert_eq!(file.set_len(0).unwrap_err().kind(), io::ErrorKind::PermissionDenied);
        assert_eq!(fs::read(image.path()).unwrap(), bytes);
    }

    #[test]
    fn the_world_is_others() {
        check(&ALONE, 0o100_757, 1000, true);
        check(&SHARED, 0o100_755, 1000, false);
    }

    #[test]
    fn a_group_is_private_only_where_nobody_is_in_it() {
        let groups = "root:x:0:\nann:x:1000:\nbob:x:1001:ann\n";
        assert!(has_no_members(groups, 1000));
        assert!(!has_no_members(groups, 1001));
        assert!(!has_no_members(groups, 1002));
        let users =
            "root:x:0:0::/:\nann:x:1000:1000::/:\nann2:x:1000:1000::/:\nbob:x:1001:1001::/:\ncat:x:1002:1001::/:\n";
        assert!(is_first_of_no_other(users, 1000, 1000));
        assert!(!is_first_of_no_other(users, 1001, 1001));
        assert!(is_first_of_no_other(users, 1003, 1003));
    }
}
