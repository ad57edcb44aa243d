//! `codemoded reload`: has the service manager reload the running daemon, or asks it directly, and tells what came of it.
//!
//! To the service manager the daemon says so itself, in its status line (`ReloadState::status`).

use std::io;
use std::path::PathBuf;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use clap::Args;

use crate::daemon::NEXT_LINE;
use crate::unit::{NAME, SYSTEMCTL};

/// Longer than everything in a build that can be given up.
const PATIENCE: Duration = Duration::from_secs(60);
const LOOK_EVERY: Duration = Duration::from_millis(50);

#[derive(Debug, Args)]
pub(super) struct Reload {
    /// The daemon's unit.
    #[arg(long, value_name = "NAME", default_value = NAME)]
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
                false => Ok(format!("{}{} serves\n", now.told, now.generation)),
                true => Err(ReloadFault::Failed(format!("{}{} goes on", now.told, now.generation))),
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
    /// Whether the last one did.
    failed: bool,
    /// What there is to say of it: a line for each reason or note, and its end.
    told: String,
}

impl Status {
    fn of(unit: &str) -> Result<Self, ReloadFault> {
        Ok(Self::read(&ask(&["show", "--property=StatusText", "--value", unit])?))
    }

    fn read(line: &str) -> Self {
        let (generation, rest) = line.trim().split_once("; reload ").unwrap_or((line.trim(), ""));
        let (reload, outcome) = rest.split_once(' ').unwrap_or((rest, ""));
        let (outcome, lines) = outcome.split_once(": ").unwrap_or((outcome, ""));
        let told = lines.split(NEXT_LINE).filter(|line| !line.is_empty()).map(|line| format!("{line}\n")).collect();
        let failed = outcome == "failed";
        Self { generation: generation.to_owned(), reload: reload.parse().unwrap_or_default(), failed, told }
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
