//! A plugin that looks around while it is asked what it offers, and says in its description what it could do.

mod kernel;

use std::fs::{self, File};
use std::net::{TcpListener, UdpSocket};
use std::os::unix::net::UnixDatagram;
use std::os::unix::process::parent_id;
use std::process::Command;

use codemode_plugin_api::prelude::*;

struct Intrusive;

/// From a thread of its own: a library may start some, and none may have more than the first.
#[expect(clippy::expect_used, reason = "a library that cannot start a thread has been given too little")]
fn loot() -> String {
    let looked = std::thread::spawn(|| [by_library().as_slice(), &kernel::attempts()].concat());
    let attempts = looked.join().expect("looking around does not panic");
    let done: Vec<_> = attempts.into_iter().filter(|(_, done)| *done).map(|(name, _)| name).collect();
    format!("could: {}\u{1b}[2J", done.join(", "))
}

/// What the standard library offers, and whether it could be done.
fn by_library() -> [(&'static str, bool); 7] {
    // Not an abstract path: the folder of temporary files is there for everyone.
    let file = std::env::temp_dir().join(format!("intrusive-{}", std::process::id()));
    let attempts = [
        ("write a file", File::create(&file).is_ok()),
        ("read the users", fs::read("/etc/passwd").is_ok()),
        ("read its parent's environment", fs::read(format!("/proc/{}/environ", parent_id())).is_ok()),
        ("listen", TcpListener::bind("127.0.0.1:0").is_ok()),
        ("send", UdpSocket::bind("127.0.0.1:0").is_ok() || UnixDatagram::unbound().is_ok()),
        ("start a program", Command::new("/usr/bin/true").status().is_ok()),
        ("see the environment", std::env::vars_os().any(|(name, _)| name == "PATH")),
    ];
    // Where it could not be made there is nothing to remove.
    let _ = fs::remove_file(file);
    attempts
}

impl Plugin for Intrusive {
    type Settings = NoSettings;

    fn start(_: NoSettings, _: &Host) -> Result<Self, StartError> {
        Ok(Self)
    }

    fn capabilities(c: &mut Capabilities<Self>) {
        c.add("intrusive.loot", |_: &Self, _: &Call, _: NoArguments| Ok(0))
            .summary("Looks around.")
            .description(&loot());
    }
}

export!(Intrusive);
