#![expect(unsafe_code, reason = "attacks are raw system calls, wild writes and stray descriptors")]
//! What a broken worker could try. An attack that is not stopped on the way reports what it got.

use std::ffi::CStr;
use std::io::Write;
use std::os::fd::FromRawFd;
use std::os::unix::net::UnixStream;
use std::{hint, ptr};

use codemoded::worker::protocol::FromWorker;

use super::preparation::before;

const PASSWD: &CStr = c"/etc/passwd";
const CREATED: &CStr = c"/tmp/codemoded-intruder";
const PROGRAM: &CStr = c"/bin/true";

/// A loopback address, port 9: `struct sockaddr_in`.
const ADDRESS: [u8; 16] = [2, 0, 0, 9, 127, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0];

/// The worker's channel, once more.
pub(super) fn channel() -> UnixStream {
    // SAFETY: descriptor 0 is the worker's channel, open for as long as the process lives; nobody reads it beside us.
    unsafe { UnixStream::from_raw_fd(0) }
}

/// Carries out an attack and reports what came of it as the program's result.
pub(super) fn carry_out(attack: &str) -> ! {
    let (returned, errno) = attempt(attack);
    let report = format!("{{\"returned\":{returned},\"errno\":{errno}}}");
    let said = channel().write_all(&FromWorker::Returned(report.into_bytes()).encode());
    std::process::exit(i32::from(said.is_err()))
}

/// What the kernel gave, and its error's number where it refused.
pub(super) fn attempt(attack: &str) -> (i64, i32) {
    let (name, argument) = attack.split_once(' ').unwrap_or((attack, ""));
    let number = argument.parse().unwrap_or(0);
    let returned = match name {
        "call" => call(number, [0; 6]),
        "heap" => heap(),
        "address-space" => address_space(),
        "stack" => i64::from(deeper(&[0; 512])),
        "burn" => burn(number),
        "spin" => spin(),
        "spin-deaf" => {
            // SAFETY: ignoring a signal touches no memory.
            unsafe { libc::signal(libc::SIGXCPU, libc::SIG_IGN) };
            spin()
        }
        "descriptors" => descriptors(),
        "old-gate" => old_gate(),
        "wild-write" => wild_write(),
        "leave" => std::process::exit(number.try_into().unwrap_or(1)),
        "panic" => panicking(),
        _ => system_call(name),
    };
    (returned, std::io::Error::last_os_error().raw_os_error().filter(|_| returned < 0).unwrap_or(0))
}

/// The attacks that are one system call.
fn system_call(name: &str) -> i64 {
    let parent = before().parent as usize;
    let environment = format!("/proc/{parent}/environ\0");
    let here = libc::AT_FDCWD.cast_unsigned() as usize;
    let path = |path: &CStr| path.as_ptr().addr();
    let (passwd, created, program) = (path(PASSWD), path(CREATED), path(PROGRAM));
    let nothing = [0_usize; 2];
    let none = nothing.as_ptr().addr();
    let mut word = 0_u64;
    let stretch = [(&raw mut word).addr(), size_of_val(&word)];
    let span = stretch.as_ptr().addr();
    let create = (libc::O_CREAT | libc::O_WRONLY).cast_unsigned() as usize;
    let limits = [1_u64 << 40; 2];
    let stream = libc::SOCK_STREAM.cast_unsigned() as usize;
    let inet = libc::AF_INET.cast_unsigned() as usize;
    let child = libc::SIGCHLD.cast_unsigned() as usize;
    let address_space = libc::RLIMIT_AS as usize;
    let executable = (libc::PROT_READ | libc::PROT_EXEC).cast_unsigned() as usize;
    let private = (libc::MAP_PRIVATE | libc::MAP_ANONYMOUS).cast_unsigned() as usize;
    let own = (libc::SYS_openat as usize & !0xfff) as *const u8;
    match name {
        "open" => call(libc::SYS_openat, [here, passwd, 0, 0, 0, 0]),
        "create" => call(libc::SYS_openat, [here, created, create, 0o600, 0, 0]),
        "environment-of-parent" => call(libc::SYS_openat, [here, environment.as_ptr().addr(), 0, 0, 0, 0]),
        "socket" => call(libc::SYS_socket, [inet, stream, 0, 0, 0, 0]),
        "connect" => call(libc::SYS_connect, [0, ADDRESS.as_ptr().addr(), ADDRESS.len(), 0, 0, 0]),
        "socket-and-connect" => match call(libc::SYS_socket, [inet, stream, 0, 0, 0, 0]) {
            socket @ 0.. => call(libc::SYS_connect, [socket as usize, ADDRESS.as_ptr().addr(), ADDRESS.len(), 0, 0, 0]),
            refused => refused,
        },
        "memory-file" => call(libc::SYS_memfd_create, [passwd, 0, 0, 0, 0, 0]),
        "duplicate" => call(libc::SYS_dup, [0; 6]),
        "fork" => call(libc::SYS_clone, [child, 0, 0, 0, 0, 0]),
        "execute" => call(libc::SYS_execve, [program, none, none, 0, 0, 0]),
        "trace-parent" => call(libc::SYS_ptrace, [libc::PTRACE_SEIZE as usize, parent, 0, 0, 0, 0]),
        "read-parent" => call(libc::SYS_process_vm_readv, [parent, span, 1, span, 1, 0]),
        "signal-parent" => call(libc::SYS_kill, [parent, libc::SIGCONT as usize, 0, 0, 0, 0]),
        "watch-parent" => call(libc::SYS_pidfd_open, [parent, 0, 0, 0, 0, 0]),
        "be-dumpable" => call(libc::SYS_prctl, [libc::PR_SET_DUMPABLE as usize, 1, 0, 0, 0, 0]),
        "raise-limits" => call(libc::SYS_prlimit64, [0, address_space, limits.as_ptr().addr(), 0, 0, 0]),
        "raise-limits-of-parent" => call(libc::SYS_prlimit64, [parent, address_space, limits.as_ptr().addr(), 0, 0, 0]),
        "user-namespace" => call(libc::SYS_unshare, [libc::CLONE_NEWUSER as usize, 0, 0, 0, 0, 0]),
        "executable-memory" => call(libc::SYS_mmap, [0, 4096, executable, private, usize::MAX, 0]),
        "make-executable" => call(libc::SYS_mprotect, [own.addr(), 4096, executable, 0, 0, 0]),
        // The second table of system calls that x86-64 has.
        "other-table" => call(0x4000_0000 | libc::SYS_openat, [here, passwd, 0, 0, 0, 0]),
        _ => i64::MIN,
    }
}

fn call(number: i64, arguments: [usize; 6]) -> i64 {
    let [a, b, c, d, e, f] = arguments;
    // SAFETY: each pointer among the arguments outlives the call and is only read by it; what else the kernel would do
    // is what the attack is after.
    unsafe { libc::syscall(number, a, b, c, d, e, f) }
}

/// Takes memory from the allocator until it is refused.
fn heap() -> i64 {
    let mut taken = Vec::new();
    loop {
        taken.push(vec![1_u8; 1 << 20]);
        if hint::black_box(&taken).len() > 1 << 16 {
            return taken.len().try_into().unwrap_or(i64::MAX);
        }
    }
}

/// Takes memory from the kernel, past the allocator, and tells how many mebibytes it got.
fn address_space() -> i64 {
    let writable = (libc::PROT_READ | libc::PROT_WRITE).cast_unsigned() as usize;
    let private = (libc::MAP_PRIVATE | libc::MAP_ANONYMOUS).cast_unsigned() as usize;
    (0..1 << 16).find(|_| call(libc::SYS_mmap, [0, 1 << 20, writable, private, usize::MAX, 0]) < 0).unwrap_or(i64::MAX)
}

fn deeper(above: &[u8; 512]) -> u8 {
    let here = hint::black_box([above[0].wrapping_add(1); 512]);
    if here[0] == 0 && above[1] == 1 { here[0] } else { deeper(&here).wrapping_add(here[511]) }
}

fn spin() -> ! {
    loop {
        hint::spin_loop();
    }
}

/// Uses so many milliseconds of processor time.
fn burn(milliseconds: i64) -> i64 {
    let mut used = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    while used.tv_sec * 1_000 + used.tv_nsec / 1_000_000 < milliseconds {
        // SAFETY: the clock is written to a live `timespec`.
        unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &raw mut used) };
    }
    0
}

/// How many descriptors beside the channel can be read, written or hold anything.
fn descriptors() -> i64 {
    let byte = b"x";
    let is_open = |descriptor: &usize| {
        let write = call(libc::SYS_write, [*descriptor, byte.as_ptr().addr(), 1, 0, 0, 0]);
        let read = call(libc::SYS_read, [*descriptor, 0, 0, 0, 0, 0]);
        let close = call(libc::SYS_close, [*descriptor, 0, 0, 0, 0, 0]);
        write >= 0 || read >= 0 || close >= 0
    };
    (1..65_536).filter(is_open).count().try_into().unwrap_or(i64::MAX)
}

/// A system call through the 32-bit gate, where numbers mean others.
fn old_gate() -> i64 {
    #[cfg(target_arch = "x86_64")]
    {
        let returned: i64;
        // SAFETY: call 20 of that table takes no arguments and touches no memory.
        unsafe { std::arch::asm!("int 0x80", inlateout("rax") 20_i64 => returned) };
        returned
    }
    #[cfg(not(target_arch = "x86_64"))]
    spin()
}

fn wild_write() -> i64 {
    // SAFETY: none: the fault is the attack.
    unsafe { ptr::write_volatile(ptr::without_provenance_mut::<u8>(8), 1) };
    0
}

#[expect(clippy::panic, reason = "what is tried is a panic")]
fn panicking() -> ! {
    panic!("asked to")
}
