//! Who could read or write a file that says who callers are. Digests of secrets count as secrets: they name who calls.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use rustix::process::{getegid, geteuid};

use super::Finding;

pub(super) fn finding(what: &str, path: &Path) -> Finding {
    let shown = path.display();
    let found = match path.metadata() {
        Ok(found) => found,
        Err(error) => {
            return Finding::fault(what, format!("`{shown}` cannot be read: {error}"), readable_by_daemon(path));
        }
    };
    let user = geteuid().as_raw();
    let (mode, owner) = (found.mode() & 0o777, found.uid());
    if owner != 0 && owner != user {
        let mend = format!("`chown {user} {shown}`");
        return Finding::fault(what, format!("`{shown}` belongs to user {owner}, who could be anyone by it"), mend);
    }
    if mode & 0o022 != 0 {
        let mend = format!("`chmod go-w {shown}`");
        return Finding::fault(what, format!("`{shown}` may be written by others (mode {mode:04o})"), mend);
    }
    if mode & 0o004 != 0 {
        let mend = format!("`chmod o-r {shown}`");
        return Finding::warning(what, format!("`{shown}` may be read by every user (mode {mode:04o})"), mend);
    }
    Finding::ok(what, format!("`{shown}`, mode {mode:04o}"))
}

/// How root lets this user's group read a file, and nobody else.
pub(super) fn readable_by_daemon(path: &Path) -> String {
    let group = getegid().as_raw();
    let group = group_name(group).unwrap_or_else(|| group.to_string());
    format!("as root: `chown root:{group} {0}; chmod 640 {0}`", path.display())
}

/// By the system's own file, as a static binary can read no other directory.
fn group_name(number: u32) -> Option<String> {
    let text = fs::read_to_string("/etc/group").ok()?;
    text.lines().find_map(|line| {
        let mut fields = line.split(':');
        let name = fields.next()?;
        (fields.nth(1)?.parse::<u32>().ok() == Some(number)).then(|| name.to_owned())
    })
}
