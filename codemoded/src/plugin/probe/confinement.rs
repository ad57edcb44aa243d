//! What a child gives up before it loads a library that nobody trusts.
//!
//! A library has to be mapped, relocated and run, which takes more of the system than an interpreter does. So this is
//! not the worker's list of what is allowed. Landlock leaves the system's libraries to read and nothing else to open; a
//! filter refuses what reaches beyond the process: sockets, other programs, other processes, the kernel's wide doors.

use std::collections::BTreeMap;
use std::error::Error;
use std::path::Path;

use landlock::{
    ABI, Access, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible, PathBeneath, PathFd, Ruleset, RulesetAttr,
    RulesetCreatedAttr, Scope,
};
use rustix::process::{DumpableBehavior, Resource, Rlimit, getpid, set_dumpable_behavior, setrlimit};
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule,
};

/// Where the dynamic linker finds what a library needs.
const READABLE: [&str; 5] = ["/usr", "/lib", "/lib64", "/etc/ld.so.cache", "/dev/urandom"];

const MAX_ADDRESS_SPACE: u64 = 4 << 30;
const MAX_CPU_SECS: u64 = 10;
const MAX_DESCRIPTORS: u64 = 64;

/// Confines this process for good. Where the kernel has no Landlock, the filter alone remains.
pub(super) fn put_on() -> Result<(), Box<dyn Error>> {
    rustix::thread::set_no_new_privs(true)?;
    set_dumpable_behavior(DumpableBehavior::NotDumpable)?;
    restrict_files()?;
    let limits = [
        (Resource::As, MAX_ADDRESS_SPACE),
        (Resource::Cpu, MAX_CPU_SECS),
        (Resource::Nofile, MAX_DESCRIPTORS),
        (Resource::Fsize, 0),
    ];
    for (resource, most) in limits {
        setrlimit(resource, Rlimit { current: Some(most), maximum: Some(most) })?;
    }
    // The last one put on is asked first, and the strictest answer counts.
    for filter in [refused()?, unknown()?] {
        seccompiler::apply_filter(&filter)?;
    }
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

/// Refuses, as the system would, whatever reaches beyond this process.
fn refused() -> Result<BpfProgram, Box<dyn Error>> {
    let mut rules: BTreeMap<i64, Vec<SeccompRule>> = REFUSED.iter().map(|call| (*call, Vec::new())).collect();
    // Threads share this process's end; a process of its own would outlive it.
    let is_thread = u64::from(libc::CLONE_THREAD.cast_unsigned());
    let process = SeccompCondition::new(0, SeccompCmpArgLen::Qword, SeccompCmpOp::MaskedEq(is_thread), 0)?;
    rules.insert(libc::SYS_clone, vec![SeccompRule::new(vec![process])?]);
    let own = u64::from(getpid().as_raw_pid().cast_unsigned());
    for call in [libc::SYS_kill, libc::SYS_tgkill] {
        let other = SeccompCondition::new(0, SeccompCmpArgLen::Dword, SeccompCmpOp::Ne, own)?;
        rules.insert(call, vec![SeccompRule::new(vec![other])?]);
    }
    compiled(rules, libc::EPERM)
}

/// `clone3` hides its flags in memory, where a filter cannot look; whoever is told that it is not there uses `clone`.
fn unknown() -> Result<BpfProgram, Box<dyn Error>> {
    compiled([(libc::SYS_clone3, Vec::new())].into(), libc::ENOSYS)
}

fn compiled(rules: BTreeMap<i64, Vec<SeccompRule>>, error: i32) -> Result<BpfProgram, Box<dyn Error>> {
    let arch = std::env::consts::ARCH.try_into()?;
    let refusal = SeccompAction::Errno(error.cast_unsigned());
    Ok(SeccompFilter::new(rules, SeccompAction::Allow, refusal, arch)?.try_into()?)
}

const REFUSED: [i64; 47] = [
    libc::SYS_socket,
    libc::SYS_socketpair,
    libc::SYS_connect,
    libc::SYS_bind,
    libc::SYS_listen,
    libc::SYS_accept,
    libc::SYS_accept4,
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    libc::SYS_execve,
    libc::SYS_execveat,
    libc::SYS_tkill,
    libc::SYS_rt_sigqueueinfo,
    libc::SYS_rt_tgsigqueueinfo,
    libc::SYS_pidfd_open,
    libc::SYS_pidfd_getfd,
    libc::SYS_pidfd_send_signal,
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_process_madvise,
    libc::SYS_kcmp,
    libc::SYS_setpriority,
    libc::SYS_sched_setaffinity,
    libc::SYS_sched_setscheduler,
    libc::SYS_sched_setattr,
    libc::SYS_setpgid,
    libc::SYS_setsid,
    libc::SYS_setns,
    libc::SYS_unshare,
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_chroot,
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_userfaultfd,
    libc::SYS_keyctl,
    libc::SYS_add_key,
    libc::SYS_request_key,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_kexec_load,
    libc::SYS_reboot,
    libc::SYS_shmget,
    libc::SYS_msgget,
    libc::SYS_personality,
];
