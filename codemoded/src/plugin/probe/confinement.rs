//! What a child gives up before it loads a library that nobody trusts.
//!
//! A library has to be mapped, relocated and run, and its constructors may start threads, which takes more of the system
//! than an interpreter does. So this is a longer list than the worker's. Landlock leaves the system's libraries to read
//! and nothing else to open. The filter lets through what acts on this process alone, and answers everything else as a
//! kernel would that has no such call: that a worker ends at a call outside its list is right, for nobody else wrote its
//! code, but a foreign constructor may ask for more than it needs. Behind both, the process has no privilege left.

use std::collections::BTreeMap;
use std::error::Error;
use std::path::Path;

use landlock::{
    ABI, Access, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible, PathBeneath, PathFd, Ruleset, RulesetAttr,
    RulesetCreatedAttr, Scope,
};
use rustix::process::{DumpableBehavior, Resource, getpid, set_dumpable_behavior};
use rustix::thread::{CapabilitySet, CapabilitySets, set_capabilities, set_no_new_privs};
use seccompiler::{
    BackendError, BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule,
};

use crate::rlimit;

/// Where the dynamic linker finds what a library needs.
const READABLE: [&str; 5] = ["/usr", "/lib", "/lib64", "/etc/ld.so.cache", "/dev/urandom"];

const MAX_ADDRESS_SPACE: u64 = 4 << 30;
const MAX_CPU_SECS: u64 = 10;
const MAX_DESCRIPTORS: u64 = 64;

/// Confines this process for good. Where the kernel has no Landlock, the filter alone remains.
pub(super) fn put_on() -> Result<(), Box<dyn Error>> {
    set_no_new_privs(true)?;
    set_dumpable_behavior(DumpableBehavior::NotDumpable)?;
    restrict_files()?;
    let limits = [
        (Resource::As, MAX_ADDRESS_SPACE),
        (Resource::Cpu, MAX_CPU_SECS),
        (Resource::Nofile, MAX_DESCRIPTORS),
        (Resource::Fsize, 0),
    ];
    for (resource, most) in limits {
        rlimit::lower(resource, most, most)?;
    }
    let none = CapabilitySet::empty();
    set_capabilities(None, CapabilitySets { effective: none, permitted: none, inheritable: none })?;
    seccompiler::apply_filter(&filter()?)?;
    Ok(())
}

fn restrict_files() -> Result<(), Box<dyn Error>> {
    const NEWEST: ABI = ABI::V6;
    let mut rules = Ruleset::default()
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(AccessFs::from_all(NEWEST))?
        .handle_access(AccessNet::from_all(NEWEST))?
        .scope(Scope::from_all(NEWEST))?
        .create()?;
    for path in READABLE.iter().map(Path::new).filter(|path| path.exists()) {
        let access: BitFlags<AccessFs> = match path.is_dir() {
            true => AccessFs::Execute | AccessFs::ReadFile | AccessFs::ReadDir,
            false => AccessFs::ReadFile.into(),
        };
        rules = rules.add_rule(PathBeneath::new(PathFd::new(path)?, access))?;
    }
    rules.restrict_self()?;
    Ok(())
}

fn filter() -> Result<BpfProgram, BackendError> {
    let mut rules: BTreeMap<i64, Vec<SeccompRule>> =
        ALLOWED.iter().chain(&ALLOWED_ON_X86_64).map(|call| (*call, Vec::new())).collect();
    for (call, permitted) in within_this_process()? {
        let permitted = permitted.into_iter().map(SeccompRule::new);
        rules.insert(call, permitted.collect::<Result<_, _>>()?);
    }
    let unknown = SeccompAction::Errno(libc::ENOSYS.cast_unsigned());
    let arch = std::env::consts::ARCH.try_into()?;
    SeccompFilter::new(rules, unknown, SeccompAction::Allow, arch)?.try_into()
}

/// A call, and when it is let through: where all conditions of one of the lists hold.
type Permitted = (i64, Vec<Vec<SeccompCondition>>);

/// The calls that could reach further, as far as they do not.
fn within_this_process() -> Result<Vec<Permitted>, BackendError> {
    // A thread ends with this process; a process of its own would outlive it. `clone3` hides its flags in memory, where a
    // filter cannot look, and whoever is told that it is not there uses `clone`.
    let thread = masked(0, libc::CLONE_THREAD, libc::CLONE_THREAD)?;
    let own = getpid().as_raw_pid();
    let descriptors = [libc::F_GETFD, libc::F_SETFD, libc::F_GETFL, libc::F_DUPFD_CLOEXEC];
    let of_descriptors: Result<_, BackendError> =
        descriptors.into_iter().map(|command| Ok(vec![is(1, command)?])).collect();
    let mut permitted = vec![
        (libc::SYS_clone, vec![vec![thread]]),
        (libc::SYS_kill, vec![vec![is(0, own)?]]),
        (libc::SYS_tgkill, vec![vec![is(0, own)?]]),
        // What the child says goes to the other end of its own socket.
        (libc::SYS_sendto, vec![vec![is_null(4)?]]),
        // Its own limits, and those only to read.
        (libc::SYS_prlimit64, vec![vec![is(0, 0)?, is_null(2)?]]),
        (libc::SYS_prctl, vec![vec![is(0, libc::PR_SET_NAME)?]]),
        (libc::SYS_fcntl, of_descriptors?),
    ];
    for (call, flags) in OPENING {
        let reads = masked(flags, libc::O_ACCMODE | libc::O_CREAT | libc::O_TRUNC, libc::O_RDONLY)?;
        permitted.push((call, vec![vec![reads]]));
    }
    Ok(permitted)
}

fn is(argument: u8, value: i32) -> Result<SeccompCondition, BackendError> {
    SeccompCondition::new(argument, SeccompCmpArgLen::Dword, SeccompCmpOp::Eq, value.cast_unsigned().into())
}

fn is_null(argument: u8) -> Result<SeccompCondition, BackendError> {
    SeccompCondition::new(argument, SeccompCmpArgLen::Qword, SeccompCmpOp::Eq, 0)
}

fn masked(argument: u8, mask: i32, value: i32) -> Result<SeccompCondition, BackendError> {
    let mask = SeccompCmpOp::MaskedEq(mask.cast_unsigned().into());
    SeccompCondition::new(argument, SeccompCmpArgLen::Dword, mask, value.cast_unsigned().into())
}

/// What acts on this process alone, or only tells something.
const ALLOWED: [i64; 60] = [
    libc::SYS_read,
    libc::SYS_readv,
    libc::SYS_pread64,
    libc::SYS_write,
    libc::SYS_writev,
    libc::SYS_lseek,
    libc::SYS_close,
    libc::SYS_dup,
    libc::SYS_fstat,
    libc::SYS_newfstatat,
    libc::SYS_statx,
    libc::SYS_fstatfs,
    libc::SYS_statfs,
    libc::SYS_faccessat,
    libc::SYS_faccessat2,
    libc::SYS_readlinkat,
    libc::SYS_getdents64,
    libc::SYS_getcwd,
    libc::SYS_mmap,
    libc::SYS_mprotect,
    libc::SYS_munmap,
    libc::SYS_mremap,
    libc::SYS_madvise,
    libc::SYS_brk,
    libc::SYS_futex,
    libc::SYS_set_robust_list,
    libc::SYS_rseq,
    libc::SYS_sched_yield,
    libc::SYS_sched_getaffinity,
    libc::SYS_getcpu,
    libc::SYS_restart_syscall,
    libc::SYS_exit,
    libc::SYS_exit_group,
    libc::SYS_rt_sigaction,
    libc::SYS_rt_sigprocmask,
    libc::SYS_rt_sigreturn,
    libc::SYS_sigaltstack,
    libc::SYS_nanosleep,
    libc::SYS_clock_nanosleep,
    libc::SYS_clock_gettime,
    libc::SYS_clock_getres,
    libc::SYS_gettimeofday,
    libc::SYS_getpid,
    libc::SYS_getppid,
    libc::SYS_gettid,
    libc::SYS_getuid,
    libc::SYS_geteuid,
    libc::SYS_getgid,
    libc::SYS_getegid,
    libc::SYS_getrandom,
    libc::SYS_getrusage,
    libc::SYS_times,
    libc::SYS_uname,
    libc::SYS_sysinfo,
    libc::SYS_ppoll,
    libc::SYS_epoll_create1,
    libc::SYS_epoll_ctl,
    libc::SYS_epoll_pwait,
    libc::SYS_eventfd2,
    libc::SYS_pipe2,
];

/// Calls that open a file, and which argument has the flags.
#[cfg(target_arch = "x86_64")]
const OPENING: [(i64, u8); 2] = [(libc::SYS_openat, 2), (libc::SYS_open, 1)];

#[cfg(not(target_arch = "x86_64"))]
const OPENING: [(i64, u8); 1] = [(libc::SYS_openat, 2)];

/// Calls that newer tables have only in a longer form.
#[cfg(target_arch = "x86_64")]
const ALLOWED_ON_X86_64: [i64; 7] = [
    libc::SYS_stat,
    libc::SYS_lstat,
    libc::SYS_access,
    libc::SYS_readlink,
    libc::SYS_poll,
    libc::SYS_epoll_wait,
    libc::SYS_time,
];

#[cfg(not(target_arch = "x86_64"))]
const ALLOWED_ON_X86_64: [i64; 0] = [];
