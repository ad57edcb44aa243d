//! Whether the audit could be written.

use std::path::Path;

use rustix::fs::{Access, AtFlags, CWD, accessat};

use super::Finding;
use crate::audit::Destination;

/// Where the journal takes lines.
const JOURNAL: &str = "/run/systemd/journal/socket";

pub(super) fn finding(to: &Destination) -> Finding {
    let what = "audit";
    if let Some((found, mend)) = no_place(to) {
        return Finding::fault(what, found, mend);
    }
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

/// Why a file of the audit cannot be there whoever writes it, and the mend.
pub fn no_place(to: &Destination) -> Option<(String, String)> {
    let Destination::File(path) = to else { return None };
    let place = folder(path).display();
    if path.is_dir() {
        let mend = "write the path of a file into `audit.to`";
        return Some((format!("`{}` is a folder", path.display()), mend.to_owned()));
    }
    let mend = || format!("create `{place}` for the daemon's user, such as by `LogsDirectory=`");
    (!folder(path).is_dir()).then(|| (format!("there is no folder `{place}` for the file"), mend()))
}

fn folder(path: &Path) -> &Path {
    path.parent().unwrap_or(Path::new("/"))
}

/// A file that is not there yet is made in its folder.
fn file(what: &str, path: &Path) -> Finding {
    let (folder, shown) = (folder(path), path.display());
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
