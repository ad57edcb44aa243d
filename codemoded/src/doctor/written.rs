//! Whether the audit could be written.

use std::path::Path;

use rustix::fs::{Access, AtFlags, CWD, accessat};

use super::Finding;
use crate::audit::Destination;

/// Where the journal takes lines.
const JOURNAL: &str = "/run/systemd/journal/socket";

pub(super) fn finding(to: &Destination) -> Finding {
    let what = "audit";
    match to {
        Destination::Off => Finding::ok(what, "off: nothing is kept of who called what"),
        Destination::Stdout => Finding::ok(what, "to standard output"),
        Destination::Journald if Path::new(JOURNAL).exists() => Finding::ok(what, "to the journal"),
        Destination::Journald => {
            let mend = "run systemd-journald, let the container have its socket, or audit to a file";
            Finding::fault(what, format!("there is no journal at `{JOURNAL}`"), mend)
        }
        Destination::File(path) => file(what, path),
    }
}

/// A file that is not there yet is made in its folder.
fn file(what: &str, path: &Path) -> Finding {
    let folder = path.parent().unwrap_or(Path::new("/"));
    let (shown, place) = (path.display(), folder.display());
    if path.is_dir() {
        return Finding::fault(what, format!("`{shown}` is a folder"), "write the path of a file into `audit.to`");
    }
    if !folder.is_dir() {
        let mend = format!("create `{place}` for the daemon's user, such as by `LogsDirectory=`");
        return Finding::fault(what, format!("there is no folder `{place}` for the file"), mend);
    }
    let (needed, rights) = match path.exists() {
        true => (path, Access::WRITE_OK),
        false => (folder, Access::WRITE_OK | Access::EXEC_OK),
    };
    match accessat(CWD, needed, rights, AtFlags::EACCESS) {
        Ok(()) => Finding::ok(what, format!("to `{shown}`")),
        Err(error) => {
            let mend = format!("let the daemon's user write `{}`", needed.display());
            Finding::fault(what, format!("`{shown}` cannot be written: {error}"), mend)
        }
    }
}
