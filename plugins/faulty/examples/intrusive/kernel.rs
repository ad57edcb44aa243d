//! What can be asked of the kernel itself, where no library's function stands in between.
#![expect(unsafe_code, reason = "what is tried are raw system calls")]

use std::os::unix::process::parent_id;

/// The kernel's `struct utsname`: six names, of which the second is the host's.
const NAME_BYTES: usize = 65;
const NAMES: usize = 6;

/// The value of `ioprio_set` for the least of the usual class, and for one process.
const LEAST_PRIORITY: usize = 2 << 13 | 7;
const ONE_PROCESS: usize = 1;

/// Where `syslog` reads without taking away.
const READ_ALL: usize = 3;

/// What was asked for, and whether it was granted.
pub(crate) fn attempts() -> Vec<(&'static str, bool)> {
    let parent = parent_id() as usize;
    let child = libc::SIGCHLD.cast_unsigned() as usize;
    let nothing = [0_u64; 2];
    let none = nothing.as_ptr().addr();
    let core = libc::RLIMIT_CORE as usize;
    let own = libc::F_SETOWN.cast_unsigned() as usize;
    let death_signal = libc::PR_SET_PDEATHSIG.cast_unsigned() as usize;
    let dumpable = libc::PR_SET_DUMPABLE.cast_unsigned() as usize;
    let granted = |number, arguments| call(number, arguments) == 0;
    let mut attempts = vec![
        ("clone itself", makes_a_process(libc::SYS_clone, [child, 0, 0, 0, 0])),
        ("clone itself by the newer call", clones_by_the_newer_call(child)),
        ("limit its parent", granted(libc::SYS_prlimit64, [parent, core, none, 0, 0])),
        ("slow its parent down", granted(libc::SYS_ioprio_set, [ONE_PROCESS, parent, LEAST_PRIORITY, 0, 0])),
        ("aim its signals at its parent", granted(libc::SYS_fcntl, [0, own, parent, 0, 0])),
        ("outlive the daemon", granted(libc::SYS_prctl, [death_signal, 0, 0, 0, 0])),
        ("let itself be traced", granted(libc::SYS_prctl, [dumpable, 1, 0, 0, 0])),
        ("name the host", names_the_host()),
        ("read the kernel's log", reads_the_log()),
        ("leave a semaphore", makes_a_semaphore()),
    ];
    attempts.extend(by_older_calls());
    attempts
}

fn call(number: i64, arguments: [usize; 5]) -> i64 {
    let [a, b, c, d, e] = arguments;
    // SAFETY: each pointer among the arguments outlives the call, and has room for what the kernel writes to it.
    unsafe { libc::syscall(number, a, b, c, d, e) }
}

/// Whether a call makes a process, which then ends at once.
fn makes_a_process(number: i64, arguments: [usize; 5]) -> bool {
    match call(number, arguments) {
        // SAFETY: `_exit` ends the new process, whose memory is a copy.
        0 => unsafe { libc::_exit(0) },
        number => number > 0,
    }
}

fn clones_by_the_newer_call(signal: usize) -> bool {
    // `struct clone_args`: the fifth field is the signal that tells of the end.
    let arguments = [0, 0, 0, 0, signal as u64, 0, 0, 0];
    makes_a_process(libc::SYS_clone3, [arguments.as_ptr().addr(), size_of_val(&arguments), 0, 0, 0])
}

/// Gives the host the name that it has.
fn names_the_host() -> bool {
    let mut names = [0_u8; NAME_BYTES * NAMES];
    let named = call(libc::SYS_uname, [names.as_mut_ptr().addr(), 0, 0, 0, 0]) == 0;
    let name: Vec<u8> = names.into_iter().skip(NAME_BYTES).take_while(|byte| *byte != 0).collect();
    named && call(libc::SYS_sethostname, [name.as_ptr().addr(), name.len(), 0, 0, 0]) == 0
}

fn reads_the_log() -> bool {
    let mut log = [0_u8; 4096];
    call(libc::SYS_syslog, [READ_ALL, log.as_mut_ptr().addr(), log.len(), 0, 0]) >= 0
}

/// Makes what stays when its process has gone, and removes it.
fn makes_a_semaphore() -> bool {
    let made = call(libc::SYS_semget, [libc::IPC_PRIVATE.cast_unsigned() as usize, 1, 0o600, 0, 0]);
    if let Ok(semaphore) = usize::try_from(made) {
        call(libc::SYS_semctl, [semaphore, 0, libc::IPC_RMID.cast_unsigned() as usize, 0, 0]);
    }
    made >= 0
}

/// The calls that newer processors' tables do not have, and the second table of this one.
#[cfg(target_arch = "x86_64")]
fn by_older_calls() -> [(&'static str, bool); 4] {
    const SECOND_TABLE: i64 = 0x4000_0000;
    [
        ("fork", copies(libc::SYS_fork)),
        ("fork in its own memory", copies(libc::SYS_vfork)),
        ("fork by the second table", copies(SECOND_TABLE | libc::SYS_fork)),
        ("fork in its own memory by the second table", copies(SECOND_TABLE | libc::SYS_vfork)),
    ]
}

#[cfg(not(target_arch = "x86_64"))]
fn by_older_calls() -> [(&'static str, bool); 0] {
    []
}

/// The same as [`makes_a_process`] for calls whose new process may have this one's stack.
#[cfg(target_arch = "x86_64")]
fn copies(number: i64) -> bool {
    let returned: i64;
    // SAFETY: the new process ends before it has touched any memory.
    unsafe {
        std::arch::asm!(
            "syscall",
            "test rax, rax",
            "jnz 2f",
            "xor edi, edi",
            "mov eax, {exit}",
            "syscall",
            "2:",
            exit = const libc::SYS_exit,
            inlateout("rax") number => returned,
            out("rdi") _,
            out("rcx") _,
            out("r11") _,
        );
    }
    returned > 0
}
