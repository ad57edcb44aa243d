//! The number of a group of users.

use std::fs;

use super::fault::Problem;

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
