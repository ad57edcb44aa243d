//! The worker's own `main`: prepare, wait for one program, run it, say how it went, end.

use std::os::unix::net::UnixStream;
use std::thread;

use super::channel::Channel;
use super::fatal;
use super::manifest::Manifest;
use super::protocol::{Budgets, ToWorker};
use super::spawn::{self, MARKER};
use crate::program::{Context, Language, run};

/// The interpreter's stack. Sources that nest deeper overflow it, which ends this process and nothing else.
const STACK_BYTES: usize = 64 << 20;

/// Whether this process was started to be a worker. Asked before anything else is set up.
pub fn is_worker() -> bool {
    std::env::var_os(MARKER.0).is_some_and(|role| role == MARKER.1)
}

/// Serves one program and ends the process.
pub fn serve() -> ! {
    // What a panic would print is for nobody here; its exit code says enough.
    std::panic::set_hook(Box::new(|_| {}));
    let Ok(channel) = spawn::take_channel() else { Channel::hang_up() };
    let mut channel = Channel::new(UnixStream::from(channel));
    let (first, map) = channel.receive_with_descriptor();
    let ToWorker::Prepare(budgets) = first else { Channel::hang_up() };
    let Some(manifest) = spawn::map_for_ever(&map).and_then(|bytes| Manifest::new(bytes).ok()) else {
        Channel::hang_up()
    };
    drop(map);
    let manifest: &'static Manifest<'static> = Box::leak(Box::new(manifest));
    let interpreter = thread::Builder::new().stack_size(STACK_BYTES).spawn(move || {
        fatal::catch_stack_overflow();
        interpret(channel, budgets, manifest);
    });
    match interpreter.map(thread::JoinHandle::join) {
        Ok(Ok(())) => std::process::exit(0),
        Ok(Err(_)) | Err(_) => std::process::exit(fatal::PANICKED),
    }
}

fn interpret(mut channel: Channel, budgets: Budgets, manifest: &'static Manifest<'static>) {
    let language = Language::prepare(manifest);
    language.warm_up();
    channel.send(&super::protocol::FromWorker::Ready);
    let ToWorker::Program(source) = channel.receive() else { Channel::hang_up() };
    fatal::limit_memory(budgets.max_worker_memory);
    let context = Context::new(channel, budgets);
    let outcome = run(&language, &context, &source);
    context.finish(outcome);
    // Tearing down a program's heap is wasted work, and a deeply nested value would overflow the stack doing it.
    std::process::exit(0)
}
