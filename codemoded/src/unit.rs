//! The systemd unit that serves a configuration, as far as a command beside it must know (`systemctl(1)`,
//! `systemd.exec(5)`).

use std::path::Path;
use std::process::Command;

/// The program that asks systemd.
pub const SYSTEMCTL: &str = "systemctl";
pub const NAME: &str = "codemoded.service";

/// What it has set itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unit {
    /// As whom the daemon runs, where it is not root.
    pub user: Option<String>,
    /// Whether there are no homes for it.
    pub hides_homes: bool,
    pub runs: bool,
}

/// Nothing where there is no systemd, or where the unit serves another configuration. Blocks meanwhile.
pub fn serving(config: &Path) -> Option<Unit> {
    let asked = ["User", "ProtectHome", "ActiveState", "ExecStart"].map(|name| format!("--property={name}"));
    let told = Command::new(SYSTEMCTL).arg("show").args(asked).arg(NAME).output().ok()?;
    read(&String::from_utf8_lossy(&told.stdout), config)
}

/// Who must do instead of root what starts plugins: what they make as root, the unit's own user could not write.
pub fn instead_of_root(config: &Path) -> Option<String> {
    if rustix::process::geteuid().is_root() { serving(config)?.user } else { None }
}

fn read(told: &str, config: &Path) -> Option<Unit> {
    let value = |name: &str| told.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix('='));
    let serves = value("ExecStart")?.split([' ', '=']).any(|word| Path::new(word) == config);
    let user = value("User").filter(|user| !["", "root", "0"].contains(user)).map(str::to_owned);
    let hides_homes = value("ProtectHome").is_some_and(|protects| ["yes", "tmpfs"].contains(&protects));
    let runs = value("ActiveState").is_some_and(|state| ["active", "reloading"].contains(&state));
    serves.then_some(Unit { user, hides_homes, runs })
}
