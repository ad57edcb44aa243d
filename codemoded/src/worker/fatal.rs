#![expect(unsafe_code, reason = "an allocator and a signal handler cannot be written without it")]
//! Deaths that a program can cause, turned into exit codes that the daemon can tell apart.
//!
//! A counting allocator ends the worker at the byte that exceeds its memory, dictionaries and big integers included.
//! A handler on the alternate stack ends it when the interpreter's stack overflows. Both only call `_exit`: nothing
//! of the program runs any more. Outside a worker the allocator counts nothing.

use std::alloc::{GlobalAlloc, Layout, System};
use std::mem::MaybeUninit;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::ptr;
use std::sync::atomic::{AtomicIsize, AtomicUsize, Ordering::Relaxed};

/// Exit code of a worker that panicked.
pub(super) const PANICKED: i32 = 70;
const STACK_OVERFLOWED: i32 = 71;
const MEMORY_EXHAUSTED: i32 = 72;

/// A death that the program brought about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Death {
    StackOverflow,
    Memory,
    CpuTime,
}

impl Death {
    /// Reads an exit status; nothing where the program is not the plain cause.
    pub(super) fn of(status: ExitStatus) -> Option<Self> {
        match (status.code(), status.signal()) {
            (Some(STACK_OVERFLOWED), _) => Some(Self::StackOverflow),
            (Some(MEMORY_EXHAUSTED), _) => Some(Self::Memory),
            (_, Some(libc::SIGXCPU)) => Some(Self::CpuTime),
            _ => None,
        }
    }
}

/// The system's allocator, with a count while a program runs.
struct Counting;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Bytes a program may hold; `isize::MAX` while nothing is counted.
static LIMIT: AtomicIsize = AtomicIsize::new(isize::MAX);
/// Bytes allocated since counting began, less the bytes freed: below zero where older ones are freed.
static HELD: AtomicIsize = AtomicIsize::new(0);
/// The lowest address of the interpreter's stack.
static STACK_LOW: AtomicUsize = AtomicUsize::new(0);

/// How far around the stack's low end a faulting address still means an overflow.
const GUARD_BYTES: usize = 1 << 20;

/// Starts counting: from now on this process ends when it holds more than so many bytes more.
pub(super) fn limit_memory(bytes: u64) {
    HELD.store(0, Relaxed);
    LIMIT.store(isize::try_from(bytes).unwrap_or(isize::MAX - 1), Relaxed);
}

/// Ends the process with a code of its own when the main thread's stack overflows. Called near the stack's top.
pub(super) fn catch_stack_overflow(stack_bytes: u64) {
    let top = 0_u8;
    let bytes = usize::try_from(stack_bytes).unwrap_or(usize::MAX);
    STACK_LOW.store((&raw const top).addr().saturating_sub(bytes), Relaxed);

    // SAFETY: a zeroed `sigaction` is a valid one; the fields that matter are set below.
    let mut action: libc::sigaction = unsafe { MaybeUninit::zeroed().assume_init() };
    action.sa_sigaction = on_fault as *const () as usize;
    action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
    for signal in [libc::SIGSEGV, libc::SIGBUS] {
        // SAFETY: the action is complete, and its handler only reads the fault's address and exits or restores.
        unsafe { libc::sigaction(signal, &action, ptr::null_mut()) };
    }
}

extern "C" fn on_fault(signal: libc::c_int, info: *mut libc::siginfo_t, _context: *mut libc::c_void) {
    // SAFETY: the kernel passes a valid siginfo to a handler installed with SA_SIGINFO.
    let info = unsafe { &*info };
    // SAFETY: the signal is one that carries an address.
    let address = unsafe { info.si_addr() } as usize;
    if address.abs_diff(STACK_LOW.load(Relaxed)) <= GUARD_BYTES {
        // SAFETY: `_exit` is async-signal-safe and does not return.
        unsafe { libc::_exit(STACK_OVERFLOWED) };
    }
    // Anything else dies by the signal itself once the handler has returned.
    // SAFETY: restoring the default action is async-signal-safe.
    unsafe { libc::signal(signal, libc::SIG_DFL) };
}

fn took(bytes: usize) {
    let limit = LIMIT.load(Relaxed);
    if limit != isize::MAX {
        let held = HELD.fetch_add(bytes.cast_signed(), Relaxed).saturating_add(bytes.cast_signed());
        if held > limit {
            exhausted();
        }
    }
}

/// While a program runs, an allocation that the kernel refuses is the program's doing.
fn granted(block: *mut u8) -> *mut u8 {
    if block.is_null() && LIMIT.load(Relaxed) != isize::MAX {
        exhausted();
    }
    block
}

fn exhausted() -> ! {
    // SAFETY: `_exit` ends the process without touching the heap; it does not return.
    unsafe { libc::_exit(MEMORY_EXHAUSTED) }
}

fn gave(bytes: usize) {
    if LIMIT.load(Relaxed) != isize::MAX {
        HELD.fetch_sub(bytes.cast_signed(), Relaxed);
    }
}

// SAFETY: every request goes unchanged to the system's allocator; counting touches only atomics.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        took(layout.size());
        // SAFETY: the caller keeps `GlobalAlloc`'s contract, which is the system allocator's.
        granted(unsafe { System.alloc(layout) })
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        took(layout.size());
        // SAFETY: as for `alloc`.
        granted(unsafe { System.alloc_zeroed(layout) })
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        gave(layout.size());
        // SAFETY: the block came from the system's allocator with this layout.
        unsafe { System.dealloc(block, layout) }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        match size.checked_sub(layout.size()) {
            Some(grown) => took(grown),
            None => gave(layout.size() - size),
        }
        // SAFETY: the block came from the system's allocator with this layout.
        granted(unsafe { System.realloc(block, layout, size) })
    }
}
