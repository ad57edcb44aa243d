//! Exit codes, as `sysexits.h` has them: what whoever started the command can do about it.

use std::io::ErrorKind;

use super::CommandError;
use super::audit::AuditError;
use super::policy::TrialError;
use super::reload::ReloadFault;
use super::running::RunningFault;
use crate::admin::client::AskError;
use crate::daemon::StartError;
use crate::doctor::Severity;

/// The command worked, and its answer is no.
const NO: u8 = 1;
pub(super) const USAGE: u8 = 64;
/// A file that an argument names cannot be used.
const NO_INPUT: u8 = 66;
/// Something that others hold: an address in use, a service manager that does not answer.
const UNAVAILABLE: u8 = 69;
/// The daemon's own fault: no program runs.
const SOFTWARE: u8 = 70;
/// The operating system gives no thread.
const OS: u8 = 71;
/// A file cannot be written.
const CANT_CREATE: u8 = 73;
const IO: u8 = 74;
/// Somebody else may, such as root.
const NO_PERMISSION: u8 = 77;
/// The configuration, or something that it names, cannot be used.
const CONFIG: u8 = 78;

pub(super) fn code(error: &CommandError) -> u8 {
    match error {
        CommandError::Config(_)
        | CommandError::NoPlace { .. }
        | CommandError::Unwell(Severity::Fault)
        | CommandError::Trial(TrialError::Folder(..)) => CONFIG,
        CommandError::Start(error) => of_start(error),
        CommandError::NoSubject
        | CommandError::TwoBefore
        | CommandError::Subject(_)
        | CommandError::Token(_)
        | CommandError::Audit(AuditError::InTheJournal | AuditError::NoFile(_))
        | CommandError::Trial(TrialError::Argument(_) | TrialError::ArgumentTwice(_)) => USAGE,
        CommandError::Files(_)
        | CommandError::NoClaims(_)
        | CommandError::Claims { .. }
        | CommandError::Audit(AuditError::File(_) | AuditError::Read(..)) => NO_INPUT,
        CommandError::AsRoot { .. } => NO_PERMISSION,
        CommandError::Generate(_) | CommandError::NoAudit(_) => CANT_CREATE,
        CommandError::Plugin(error) => error.exit_code(),
        CommandError::Reload(ReloadFault::Failed(_)) => CONFIG,
        CommandError::Reload(_) => UNAVAILABLE,
        CommandError::Running(fault) => of_running(fault),
        CommandError::Runtime(_) | CommandError::NoSpans(_) => OS,
        CommandError::Write(_)
        | CommandError::Stdio(_)
        | CommandError::Log(_)
        | CommandError::Audit(AuditError::Write(_)) => IO,
        CommandError::Trial(TrialError::NoRules | TrialError::NoTests | TrialError::Failed { .. })
        | CommandError::Failed(_)
        | CommandError::Unwell(Severity::Ok | Severity::Warning) => NO,
    }
}

fn of_running(fault: &RunningFault) -> u8 {
    match fault {
        RunningFault::Config(_) | RunningFault::NoSocket | RunningFault::NotReloaded(_) => CONFIG,
        RunningFault::Runtime(_) => OS,
        RunningFault::Forbidden(_) => NO_PERMISSION,
        RunningFault::Ask(AskError::NoDaemon(_, cause)) if cause.kind() == ErrorKind::PermissionDenied => NO_PERMISSION,
        RunningFault::Ask(_) | RunningFault::Unexpected { .. } | RunningFault::NotUnderstood(_) => UNAVAILABLE,
    }
}

fn of_start(error: &StartError) -> u8 {
    match error {
        StartError::Listen(_) | StartError::Admin(_) => UNAVAILABLE,
        StartError::Spawner(_) => OS,
        StartError::Generation(_)
        | StartError::Panicked(_)
        | StartError::Probe(_)
        | StartError::WrongProbe
        | StartError::ProbeTime
        | StartError::NoDecision(_) => SOFTWARE,
        StartError::Several(faults) => faults.iter().map(of_start).max().unwrap_or(CONFIG),
        StartError::Plugins(_)
        | StartError::Catalog(_)
        | StartError::Policy(_)
        | StartError::Unwell { .. }
        | StartError::Sandbox(_)
        | StartError::Keys(_)
        | StartError::Tokens(_)
        | StartError::NoPlugin(_)
        | StartError::NoAuthenticator(_)
        | StartError::Audit(_)
        | StartError::OpenToAll { .. } => CONFIG,
    }
}
