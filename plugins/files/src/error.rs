//! Why a capability of this plugin gives no answer.

use std::io;

use rustix::io::Errno;

use crate::path::{PathError, RelativePath};

/// All but the last two are something the calling program can mend; their texts reach it, so they name paths relative
/// to a root only.
#[derive(Debug, thiserror::Error)]
pub(crate) enum FilesError {
    #[error("no root is named `{name}`; the roots are {known}")]
    UnknownRoot { name: String, known: String },
    #[error("argument `root` is needed; the roots are {known}")]
    RootNeeded { known: String },
    #[error(transparent)]
    Path(#[from] PathError),
    #[error("`{path}` does not exist")]
    Missing { path: String },
    #[error("`{path}` leads outside of its root")]
    Outside { path: String },
    #[error("`{path}` is not readable")]
    Unreadable { path: String },
    #[error("`{path}` is a folder, not a file")]
    Folder { path: String },
    #[error("`{path}` is not a folder")]
    NotFolder { path: String },
    #[error("`{path}` is not a regular file")]
    NotRegular { path: String },
    #[error("`{path}` is a binary file; only UTF-8 text can be read")]
    Binary { path: String },
    #[error("`{path}` has {bytes} bytes, more than may be read from one file")]
    Oversized { path: String, bytes: u64 },
    #[error("`end_line` {end} is before `start_line` {start}")]
    EmptyRange { start: u64, end: u64 },
    #[error("`start_line` {start} is past the end: `{path}` has {total} lines")]
    PastEnd { path: String, start: u64, total: u64 },
    #[error("invalid glob `{glob}`: {reason}")]
    Glob { glob: String, reason: String },
    #[error("invalid regular expression: {reason}")]
    Pattern { reason: String },
    #[error("the call was cancelled")]
    Cancelled,
    #[error("the file system failed")]
    Io(#[source] io::Error),
}

impl FilesError {
    /// What went wrong with `path` where the file system said no.
    pub(crate) fn at(path: &RelativePath, error: io::Error) -> Self {
        let path = path.to_string();
        match error.kind() {
            io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => Self::Missing { path },
            // The operating system's own refusals carry a code; the root's do not.
            io::ErrorKind::PermissionDenied if error.raw_os_error().is_none() => Self::Outside { path },
            io::ErrorKind::PermissionDenied | io::ErrorKind::InvalidFilename | io::ErrorKind::InvalidInput => {
                Self::Unreadable { path }
            }
            // Links that lead to each other.
            _ if Errno::from_io_error(&error) == Some(Errno::LOOP) => Self::Unreadable { path },
            _ => Self::Io(error),
        }
    }
}
