//! Who could read or write a file that says who callers are.

use std::os::unix::fs::MetadataExt;
use std::path::Path;

use rustix::process::geteuid;

use super::Finding;

/// Whether knowing the file is as good as being somebody else.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Holds {
    Secrets,
    /// Digests of secrets, or public keys.
    Proofs,
}

pub(super) fn finding(what: &str, path: &Path, holds: Holds) -> Finding {
    let shown = path.display();
    let found = match path.metadata() {
        Ok(found) => found,
        Err(error) => {
            let mend = format!("let the daemon's user read `{shown}`");
            return Finding::fault(what, format!("`{shown}` cannot be read: {error}"), mend);
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
    if holds == Holds::Secrets && mode & 0o004 != 0 {
        let mend = format!("`chmod o-r {shown}`");
        return Finding::warning(what, format!("`{shown}` may be read by every user (mode {mode:04o})"), mend);
    }
    Finding::ok(what, format!("`{shown}`, mode {mode:04o}"))
}
