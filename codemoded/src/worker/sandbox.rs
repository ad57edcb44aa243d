#![expect(unsafe_code, reason = "taking and closing descriptors by number cannot be checked by the compiler")]
//! What a worker gives up before it reads any byte of a program.
//!
//! It keeps its channel and its memory. No new privileges, no core, no trace of it for others of the same user, no
//! file, no socket, no process, no descriptor: seccomp allows the few calls that an interpreter and one stream need,
//! Landlock allows nothing, and resource limits stand behind both. A call outside the list kills the worker.

use std::collections::BTreeMap;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

use landlock::{ABI, Access, AccessFs, AccessNet, CompatLevel, Compatible, Ruleset, RulesetAttr, RulesetStatus, Scope};
use rustix::process::{
    DumpableBehavior, Pid, Resource, Signal, getppid, set_dumpable_behavior, set_parent_process_death_signal,
};
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule,
};

use super::protocol::{Budgets, Confinement};
use crate::rlimit;

/// Room in the address space beside what a program may allocate: the allocator's own waste.
const ADDRESS_SLACK_BYTES: u64 = 256 << 20;

/// Ready to be put on; building it takes longer than putting it on.
#[derive(Debug)]
pub(super) struct Sandbox {
    filter: Option<BpfProgram>,
    /// Bytes of address space that the prepared process, and whatever is forked from it, starts with.
    in_use: Option<u64>,
}

/// Ties this process's life to the daemon's; false where the daemon is gone already.
pub(super) fn die_with_parent(parent: u32) -> bool {
    let armed = set_parent_process_death_signal(Some(Signal::KILL)).is_ok();
    armed && getppid().map(Pid::as_raw_pid) == i32::try_from(parent).ok()
}

/// Where memory runs out, the kernel ends this process, and whatever is forked from it, before it ends the daemon.
pub(super) fn go_first() {
    // Where there is no `/proc`, size alone decides, and a program that takes much is the largest.
    let _ = std::fs::write("/proc/self/oom_score_adj", "1000");
}

/// The channel that this process was started with, as its standard input. Called once, before anything else reads it.
pub(super) fn take_channel() -> OwnedFd {
    // SAFETY: nothing owns standard input: a process starts that way, and whoever replaces its channel has just given
    // the number a new meaning.
    unsafe { OwnedFd::from_raw_fd(0) }
}

/// Makes a descriptor this process's channel, as if it had been started with it.
pub(super) fn replace_channel(channel: OwnedFd) -> io::Result<OwnedFd> {
    // SAFETY: the old standard input has been dropped by its owner; both numbers are plain descriptors.
    if unsafe { libc::dup2(channel.as_raw_fd(), 0) } != 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(take_channel())
}

/// Closes every descriptor but the channel.
pub(super) fn keep_only_channel() {
    // SAFETY: called where no live value owns a descriptor above standard input.
    unsafe { libc::close_range(1, u32::MAX, 0) };
}

impl Sandbox {
    pub(super) fn prepare() -> Self {
        Self { filter: filter().ok(), in_use: address_space_in_use().ok() }
    }

    /// Confines this process as far as the kernel allows, and says how far that is.
    pub(super) fn put_on(&self, budgets: &Budgets) -> Confinement {
        let privileges = rustix::thread::set_no_new_privs(true).is_ok();
        // Before the limits, for a ruleset is a descriptor.
        let landlock = forbid_files().unwrap_or(false);
        let hidden = set_dumpable_behavior(DumpableBehavior::NotDumpable).is_ok();
        let limits = self.in_use.is_some_and(|in_use| limit(in_use, budgets));
        // Last, for it forbids the calls above.
        let seccomp = self.filter.as_ref().is_some_and(|filter| seccompiler::apply_filter(filter).is_ok());
        Confinement { seccomp, landlock, limits: limits && hidden && privileges }
    }
}

/// Sets each limit that can be set, and says whether all could.
fn limit(in_use: u64, budgets: &Budgets) -> bool {
    let address_space = in_use + budgets.max_worker_memory + ADDRESS_SLACK_BYTES;
    let caps = [
        (Resource::As, address_space, address_space),
        // At the soft limit a signal that says why, at the hard one a kill that cannot be ignored.
        (Resource::Cpu, budgets.max_cpu_secs, budgets.max_cpu_secs + 1),
        (Resource::Nproc, 0, 0),
        (Resource::Nofile, 0, 0),
        (Resource::Fsize, 0, 0),
        (Resource::Core, 0, 0),
    ];
    let failed = caps.into_iter().filter(|(resource, soft, hard)| rlimit::lower(*resource, *soft, *hard).is_err());
    failed.count() == 0
}

fn address_space_in_use() -> io::Result<u64> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let size = status.lines().find_map(|line| line.strip_prefix("VmSize:")?.trim().strip_suffix(" kB"));
    let kibibytes = size.and_then(|size| size.parse::<u64>().ok()).ok_or(io::ErrorKind::InvalidData)?;
    Ok(kibibytes * 1024)
}

/// Landlock with no rule: whatever it handles is forbidden. True where the kernel enforces any of it.
fn forbid_files() -> Result<bool, landlock::RulesetError> {
    const NEWEST: ABI = ABI::V6;
    let status = Ruleset::default()
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(AccessFs::from_all(NEWEST))?
        .handle_access(AccessNet::from_all(NEWEST))?
        .scope(Scope::from_all(NEWEST))?
        .create()?
        .restrict_self()?;
    Ok(status.ruleset != RulesetStatus::NotEnforced)
}

fn filter() -> Result<BpfProgram, seccompiler::BackendError> {
    let mut rules: BTreeMap<i64, Vec<SeccompRule>> = ALLOWED.iter().map(|call| (*call, Vec::new())).collect();
    for call in [libc::SYS_mmap, libc::SYS_mprotect] {
        rules.insert(call, vec![SeccompRule::new(vec![never_executable()?])?]);
    }
    let arch = std::env::consts::ARCH.try_into()?;
    SeccompFilter::new(rules, SeccompAction::KillProcess, SeccompAction::Allow, arch)?.try_into()
}

/// The protection argument of `mmap` and `mprotect` without `PROT_EXEC`.
fn never_executable() -> Result<SeccompCondition, seccompiler::BackendError> {
    let executable = u64::from(libc::PROT_EXEC.cast_unsigned());
    SeccompCondition::new(2, SeccompCmpArgLen::Dword, SeccompCmpOp::MaskedEq(executable), 0)
}

/// What an interpreter and one stream need.
const ALLOWED: [i64; 20] = [
    libc::SYS_read,
    libc::SYS_write,
    libc::SYS_recvfrom,
    libc::SYS_sendto,
    libc::SYS_mremap,
    libc::SYS_munmap,
    libc::SYS_madvise,
    libc::SYS_brk,
    libc::SYS_futex,
    libc::SYS_getrandom,
    libc::SYS_clock_gettime,
    libc::SYS_sigaltstack,
    libc::SYS_rt_sigaction,
    libc::SYS_rt_sigprocmask,
    libc::SYS_rt_sigreturn,
    libc::SYS_exit,
    libc::SYS_exit_group,
    libc::SYS_close,
    libc::SYS_getpid,
    libc::SYS_gettid,
];
