//! The number of a group of users, and what it is for: who may connect to a socket.

use std::fs;

use super::fault::Problem;
use super::place::KeyPath;
use super::reading::Reading;
use super::server::{Permissions, SocketAccess};

const FILE: &str = "/etc/group";

/// A group's number, by its name in the system's own file, or by itself: other directories of users are asked by code
/// that a static binary does not have.
pub(super) fn number(name: &str) -> Result<u32, Problem> {
    if let Ok(number) = name.parse() {
        return Ok(number);
    }
    let text = fs::read_to_string(FILE).unwrap_or_default();
    let found = text.lines().find_map(|line| {
        let mut fields = line.split(':');
        let own = fields.next()? == name;
        own.then(|| fields.nth(1)?.parse().ok()).flatten()
    });
    found.ok_or_else(|| Problem::NoGroup { given: name.to_owned() })
}

/// Who may connect to a socket, as a section says it.
pub(super) fn socket(
    reading: &mut Reading,
    section: &KeyPath,
    mode: Option<Permissions>,
    group: Option<String>,
) -> SocketAccess {
    let group = group
        .and_then(|name| number(&name).map_err(|problem| reading.fault(section.key("socket_group"), problem)).ok());
    SocketAccess { mode: mode.map_or(SocketAccess::default().mode, |mode| mode.0), group }
}
