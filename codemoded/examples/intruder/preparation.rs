//! What a worker does before it is confined, and before it reads a program: as the file `intruder` beside the daemon's
//! configuration says at that time, one order a line.

use std::fs;
use std::os::unix::process::parent_id;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use super::{attack, kernel, speech};

/// What a confined worker cannot learn any more.
#[derive(Debug)]
pub(super) struct Before {
    pub(super) parent: u32,
    orders: String,
}

static BEFORE: OnceLock<Before> = OnceLock::new();

/// Learns the orders and carries out those that come before confinement.
pub(super) fn carry_out() {
    let before = before();
    for order in before.orders.lines() {
        match order.split_once(' ') {
            Some(("without", part)) => kernel::take_away(part),
            Some(("say", words)) => speech::say(words),
            Some(_) | None => {}
        }
    }
}

/// Carries out the orders for a worker that is ready and waits for a program.
pub(super) fn while_waiting() {
    for order in before().orders.lines() {
        if let Some(("waiting", attack)) = order.split_once(' ') {
            attack::attempt(attack);
        }
    }
}

pub(super) fn before() -> &'static Before {
    BEFORE.get_or_init(|| {
        let parent = parent_id();
        let orders = folder(parent).and_then(|folder| fs::read_to_string(folder.join("intruder")).ok());
        Before { parent, orders: orders.unwrap_or_default() }
    })
}

/// The folder of the daemon's configuration.
fn folder(daemon: u32) -> Option<PathBuf> {
    let arguments = fs::read_to_string(format!("/proc/{daemon}/cmdline")).ok()?;
    let config = arguments.split('\0').skip_while(|argument| *argument != "--config").nth(1)?;
    Path::new(config).parent().map(Path::to_path_buf)
}
