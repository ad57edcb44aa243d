//! The worker's own `main`: prepare, confine itself, wait for one program, run it, say how it went, end.
//!
//! Everything happens on the main thread, whose stack is grown first: a worker is single-threaded from start to end,
//! which is what lets one of them be a template that others are forked from.

use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use super::channel::Channel;
use super::fatal;
use super::manifest::Manifest;
use super::protocol::{Budgets, Confinement, FromWorker, Orders, ToWorker};
use super::sandbox::{self, Sandbox};
use super::spawn;
use super::template;
use crate::program::{Context, Language, run};

/// The variable that makes this executable something else than the daemon; its value says what.
pub(super) const MARKER: &str = "_CODEMODE_CHILD";
pub(super) const WORKER: &str = "worker";
pub(super) const TEMPLATE: &str = "template";

/// The interpreter's stack. Sources that nest deeper overflow it, which ends this process and nothing else.
const STACK_BYTES: u64 = 64 << 20;

/// Which kind of child this process was started to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Serves one program.
    Worker,
    /// Forks workers, and never sees a program.
    Template,
}

impl Role {
    /// Reads the marker. Asked before anything else is set up.
    pub fn of_this_process() -> Option<Self> {
        match std::env::var(MARKER).ok()?.as_str() {
            WORKER => Some(Self::Worker),
            TEMPLATE => Some(Self::Template),
            _ => None,
        }
    }

    /// Does what this kind of child is for, and ends the process.
    pub fn serve(self) -> ! {
        self.serve_with(|worker| worker.serve())
    }

    /// The same, with another duty for the worker once it is confined: the executable that attacks from inside a
    /// worker comes in here. A process has one duty, compiled in; nothing from outside can choose it.
    pub fn serve_with(self, duty: Duty) -> ! {
        // What a panic would print is for nobody here; its exit code says enough.
        std::panic::set_hook(Box::new(|_| std::process::exit(fatal::PANICKED)));
        let mut channel = Channel::new(UnixStream::from(sandbox::take_channel()));
        let (orders, map) = channel.receive_orders();
        if !sandbox::die_with_parent(orders.parent) {
            Channel::hang_up();
        }
        sandbox::go_first();
        grow_stack();
        let prepared = Prepared::new(orders, &map, duty);
        drop(map);
        match self {
            Self::Worker => prepared.serve(channel),
            Self::Template => template::serve(&prepared, channel),
        }
    }
}

/// What a worker does once it is confined.
pub type Duty = fn(Confined<'_>) -> !;

/// A worker that is confined, has said so, and has read no byte of a program yet.
#[derive(Debug)]
pub struct Confined<'a> {
    language: &'a Language,
    budgets: Budgets,
    channel: Channel,
}

impl Confined<'_> {
    /// Serves one program.
    pub fn serve(mut self) -> ! {
        let source = self.receive_program();
        self.run(&source)
    }

    /// Waits for the program. From here on memory counts as the program's.
    pub fn receive_program(&mut self) -> String {
        let ToWorker::Program(source) = self.channel.receive() else { Channel::hang_up() };
        fatal::limit_memory(self.budgets.max_worker_memory);
        source
    }

    /// Runs a program, says how it went, and ends the process.
    pub fn run(self, source: &str) -> ! {
        let context = Context::new(self.channel, self.budgets);
        let outcome = run(self.language, &context, source);
        context.finish(outcome);
        // The kernel takes whoever sends for about to sleep, and lets the daemon run on this processor next: ending
        // here would keep the answer waiting for the end of this process. The daemon ends it, or hangs up.
        context.wait_for_end()
    }
}

/// A worker that knows its catalog and has built its language, before it is confined.
pub(super) struct Prepared {
    orders: Orders,
    language: Language,
    sandbox: Sandbox,
    duty: Duty,
}

impl Prepared {
    fn new(orders: Orders, map: &OwnedFd, duty: Duty) -> Self {
        let manifest = spawn::map_for_ever(map).and_then(|bytes| Manifest::new(bytes).ok());
        let Some(manifest) = manifest else { Channel::hang_up() };
        let language = Language::prepare(Box::leak(Box::new(manifest)), orders.discovers);
        language.warm_up(orders.budgets);
        Self { orders, language, sandbox: Sandbox::prepare(), duty }
    }

    pub(super) fn parent(&self) -> u32 {
        self.orders.parent
    }

    pub(super) fn warm_up(&self) {
        self.language.warm_up(self.orders.budgets);
    }

    /// Confines this process and does its duty.
    pub(super) fn serve(&self, mut channel: Channel) -> ! {
        fatal::catch_stack_overflow(stack_bytes());
        sandbox::keep_only_channel();
        let budgets = self.orders.budgets;
        let confinement = match self.orders.confine {
            true => self.sandbox.put_on(&budgets),
            false => Confinement { seccomp: false, landlock: false, limits: false },
        };
        channel.send(&FromWorker::Ready(confinement));
        (self.duty)(Confined { language: &self.language, budgets, channel })
    }
}

/// The main thread's stack grows on demand up to the limit in force at that time.
fn grow_stack() {
    let maximum = getrlimit(Resource::Stack).maximum;
    let wanted = maximum.map_or(STACK_BYTES, |most| most.min(STACK_BYTES));
    // Where the limit cannot be raised, programs nest less deeply and nothing else changes.
    let _ = setrlimit(Resource::Stack, Rlimit { current: Some(wanted), maximum });
}

/// How far the stack grows, which is less than was wanted where the host allows less.
fn stack_bytes() -> u64 {
    getrlimit(Resource::Stack).current.unwrap_or(STACK_BYTES)
}
