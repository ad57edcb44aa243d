//! `codemoded reload`: has the service manager reload the running daemon, or asks it directly, and tells what came of it.
//!
//! To the service manager the daemon says so itself, in its status line (`ReloadState::status`).

use std::io;
use std::path::PathBuf;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use clap::Args;

use crate::daemon::NEXT_REASON;

/// The program that asks systemd.
const SYSTEMCTL: &str = "systemctl";

/// Longer than everything in a build that can be given up.
const PATIENCE: Duration = Duration::from_secs(60);
const LOOK_EVERY: Duration = Duration::from_millis(50);

#[derive(Debug, Args)]
pub(super) struct Reload {
    /// The daemon's unit.
    #[arg(long, value_name = "NAME", default_value = "codemoded.service")]
    unit: String,
    /// Asks the daemon itself instead, at its Unix socket for administration. For root and the daemon's own user.
    #[arg(long, value_name = "PATH", conflicts_with = "unit")]
    pub(super) socket: Option<PathBuf>,
}

/// Why there is no new generation.
#[derive(Debug, thiserror::Error)]
pub(super) enum ReloadFault {
    #[error("cannot run `{SYSTEMCTL}`; without systemd, say --socket, or send the daemon SIGHUP and read its log")]
    NoManager(#[source] io::Error),
    #[error("`{SYSTEMCTL} {command}` failed: {said}")]
    Refused { command: String, said: String },
    #[error("the daemon has not told within {} seconds how the reload ended; its log does", PATIENCE.as_secs())]
    Silent,
    /// One line each.
    #[error("{0}")]
    Failed(String),
}

/// What the command prints.
pub(super) fn carry_out(command: &Reload) -> Result<String, ReloadFault> {
    let unit = command.unit.as_str();
    let before = Status::of(unit)?.reload;
    ask(&["reload", unit])?;
    let patience = Instant::now() + PATIENCE;
    loop {
        let now = Status::of(unit)?;
        if now.reload > before {
            return match now.failed {
                None => Ok(format!("{} serves\n", now.generation)),
                Some(reasons) => Err(ReloadFault::Failed(format!("{reasons}\n{} goes on", now.generation))),
            };
        }
        if Instant::now() >= patience {
            return Err(ReloadFault::Silent);
        }
        thread::sleep(LOOK_EVERY);
    }
}

/// The daemon's status line, read.
#[derive(Debug, PartialEq, Eq)]
struct Status {
    generation: String,
    /// How many reloads have ended.
    reload: u64,
    /// One line for each reason, where the last one failed.
    failed: Option<String>,
}

impl Status {
    fn of(unit: &str) -> Result<Self, ReloadFault> {
        Ok(Self::read(&ask(&["show", "--property=StatusText", "--value", unit])?))
    }

    fn read(line: &str) -> Self {
        let (generation, rest) = line.trim().split_once("; reload ").unwrap_or((line.trim(), ""));
        let (reload, outcome) = rest.split_once(' ').unwrap_or((rest, ""));
        let failed = outcome.strip_prefix("failed: ").map(|reasons| reasons.replace(NEXT_REASON, "\n"));
        Self { generation: generation.to_owned(), reload: reload.parse().unwrap_or_default(), failed }
    }
}

fn ask(arguments: &[&str]) -> Result<String, ReloadFault> {
    let done = Command::new(SYSTEMCTL).args(arguments).output().map_err(ReloadFault::NoManager)?;
    match done.status.success() {
        true => Ok(String::from_utf8_lossy(&done.stdout).into_owned()),
        false => Err(ReloadFault::Refused {
            command: arguments.join(" "),
            said: String::from_utf8_lossy(&done.stderr).trim().replace('\n', "; "),
        }),
    }
}
