//! Attacks from inside a confined worker: each is stopped, the daemon answers what it must, and the next run works.
//!
//! The workers are those of `codemoded/examples/intruder`, which differ from `codemoded`'s in nothing but what they do
//! once they are confined. The kernel's refusals stand behind the filter, so they are tried with the filter away.

use std::fs;
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::json;

use crate::harness::{Answer, Daemon, allow_all, intruder, not_run, refusal_of, title, until};

const TIME: &str = "resource limit exceeded: max_execution_time";
const MEMORY: &str = "resource limit exceeded: max_worker_memory";
const DEEP: &str = "invalid program: nested too deeply";
const INTERNAL: &str = "internal failure";
/// The signal of a system call that the filter forbids.
const FORBIDDEN: &str = "signal: 31 (SIGSYS)";

/// What the filter lets through (`worker/sandbox.rs`), or what ends the process.
const LET_THROUGH: [i64; 22] = [
    libc::SYS_read,
    libc::SYS_write,
    libc::SYS_recvfrom,
    libc::SYS_sendto,
    libc::SYS_mmap,
    libc::SYS_mprotect,
    libc::SYS_mremap,
    libc::SYS_munmap,
    libc::SYS_madvise,
    libc::SYS_brk,
    libc::SYS_futex,
    libc::SYS_getrandom,
    libc::SYS_clock_gettime,
    libc::SYS_sigaltstack,
    libc::SYS_rt_sigaction,
    libc::SYS_rt_sigprocmask,
    libc::SYS_rt_sigreturn,
    libc::SYS_exit,
    libc::SYS_exit_group,
    libc::SYS_close,
    libc::SYS_getpid,
    libc::SYS_gettid,
];

/// No system call of today's kernels has a higher number.
const LAST_CALL: i64 = 511;

/// Calls of the kernel's own trampolines on x86-64, which no filter sees; the kernel refuses them from elsewhere.
const TRAMPOLINES: [i64; 2] = [335, 336];

fn start(how: &str, limits: &str, orders: &str) -> Daemon {
    let config =
        format!("[workers]\nready = 2\nstart = \"{how}\"\n[limits]\nmax_concurrent_executions = 1\n{limits}\n");
    Daemon::start_as(&intruder(), &allow_all(&config), |folder| fs::write(folder.join("intruder"), orders).unwrap())
}

/// How the log says that this run's worker died.
fn death(daemon: &Daemon, answer: &Answer) -> String {
    let run = answer.meta["codemoded/run"].as_str().unwrap();
    let patience = Instant::now() + Duration::from_secs(10);
    loop {
        let log = daemon.log();
        let mut lines = log.lines().filter(|line| line.contains(run));
        if let Some(line) = lines.find(|line| line.contains("the worker died")) {
            return line.to_owned();
        }
        assert!(Instant::now() < patience, "no word of the worker's death: {log}");
    }
}

#[track_caller]
fn killed(daemon: &Daemon, attack: &str, by: &str) {
    let answer = daemon.execute(&format!("attack {attack}"));
    assert!(answer.is_error, "{attack} was not stopped: {}", answer.text);
    assert_eq!(answer.error(), INTERNAL, "{attack}");
    let death = death(daemon, &answer);
    assert!(death.contains(by), "{attack}: {death}");
}

#[track_caller]
fn next_run_works(daemon: &Daemon, after: &str) {
    assert_eq!(*daemon.main("return 1 + 1").result(), json!(2), "after {after}");
}

#[test]
fn every_way_out_of_a_worker_is_closed() {
    for how in ["exec", "fork"] {
        let daemon = start(how, "", "");
        for attack in [
            "open",
            "create",
            "environment-of-parent",
            "socket",
            "connect",
            "memory-file",
            "duplicate",
            "fork",
            "execute",
            "trace-parent",
            "read-parent",
            "signal-parent",
            "watch-parent",
            "be-dumpable",
            "raise-limits",
            "raise-limits-of-parent",
            "user-namespace",
            "executable-memory",
            "make-executable",
            "other-table",
        ] {
            killed(&daemon, attack, FORBIDDEN);
            next_run_works(&daemon, attack);
        }
        // Where the kernel has no 32-bit gate, the processor refuses.
        killed(&daemon, "old-gate", "signal: ");
        killed(&daemon, "wild-write", "signal: 11 (SIGSEGV)");
        killed(&daemon, "panic", "exit status: 70");
        killed(&daemon, "leave 0", "exit status: 0");
        killed(&daemon, "leave 1", "exit status: 1");
        next_run_works(&daemon, "all");
    }
}

#[test]
fn no_system_call_is_let_through_but_those_of_the_list() {
    let daemon = start("fork", "", "");
    let known = [&LET_THROUGH[..], &TRAMPOLINES].concat();
    for number in (0..=LAST_CALL).filter(|number| !known.contains(number)) {
        killed(&daemon, &format!("call {number}"), FORBIDDEN);
    }
}

#[test]
fn no_descriptor_is_left_but_the_channel() {
    for how in ["exec", "fork"] {
        let answer = start(how, "", "").execute("attack descriptors");
        assert_eq!(answer.result()["returned"], 0, "{how}");
    }
}

#[test]
fn what_a_worker_spends_too_much_of_ends_it() {
    for how in ["exec", "fork"] {
        let daemon = start(how, "max_execution_time = \"1s\"\nmax_worker_memory = \"32MiB\"", "");
        for (attack, text) in [
            ("heap", MEMORY),
            ("stack", DEEP),
            ("spin", TIME),
            ("spin-deaf", TIME),
            // A worker may say of itself that it died of these.
            ("leave 71", DEEP),
            ("leave 72", MEMORY),
        ] {
            assert_eq!(daemon.execute(&format!("attack {attack}")).error(), text, "{how}: {attack}");
            next_run_works(&daemon, attack);
        }
    }
}

/// Past the allocator's count, the kernel gives no more than that and the allocator's slack.
#[test]
fn the_kernel_bounds_the_address_space() {
    for how in ["exec", "fork"] {
        let answer = start(how, "max_worker_memory = \"32MiB\"", "").execute("attack address-space");
        let mebibytes = answer.result()["returned"].as_i64().unwrap();
        assert!((32..=32 + 256 + 64).contains(&mebibytes), "{how}: {mebibytes} MiB");
    }
}

/// The processor time of a process, in clock ticks, and whether it still runs.
fn processor_ticks(pid: u32) -> Option<u64> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let fields: Vec<_> = stat.rsplit_once(") ")?.1.split(' ').collect();
    (fields[0] != "Z").then(|| fields[11].parse::<u64>().unwrap() + fields[12].parse::<u64>().unwrap())
}

/// Waits longer than for anything else: processor time comes slowly on a machine that does other things too.
#[track_caller]
fn until_spent(what: &str, mut holds: impl FnMut() -> bool) {
    let patience = Instant::now() + Duration::from_secs(90);
    while !holds() {
        assert!(Instant::now() < patience, "not within ninety seconds: {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Gives orders to the workers that start from now on, and has one of them start.
fn order(daemon: &Daemon, orders: &str) {
    fs::write(daemon.folder.path().join("intruder"), orders).unwrap();
    let is_template = |pid: &u32| title(*pid) == "codemoded-template";
    // A template has read its orders already; the next one will read these.
    for template in daemon.children().into_iter().filter(is_template) {
        Command::new("kill").args(["-KILL", &template.to_string()]).status().unwrap();
    }
    // Whatever comes of it: the worker may be one that follows the orders.
    daemon.main("return 1");
}

#[test]
fn the_kernel_ends_a_worker_that_spins_while_nobody_looks() {
    for how in ["exec", "fork"] {
        let daemon = start(how, "max_execution_time = \"900ms\"", "");
        // It does not even hear the first signal.
        order(&daemon, "waiting spin-deaf");
        let spinning = || daemon.children().into_iter().find(|pid| processor_ticks(*pid) > Some(20));
        until_spent("a worker spins", || spinning().is_some());
        let Some(pid) = spinning() else { panic!("{how}: it ended before its time") };
        until_spent("the kernel has ended it", || processor_ticks(pid).is_none());
    }
}

#[test]
fn a_worker_that_the_kernel_ends_for_its_processor_time_has_exceeded_the_limit() {
    for how in ["exec", "fork"] {
        let daemon = start(how, "max_execution_time = \"900ms\"", "");
        // Of its two seconds, a part of which its start took, it leaves little for the program.
        order(&daemon, "waiting burn 1700");
        let burnt = || daemon.children().iter().any(|pid| processor_ticks(*pid) >= Some(140));
        until_spent("a worker has burnt its time", burnt);
        assert_eq!(daemon.execute("attack spin").error(), TIME, "{how}");
    }
}

/// The parts of its workers' confinement that a daemon misses, as it says at its start.
fn missing(daemon: &Daemon) -> String {
    daemon.log().lines().filter(|line| line.contains("this system cannot confine workers fully")).collect()
}

#[test]
fn a_part_that_the_kernel_does_not_give_is_told_and_refused_where_it_is_required() {
    for how in ["exec", "fork"] {
        for (part, name) in [("seccomp", "seccomp"), ("landlock", "landlock"), ("limits", "resource limits")] {
            let orders = format!("without {part}");
            let daemon = start(how, "", &orders);
            until("the log says so", || missing(&daemon).contains(&format!("\"{name}\"")));
            next_run_works(&daemon, part);

            let config = allow_all(&format!("[workers]\nstart = \"{how}\"\nsandbox = \"require\"\n"));
            let refused = refusal_of(&intruder(), &config, 78, |folder| {
                fs::write(folder.join("intruder"), &orders).unwrap();
            });
            let text = format!("workers.sandbox: this system cannot confine workers as required: no {name}");
            assert!(refused.contains(&text), "{how}: {refused}");
        }
    }
}

/// Each attack comes as far as this error.
#[track_caller]
fn refused(daemon: &Daemon, attacks: &[(&str, i32)]) {
    for (attack, errno) in attacks {
        let answer = daemon.execute(&format!("attack {attack}"));
        assert_eq!(*answer.result(), json!({ "returned": -1, "errno": errno }), "{attack}");
    }
}

#[test]
fn behind_the_filter_stand_the_limits() {
    for how in ["exec", "fork"] {
        let daemon = start(how, "", "without seccomp");
        let full = ["open", "create", "environment-of-parent", "socket", "memory-file", "duplicate", "watch-parent"];
        refused(&daemon, &full.map(|attack| (attack, libc::EMFILE)));
        assert_eq!(daemon.execute("attack descriptors").result()["returned"], 0, "{how}");
    }
}

#[test]
fn behind_the_filter_and_the_limits_stands_landlock() {
    for how in ["exec", "fork"] {
        let daemon = start(how, "", "without limits\nwithout seccomp");
        until("the log says what is missing", || !missing(&daemon).is_empty());
        if missing(&daemon).contains("landlock") {
            not_run("behind_the_filter_and_the_limits_stands_landlock", "this kernel has no Landlock");
            return;
        }
        refused(
            &daemon,
            &[
                ("open", libc::EACCES),
                ("create", libc::EACCES),
                ("environment-of-parent", libc::EACCES),
                ("execute", libc::EACCES),
                ("socket-and-connect", libc::EACCES),
                ("trace-parent", libc::EPERM),
                ("read-parent", libc::EPERM),
                ("signal-parent", libc::EPERM),
            ],
        );
    }
}
