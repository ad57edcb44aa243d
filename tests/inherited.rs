//! Limits that a daemon was started under, lower than its workers' own: they keep to these too, and lose none of the
//! others.

use std::fs;
use std::process::Command;

use serde_json::json;

use crate::harness::{Daemon, allow_all, executable, until};

const ADDRESS_SPACE: u64 = 8 << 30;

/// A daemon that was started under this limit, and has not the right to raise it.
#[track_caller]
fn under(limit: &str, config: &str) -> Daemon {
    let mut command = Command::new("prlimit");
    command.arg(limit);
    if rustix::process::geteuid().is_root() {
        command.args(["setpriv", "--bounding-set=-sys_resource"]);
    }
    command.arg(executable());
    Daemon::start_by(command, &allow_all(config), |_| {}, |_| {})
}

/// The soft and the hard limit of a process, by the name that `/proc` gives it.
fn limit(pid: u32, name: &str) -> Option<(String, String)> {
    let limits = fs::read_to_string(format!("/proc/{pid}/limits")).ok()?;
    let mut values = limits.lines().find_map(|line| line.strip_prefix(name))?.split_whitespace();
    Some((values.next()?.to_owned(), values.next()?.to_owned()))
}

#[test]
fn a_worker_has_its_other_limits_where_the_daemon_s_address_space_is_limited() {
    for how in ["exec", "fork"] {
        let workers = format!("[workers]\nready = 1\nstart = \"{how}\"\nsandbox = \"prefer\"\n");
        let config = format!("{workers}[limits]\nmax_worker_memory = \"16GiB\"\nmax_execution_time = \"5s\"\n");
        let daemon = under(&format!("--as={ADDRESS_SPACE}"), &config);
        let both = |value: u64| Some((value.to_string(), value.to_string()));
        let is_worker = |pid: &u32| limit(*pid, "Max cpu time").is_some_and(|(soft, _)| soft != "unlimited");
        until("a worker has limits", || daemon.children().iter().any(is_worker));
        let Some(pid) = daemon.children().into_iter().find(is_worker) else { panic!("{how}: no worker") };
        until("it has them all", || limit(pid, "Max open files") == both(0));
        for (name, expected) in [
            ("Max address space", ADDRESS_SPACE),
            ("Max processes", 0),
            ("Max file size", 0),
            ("Max core file size", 0),
        ] {
            until(name, || limit(pid, name) == both(expected));
        }
        assert_eq!(*daemon.main("return 1").result(), json!(1));
        assert!(!daemon.log().contains("\"resource limits\""), "{}", daemon.log());
    }
}

/// What is required of a host is not less than what it has set itself.
#[test]
fn a_host_that_is_stricter_already_confines_as_required() {
    let require = "[workers]\nsandbox = \"require\"\n";
    let config = format!("{require}[limits]\nmax_worker_memory = \"16GiB\"\n");
    let daemon = under(&format!("--as={ADDRESS_SPACE}"), &config);
    assert_eq!(*daemon.main("return 1").result(), json!(1));
}

#[test]
fn a_program_that_nests_too_deeply_is_told_so_on_a_smaller_stack_too() {
    for how in ["exec", "fork"] {
        let config = format!("[workers]\nstart = \"{how}\"\n[limits]\nmax_source_bytes = \"1MiB\"\n");
        let daemon = under("--stack=8388608", &config);
        let deep = format!("return {}1", "-".repeat(500_000));
        assert_eq!(daemon.main(&deep).error(), "invalid program: nested too deeply", "{how}");
        assert_eq!(*daemon.main("return 1").result(), json!(1));
    }
}
