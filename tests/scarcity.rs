//! A machine that runs short: no room on the disk, no descriptors, no processes, a clock that jumps. The daemon stays up
//! and says what is missing, and once there is enough again it goes on as before; or it does not start, and says why in
//! one line.

use std::fs::{self, Permissions};
use std::io::Write as _;
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::harness::{
    Answer, Daemon, allow_all, by_header, executable, main_of, not_run, program, records, run, until,
};

/// Mounts need root, and so does becoming somebody else.
fn is_root(test: &str) -> bool {
    let root = rustix::process::geteuid().is_root();
    if !root {
        not_run(test, "needs root");
    }
    root
}

/// The executable in a mount namespace of its own, after this script, where `$folder` is the configuration's.
fn after(script: &str, program: &str) -> Command {
    let mut command = Command::new("unshare");
    command.args(["--mount", "bash", "-ec"]);
    command.arg(format!("folder=$(dirname \"${{!#}}\"); {script}; exec {program} \"$@\"")).arg("bash");
    command
}

/// A path as the daemon sees it.
fn inside(daemon: &Daemon, path: &Path) -> PathBuf {
    Path::new(&format!("/proc/{}/root", daemon.pid())).join(path.strip_prefix("/").unwrap())
}

fn lines(path: &Path) -> Vec<Value> {
    fs::read_to_string(path).unwrap().lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
}

/// Whether one line of the log has both.
fn told(daemon: &Daemon, what: &str, why: &str) -> bool {
    daemon.log().lines().any(|line| line.contains(what) && line.contains(why))
}

#[test]
fn a_disk_that_fills_up_fails_what_needs_it_and_nothing_else() {
    if !is_root("a_disk_that_fills_up_fails_what_needs_it_and_nothing_else") {
        return;
    }
    let config = allow_all(&format!("[audit]\nto = \"file:small/audit.jsonl\"\n{}", records()))
        .replace("\"records.db\"", "\"small/records.db\"");
    let mount = "mount --types tmpfs --options size=1m tmpfs \"$folder/small\"";
    let prepare = |folder: &Path| fs::create_dir(folder.join("small")).unwrap();
    let daemon = Daemon::start_by(after(mount, executable()), &config, prepare, |_| {});
    let small = inside(&daemon, &daemon.folder.path().join("small"));
    let put = |text: &str| daemon.main(&format!("return records.put(key = \"a\", value = \"{text}\" * 9000)"));
    assert!(!put("a").is_error);
    until("the first lines are there", || lines(&small.join("audit.jsonl")).len() == 2);

    let mut fill = fs::File::create(small.join("fill")).unwrap();
    while fill.write_all(&[0; 512]).is_ok() {}
    // What was begun on the last page still has room.
    for _ in 0..40 {
        assert_eq!(*daemon.main("return 1").result(), 1);
    }
    assert!(put("b").error().starts_with("capability failed"), "{:?}", put("b"));
    until("the log says so", || told(&daemon, "the audit cannot be written", "No space left on device"));
    until("and of the run", || told(&daemon, "run failed", "full"));

    drop(fill);
    fs::remove_file(small.join("fill")).unwrap();
    assert!(!put("c").is_error);
    let count = |kind: &str| lines(&small.join("audit.jsonl")).iter().filter(|line| line["kind"] == kind).count();
    let lost = || -> u64 { lines(&small.join("audit.jsonl")).iter().filter_map(|line| line["records"].as_u64()).sum() };
    // Three runs with a call, and forty without.
    until("all is audited, or told as lost", || count("run") + count("call") + lost() as usize == 46);
    assert!(lost() > 0);
}

#[test]
fn a_file_system_that_is_read_only_keeps_nobody_from_serving() {
    if !is_root("a_file_system_that_is_read_only_keeps_nobody_from_serving") {
        return;
    }
    let mount = "mount --bind \"$folder\" \"$folder\" && mount --options remount,bind,ro \"$folder\"";
    let daemon = Daemon::start_by(after(mount, executable()), &allow_all(""), |_| {}, |_| {});
    assert_eq!(*daemon.main("return 1").result(), 1);
    daemon.reload();
    assert_eq!(*daemon.main("return 2").result(), 2);

    let path = daemon.folder.path().join("codemode.toml");
    fs::write(&path, allow_all("[audit]\nto = \"file:audit.jsonl\"\n")).unwrap();
    let done = after(mount, executable()).arg("--config").arg(&path).output().unwrap();
    let told = String::from_utf8(done.stderr).unwrap();
    assert_eq!((done.status.code(), told.lines().count()), (Some(73), 1), "{told}");
    assert!(told.starts_with("error: audit.to: cannot write `/") && told.contains("Read-only file system"), "{told}");
}

/// Changes what a daemon may have of a resource, as the user that it is.
fn allow(daemon: &Daemon, user: u32, most: &str) {
    let (user, pid) = (user.to_string(), daemon.pid().to_string());
    let mut command = Command::new("setpriv");
    command.args(["--reuid", &user, "--regid", &user, "--clear-groups", "prlimit", "--pid", &pid, most]);
    let done = command.output().unwrap();
    assert!(done.status.success(), "{done:?}");
}

/// What a daemon may have of a resource now.
fn limit(daemon: &Daemon, name: &str) -> String {
    let limits = fs::read_to_string(format!("/proc/{}/limits", daemon.pid())).unwrap();
    let line = limits.lines().find_map(|line| line.strip_prefix(name)).unwrap();
    line.split_whitespace().next().unwrap().to_owned()
}

/// What may be answered while something is short: the right thing, or that it failed, but not nothing.
fn is_answer(answer: &Answer) -> bool {
    match answer.is_error {
        true => answer.error() == "internal failure" || answer.error().starts_with("resource limit exceeded"),
        false => *answer.result() == 1,
    }
}

#[test]
fn descriptors_that_run_out_are_told_and_missed_by_nobody_afterwards() {
    if !is_root("descriptors_that_run_out_are_told_and_missed_by_nobody_afterwards") {
        return;
    }
    let daemon = by_header("[workers]\nready = 1\n[limits]\nmax_execution_time = \"2s\"\n");
    let one = |who: &str| main_of(&daemon, who, &program("return 1"));
    assert_eq!(*one("ann").result(), 1);
    let open = fs::read_dir(format!("/proc/{}/fd", daemon.pid())).unwrap().count() as u64;
    let before = limit(&daemon, "Max open files");
    allow(&daemon, 0, &format!("--nofile={}:", open + 12));

    let held: Vec<_> = (0..8).map(|_| TcpStream::connect(daemon.address()).unwrap()).collect();
    until("they are accepted", || daemon.connections() >= held.len());
    for _ in 0..6 {
        let answer = one("ann");
        assert!(is_answer(&answer), "{answer:?}");
    }
    let more: Vec<_> = (0..20).map(|_| TcpStream::connect(daemon.address()).unwrap()).collect();
    until("the log tells it", || told(&daemon, "a connection could not be accepted", "Too many open files"));

    drop((held, more));
    until("it serves as before, though it has no more", || !one("ann").is_error);
    allow(&daemon, 0, &format!("--nofile={before}:"));
    for who in ["ann", "bob"] {
        assert_eq!(*one(who).result(), 1);
    }
    assert!(!daemon.log().contains("panicked"), "{}", daemon.log());
}

/// As a user who is nobody else on this machine, for the kernel counts a user's processes.
#[test]
fn processes_that_run_out_end_runs_and_not_the_daemon() {
    if !is_root("processes_that_run_out_end_runs_and_not_the_daemon") {
        return;
    }
    for how in ["exec", "fork"] {
        let prepare = |folder: &Path| {
            fs::copy(executable(), folder.join("codemoded")).unwrap();
            fs::set_permissions(folder, Permissions::from_mode(0o755)).unwrap();
        };
        let user = if how == "exec" { 64_123 } else { 64_124 };
        let mut command = Command::new("bash");
        let become_user = format!("exec setpriv --reuid={user} --regid={user} --clear-groups");
        command.args(["-ec", &format!("{become_user} \"$(dirname \"${{!#}}\")/codemoded\" \"$@\""), "bash"]);
        let rest = format!("[workers]\nready = 1\nstart = \"{how}\"\n[limits]\nmax_execution_time = \"2s\"\n");
        let daemon = Daemon::start_by(command, &allow_all(&rest), prepare, |_| {});
        assert_eq!(*daemon.main("return 1").result(), 1);
        until("a worker waits", || !daemon.children().is_empty());

        let before = limit(&daemon, "Max processes");
        allow(&daemon, user, "--nproc=1:");
        let answers: Vec<_> = (0..4).map(|_| daemon.main("return 1")).collect();
        assert!(answers.iter().all(is_answer), "{answers:?}");
        if how == "exec" {
            assert!(answers.iter().any(|answer| answer.is_error), "{answers:?}");
            until("the log tells why", || told(&daemon, "cannot start a worker", "Resource temporarily unavailable"));
        }
        allow(&daemon, user, &format!("--nproc={before}:"));
        until("runs are right again", || !daemon.main("return 1").is_error);
    }
}

/// A control group with little memory, of either version; removed with the processes that are left in it gone.
struct Group(PathBuf);

impl Group {
    fn new(bytes: u64) -> Option<Self> {
        let name = format!("codemoded-test-{}", std::process::id());
        [("/sys/fs/cgroup/memory", "memory.limit_in_bytes"), ("/sys/fs/cgroup", "memory.max")].into_iter().find_map(
            |(root, limit)| {
                let group = Self(Path::new(root).join(&name));
                fs::create_dir(&group.0).ok()?;
                fs::write(group.0.join(limit), bytes.to_string()).ok()?;
                Some(group)
            },
        )
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        // The kernel takes a moment to let go of the last process.
        until("the group is empty", || fs::remove_dir(&self.0).is_ok());
    }
}

/// As `MemoryMax=` of the unit does it.
#[test]
fn memory_that_runs_out_ends_the_run_that_takes_it_and_not_the_daemon() {
    let test = "memory_that_runs_out_ends_the_run_that_takes_it_and_not_the_daemon";
    let Some(group) = Group::new(160 << 20) else {
        return not_run(test, "needs root, and a control group for memory");
    };
    for how in ["exec", "fork"] {
        let mut command = Command::new("bash");
        let enter = format!("echo $$ >{}/cgroup.procs; exec {} \"$@\"", group.0.display(), executable());
        command.args(["-ec", &enter, "bash"]);
        let rest = format!(
            "[workers]\nready = 1\nstart = \"{how}\"\n[limits]\nmax_worker_memory = \"512MiB\"\n\
             max_execution_time = \"20s\"\n"
        );
        let daemon = Daemon::start_by(command, &allow_all(&rest), |_| {}, |_| {});
        let adjusted = |pid: u32| fs::read_to_string(format!("/proc/{pid}/oom_score_adj"));
        // One that ends meanwhile has no file, and one that begins has not yet said so.
        let goes_first = |pid: u32| adjusted(pid).is_ok_and(|score| score == "1000\n");
        until("workers wait, and go first", || {
            let children = daemon.children();
            !children.is_empty() && children.into_iter().all(goes_first)
        });
        assert_ne!(adjusted(daemon.pid()).unwrap(), "1000\n", "{how}");
        for _ in 0..3 {
            let answer = daemon.main("x = \"x\" * 300000000\nreturn len(x)");
            assert_eq!(answer.error(), "internal failure", "{how}");
            assert_eq!(*daemon.main("return 1").result(), 1, "{how}");
        }
        until("the log says why", || told(&daemon, "run failed", "KILL"));
    }
}

/// Deadlines go by a clock that nobody sets; what expires on a date goes by the date.
#[test]
fn a_clock_that_jumps_moves_dates_and_no_deadline() {
    let Some(preload) = std::env::var_os("CODEMODE_FAKETIME") else {
        return not_run(
            "a_clock_that_jumps_moves_dates_and_no_deadline",
            "CODEMODE_FAKETIME is not set; use tests/run",
        );
    };
    let folder = tempfile::tempdir().unwrap();
    let (code, minted, errors) = run(&["token", "new", "--subject", "ann", "--days", "30"], folder.path());
    assert_eq!(code, 0, "{errors}");
    let (token, line) = minted.trim_end().split_once('\n').unwrap();
    let bearer = format!("Bearer {token}");
    let clock = folder.path().join("clock");
    let set = |offset: &str| fs::write(&clock, offset).unwrap();
    set("+0");
    let config = allow_all("[limits]\nmax_execution_time = \"1s\"\nmax_execution_steps = 1000000000000\n")
        .replace("mode = \"static\"\nsubject = \"local\"", "mode = \"tokens\"\ntokens_file = \"tokens.toml\"");
    let prepare = |folder: &Path| fs::write(folder.join("tokens.toml"), line).unwrap();
    let daemon = Daemon::start_by(Command::new(executable()), &config, prepare, |command| {
        command.env("LD_PRELOAD", preload).env("FAKETIME_TIMESTAMP_FILE", &clock);
        command.env("FAKETIME_NO_CACHE", "1").env("FAKETIME_DONT_FAKE_MONOTONIC", "1");
    });
    let authorization = [("authorization", bearer.as_str())];
    let ping = json!({ "jsonrpc": "2.0", "id": 1, "method": "ping" });
    let status = || daemon.post(&ping, &authorization).0;
    assert_eq!(status(), 200);

    for jump in ["+1d", "-9d"] {
        let began = Instant::now();
        let endless = program("for i in range(1000000000):\n    pass");
        std::thread::scope(|scope| {
            let run = scope.spawn(|| daemon.call("execute", json!({ "source": endless }), &authorization));
            until("the run has begun", || began.elapsed() > Duration::from_millis(300));
            set(jump);
            assert_eq!(run.join().unwrap().error(), "resource limit exceeded: max_execution_time");
        });
        assert!(began.elapsed() >= Duration::from_secs(1) && began.elapsed() < Duration::from_secs(5));
        assert_eq!(status(), 200, "{jump}");
    }
    set("+31d");
    until("the token has expired", || status() == 401);
    set("+0");
    until("and not yet, after all", || status() == 200);
}
