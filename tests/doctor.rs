//! `codemoded doctor`: each thing that it looks at is made to fail once, by real means.

use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;

use crate::harness::{allow_all, executable, faulty_example, intruder, library, not_run, plugin, records};

/// A configuration that nothing is wrong with, and its folder.
struct Host {
    folder: tempfile::TempDir,
}

/// What a healthy host's configuration has beside [`allow_all`]: little enough for every machine.
const SMALL: &str = "[limits]\nmax_worker_memory = \"32MiB\"\nmax_concurrent_executions = 2\nmax_concurrent_executions_per_subject = 2\n";

impl Host {
    fn new(config: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("codemode.toml"), config).unwrap();
        Self { folder }
    }

    /// One with nothing wrong, and this beside it.
    fn with(rest: &str) -> Self {
        Self::new(&(allow_all(&format!("[admin]\nlisten = \"127.0.0.1:0\"\n{rest}{SMALL}")) + &records()))
    }

    fn file(&self, name: &str, text: &str, mode: u32) -> PathBuf {
        let path = self.folder.path().join(name);
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        path
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// What the doctor says, started by this command.
    fn by(&self, mut command: Command) -> Told {
        let done = command
            .arg("--config")
            .arg(self.path("codemode.toml"))
            .args(["doctor", "--json"])
            .current_dir(self.folder.path())
            .output()
            .unwrap();
        Told::of(&done)
    }

    fn told(&self) -> Told {
        self.by(Command::new(executable()))
    }

    /// Started by a shell that does this first, to itself.
    fn after(&self, preparation: &str) -> Told {
        self.by(shell(preparation, executable()))
    }
}

fn shell(preparation: &str, program: &str) -> Command {
    let mut command = Command::new("sh");
    command.arg("-c").arg(format!("{preparation} \"$0\" \"$@\"")).arg(program);
    command
}

/// The doctor's findings and exit code.
#[derive(Debug)]
struct Told {
    code: Option<i32>,
    findings: Vec<Value>,
}

impl Told {
    fn of(done: &Output) -> Self {
        let findings = serde_json::from_slice(&done.stdout).unwrap_or_else(|_| panic!("{done:?}"));
        Self { code: done.status.code(), findings }
    }

    /// There is such a finding, as bad as this, which says this; and it has a mend where it is bad.
    #[track_caller]
    fn has(&self, what: &str, severity: &str, found: &str) {
        let of = |finding: &&Value| {
            finding["what"] == what
                && finding["severity"] == severity
                && finding["found"].as_str().unwrap().contains(found)
        };
        let finding = self.findings.iter().find(of).unwrap_or_else(|| panic!("{what} {severity} {found}: {self:#?}"));
        assert_eq!(finding["mend"].is_string(), severity != "ok", "{finding}");
        let worst = match severity {
            "fault" => Some(78),
            "warning" => self.code.filter(|code| [1, 78].contains(code)),
            _ => self.code,
        };
        assert_eq!(self.code, worst, "{self:#?}");
    }
}

#[test]
fn a_host_that_gives_everything_is_fine() {
    let told = Host::with("").told();
    for what in ["configuration", "processes", "memory", "workers", "seccomp", "landlock", "resource limits"] {
        told.has(what, "ok", "");
    }
    for (what, found) in [
        ("landlock", "ABI "),
        ("server.listen", "127.0.0.1:0 is free"),
        ("admin.listen", "127.0.0.1:0 is free"),
        ("plugin records", "ABI 1, 5 capabilities"),
        ("policy", "allow-all"),
    ] {
        told.has(what, "ok", found);
    }
    assert!([Some(0), Some(1)].contains(&told.code), "{told:#?}");
}

#[test]
fn the_table_shows_each_finding_and_the_mend_below_it() {
    let host = Host::with("");
    let done = Command::new(executable()).arg("doctor").current_dir(host.folder.path()).output().unwrap();
    let table = String::from_utf8(done.stdout).unwrap();
    assert!(table.contains("ok       policy           allow-all: every call is allowed\n"), "{table}");
    host.file("codemode.toml", "[server]\nlisten = 5\n", 0o644);
    let done = Command::new(executable()).arg("doctor").current_dir(host.folder.path()).output().unwrap();
    let table = String::from_utf8(done.stdout).unwrap();
    assert_eq!(done.status.code(), Some(78));
    assert!(table.contains("FAULT    configuration  codemode.toml:2:10: server.listen: expected a string"), "{table}");
    assert!(table.contains("mend: mend the configuration; nothing else was looked at\n"), "{table}");
}

#[test]
fn too_few_open_files() {
    let host = Host::with("");
    host.after("prlimit --nofile=900:900").has(
        "open files",
        "warning",
        "at most 900; server.max_connections wants 17384",
    );
    host.after("prlimit --nofile=60:60").has("open files", "fault", "at most 60; the workers alone need 80");
    let few = Host::new(&allow_all(SMALL).replace("[server]\n", "[server]\nmax_connections = 10\n"));
    few.after("prlimit --nofile=1020:1020").has("open files", "ok", "at most 1020; server.max_connections wants 1010");
}

/// A folder that every user may enter, with the executable in it, for a user who is not root.
fn for_anybody(host: &Host) -> PathBuf {
    fs::set_permissions(host.folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let copy = host.path("codemoded");
    fs::copy(executable(), &copy).unwrap();
    copy
}

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

#[test]
fn too_few_processes() {
    let host = Host::new(&allow_all(SMALL));
    let copy = for_anybody(&host);
    let user = if is_root() { "setpriv --reuid=61234 --clear-groups " } else { "" };
    let told = host.by(shell(&format!("{user}prlimit --nproc=50:50"), copy.to_str().unwrap()));
    if is_root() {
        told.has("processes", "warning", "at most 50, threads included");
    }
}

#[test]
fn too_little_memory() {
    let big = |size: &str| allow_all(&format!("[limits]\nmax_worker_memory = \"{size}\"\n"));
    Host::new(&big("1000GiB")).told().has("memory", "fault", "10 workers of 1024000 MiB each");
    let total = fs::read_to_string("/proc/meminfo").unwrap();
    let total: u64 = total.split_whitespace().nth(1).unwrap().parse().unwrap();
    Host::new(&big(&format!("{}MiB", total / 1024 / 5))).told().has("memory", "warning", "may be used; 10 workers of");
}

#[test]
fn no_worker_can_be_started() {
    let forked = Host::with("[workers]\nstart = \"fork\"\n");
    forked.told().has("workers", "ok", "one was forked from a template");
    if !is_root() {
        return not_run("doctor::no_worker_can_be_started", "only root may unmount /proc for one process");
    }
    let without_proc = "exec unshare --mount sh -c 'umount -l /proc && exec \"$0\" \"$@\"'";
    for how in ["exec", "fork"] {
        let host = Host::new(&allow_all(&format!("[workers]\nstart = \"{how}\"\n{SMALL}")));
        let told = host.after(without_proc);
        told.has("workers", "fault", "No such file or directory");
        told.has("memory", "warning", "neither the group's limit nor the system's memory can be read");
    }
}

#[test]
fn a_part_of_the_confinement_is_not_given() {
    for (part, what) in [("seccomp", "seccomp"), ("landlock", "landlock"), ("limits", "resource limits")] {
        for (sandbox, severity) in [("prefer", "warning"), ("require", "fault")] {
            let host = Host::with(&format!("[workers]\nsandbox = \"{sandbox}\"\n"));
            host.file("intruder", &format!("without {part}"), 0o644);
            host.by(Command::new(intruder())).has(what, severity, "the kernel does not give it");
        }
    }
    Host::with("[workers]\nsandbox = \"danger_off\"\n").told().has("confinement", "warning", "not confined at all");
}

#[test]
fn an_address_cannot_be_had() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let taken = taken.local_addr().unwrap().to_string();
    let at = |address: &str| Host::new(&allow_all(SMALL).replace("127.0.0.1:0", address));
    at(&taken).told().has("server.listen", "warning", &format!("{taken} is in use"));
    let admin = |address: &str| Host::new(&allow_all(&format!("[admin]\nlisten = \"{address}\"\n{SMALL}")));
    admin(&taken).told().has("admin.listen", "warning", &format!("{taken} is in use"));
    admin("off").told().has("admin.listen", "ok", "off");
    // Of the networks that are kept for documents, and so no machine's.
    let foreign = at("192.0.2.1:8787");
    foreign.file(
        "codemode.toml",
        &fs::read_to_string(foreign.path("codemode.toml"))
            .unwrap()
            .replace("subject = \"local\"", "subject = \"local\"\ndanger_allow_non_loopback = true"),
        0o644,
    );
    foreign.told().has("server.listen", "fault", "192.0.2.1:8787 cannot be listened on: ");
    let drop = if is_root() { "setpriv --bounding-set=-net_bind_service" } else { "exec" };
    at("127.0.0.1:9").after(drop).has("server.listen", "fault", "ports below 1024 need a privilege");
}

#[test]
fn a_socket_cannot_be_made() {
    let at = |path: &str| Host::new(&allow_all(SMALL).replace("127.0.0.1:0", &format!("unix:{path}")));
    at("mcp.sock").told().has("server.listen", "ok", "can be made");
    at("none/mcp.sock").told().has("server.listen", "fault", "there is no folder");
    let host = at("mcp.sock");
    host.file("mcp.sock", "", 0o644);
    host.told().has("server.listen", "fault", "is there and is no socket");
    let host = at("mcp.sock");
    let _used = UnixListener::bind(host.path("mcp.sock")).unwrap();
    host.told().has("server.listen", "warning", "is in use");
    let host = at("closed/mcp.sock");
    fs::create_dir(host.path("closed")).unwrap();
    fs::set_permissions(host.path("closed"), fs::Permissions::from_mode(0o555)).unwrap();
    let drop = if is_root() { "setpriv --bounding-set=-dac_override,-dac_read_search" } else { "exec" };
    host.after(drop).has("server.listen", "fault", "it may not be written");
}

#[test]
fn a_plugin_cannot_serve() {
    let told = |library: &Path, settings: &str| {
        Host::new(&allow_all(&(SMALL.to_owned() + &plugin("odd", library, settings)))).told()
    };
    told(&faulty_example("other_abi"), "").has(
        "plugin odd",
        "fault",
        "is built for plugin ABI 999, and this daemon has ABI 1",
    );
    told(&faulty_example("crash_on_load"), "").has("plugin odd", "fault", "crashed while it was loaded: SIGABRT");
    told(&library("codemode_faulty"), "start = \"error\"").has("plugin odd", "fault", "did not start: asked to fail");
    let host = Host::new(&allow_all(&(SMALL.to_owned() + &plugin("odd", Path::new("./odd.so"), ""))));
    fs::copy(library("codemode_records"), host.path("odd.so")).unwrap();
    fs::set_permissions(host.path("odd.so"), fs::Permissions::from_mode(0o666)).unwrap();
    host.told().has("plugin odd", "fault", "may be written by others than its owner");
    if is_root() {
        fs::set_permissions(host.path("odd.so"), fs::Permissions::from_mode(0o644)).unwrap();
        chown(host.path("odd.so"), Some(61_234), None).unwrap();
        host.told().has("plugin odd", "fault", "belongs to user 61234");
    }
}

#[test]
fn the_policy_cannot_be_used_or_does_not_decide() {
    let told = |rules: &str| {
        let rego = "mode = \"rego\"\nmodules = [\"p.rego\"]\nexecute = \"data.p.allow\"";
        let host = Host::new(&allow_all(SMALL).replace("mode = \"allow-all\"", rego));
        host.file("p.rego", rules, 0o644);
        host.told()
    };
    told("package p\n\ndefault allow := false\n").has("policy", "ok", "denies a stranger's call");
    told("package p\n\nallow if input.subject.id == \"ann\"\n").has("policy", "warning", "the decision is undefined");
    told("package p\n\nallow if rand.intn(\"x\", 2) == 1\n").has("policy", "fault", "rand.intn");
}

#[test]
fn a_secret_is_not_one() {
    let proxy = "mode = \"proxy\"\nheader = \"x-user\"\npeers = [\"127.0.0.1/32\"]\nshared_secret_file = \"secret\"";
    let host = Host::new(&allow_all(SMALL).replace("mode = \"static\"\nsubject = \"local\"", proxy));
    let told = |mode: u32| {
        host.file("secret", "correct-horse-battery-staple-1234", mode);
        host.told()
    };
    told(0o640).has("secret", "ok", "mode 0640");
    told(0o644).has("secret", "warning", "may be read by every user (mode 0644)");
    told(0o660).has("secret", "fault", "may be written by others (mode 0660)");
    if is_root() {
        told(0o600);
        chown(host.path("secret"), Some(61_234), None).unwrap();
        host.told().has("secret", "fault", "belongs to user 61234");
    }
    fs::remove_file(host.path("secret")).unwrap();
    host.told().has("configuration", "fault", "identity.shared_secret_file: no file at");
}

#[test]
fn the_audit_cannot_be_written() {
    let to = |place: &str| Host::new(&allow_all(&format!("[audit]\nto = \"{place}\"\n{SMALL}")));
    to("off").told().has("audit", "ok", "off");
    to("file:calls.jsonl").told().has("audit", "ok", "calls.jsonl");
    to("file:none/calls.jsonl").told().has("audit", "fault", "there is no folder");
    to("file:.").told().has("audit", "fault", "is a folder");
    let host = to("file:calls.jsonl");
    host.file("calls.jsonl", "", 0o444);
    let drop = if is_root() { "setpriv --bounding-set=-dac_override,-dac_read_search" } else { "exec" };
    host.after(drop).has("audit", "fault", "cannot be written: Permission denied");
    assert!(!to("file:calls.jsonl").path("calls.jsonl").exists());
    if !Path::new("/run/systemd/journal/socket").exists() {
        to("journald").told().has("audit", "fault", "there is no journal");
    }
}

#[test]
fn a_folder_that_agents_shall_read_cannot_be_looked_into() {
    let files = plugin("files", &library("codemode_files"), "roots = { docs = \"docs\" }");
    let host = Host::new(&allow_all(&(SMALL.to_owned() + &files)));
    fs::create_dir(host.path("docs")).unwrap();
    let drop = if is_root() { "setpriv --bounding-set=-dac_override,-dac_read_search" } else { "exec" };
    host.after(drop).has("plugin files", "ok", "4 capabilities");
    fs::set_permissions(host.path("docs"), fs::Permissions::from_mode(0o111)).unwrap();
    host.after(drop).has("plugin files", "fault", "root `docs`: cannot list the folder");
}

/// Stands in for systemd, with a unit that serves this host's configuration.
fn systemctl(host: &Host, config: &str, properties: &str) -> String {
    let start = format!("{{ path=/usr/bin/codemoded ; argv[]=/usr/bin/codemoded --config {config} ; pid=0 }}");
    host.file("systemctl", &format!("#!/bin/sh\ncat <<END\n{properties}\nExecStart={start}\nEND\n"), 0o755);
    format!("{}:/usr/bin:/bin", host.folder.path().display())
}

#[test]
fn root_asks_for_what_another_user_serves() {
    let host = Host::new(&allow_all(&(SMALL.to_owned() + &records())));
    let config = host.path("codemode.toml").display().to_string();
    let path = systemctl(&host, &config, "User=codemoded");
    let mut command = Command::new(executable());
    command.env("PATH", &path);
    let told = host.by(command);
    let run = |arguments: &[&str]| {
        let mut command = Command::new(executable());
        let done = command.env("PATH", &path).arg("--config").arg(&config).args(arguments).output().unwrap();
        (done.status.code(), String::from_utf8(done.stderr).unwrap())
    };
    if !is_root() {
        assert_eq!(run(&["check"]), (Some(0), String::new()));
        return not_run("doctor::root_asks_for_what_another_user_serves", "only root is asked to be somebody else");
    }
    told.has("user", "fault", "root asks, and codemoded.service runs as `codemoded`");
    for arguments in [&["check"][..], &["check", "--diff", &config], &["catalog"], &["search", "x"], &["run", "-"]] {
        let (code, errors) = run(arguments);
        assert_eq!(code, Some(77), "{errors}");
        assert!(errors.contains("`runuser -u codemoded -- codemoded …`"), "{errors}");
    }
    assert!(!host.path("records.db").exists(), "no plugin was started");
    for properties in ["User=", "User=root"] {
        systemctl(&host, &config, properties);
        assert_eq!(run(&["check"]), (Some(0), String::new()), "{properties}");
    }
    systemctl(&host, "/etc/codemoded/codemode.toml", "User=codemoded");
    assert_eq!(run(&["check"]), (Some(0), String::new()), "another configuration's unit");
}

#[test]
fn the_unit_that_runs_has_the_addresses() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let taken = taken.local_addr().unwrap().to_string();
    let admin = "[admin]\nlisten = \"unix:admin.sock\"\n";
    let host = Host::new(&allow_all(&format!("{admin}{SMALL}")).replace("127.0.0.1:0", &taken));
    let _used = UnixListener::bind(host.path("admin.sock")).unwrap();
    let config = host.path("codemode.toml").display().to_string();
    let told = |state: &str| {
        let mut command = Command::new(executable());
        command.env("PATH", systemctl(&host, &config, &format!("ActiveState={state}")));
        host.by(command)
    };
    for state in ["active", "reloading"] {
        told(state).has("server.listen", "ok", &format!("{taken} is in use: codemoded.service runs"));
        told(state).has("admin.listen", "ok", "admin.sock` is in use: codemoded.service runs");
    }
    told("failed").has("server.listen", "warning", &format!("{taken} is in use"));
    told("inactive").has("admin.listen", "warning", "is in use");
}

#[test]
fn the_unit_hides_what_is_configured() {
    let files = plugin("files", &library("codemode_files"), "roots = { all = \"/root\" }");
    let host = Host::new(&allow_all(&(SMALL.to_owned() + &files)));
    let config = host.path("codemode.toml").display().to_string();
    let told = |config: &str, protects: &str| {
        let path = systemctl(&host, config, &format!("ProtectHome={protects}"));
        let mut command = Command::new(executable());
        command.env("PATH", path);
        host.by(command)
    };
    for protects in ["yes", "tmpfs"] {
        told(&config, protects).has("homes", "fault", "codemoded.service does not see `/root`");
    }
    for (config, protects) in [(config.as_str(), "no"), (&config, "read-only"), ("/etc/codemoded/codemode.toml", "yes")]
    {
        let told = told(config, protects);
        assert!(told.findings.iter().all(|finding| finding["what"] != "homes"), "{told:#?}");
    }
}

fn by_tokens() -> Host {
    let tokens = "mode = \"tokens\"\ntokens_file = \"tokens.toml\"";
    let host = Host::new(&allow_all(SMALL).replace("mode = \"static\"\nsubject = \"local\"", tokens));
    host.file("tokens.toml", "", 0o640);
    host
}

/// A line for the file of tokens that ends then.
fn token_until(id: &str, end: &str) -> String {
    format!("{id} = {{ sha256 = \"{}\", subject = \"ann\", expires = {end} }}\n", "0".repeat(64))
}

#[test]
fn tokens_cannot_be_used() {
    let host = by_tokens();
    host.told().has("tokens", "warning", "mode 0640; 0 in it, 0 expired: nobody gets in");
    host.file("tokens.toml", &token_until("a", "2020-01-01"), 0o640);
    host.told().has("tokens", "warning", "1 in it, 1 expired: nobody gets in");
    let ends = [("a", "2020-01-01"), ("b", "2199-02-01"), ("c", "2198-02-01")];
    let three = ends.map(|(id, end)| token_until(id, end)).concat();
    host.file("tokens.toml", &three, 0o640);
    host.told().has("tokens", "ok", "mode 0640; 3 in it, 1 expired, the next ends 2198-02-01T00:00:00Z");
    host.file("tokens.toml", &three, 0o644);
    host.told().has("tokens", "warning", "may be read by every user (mode 0644)");
    host.file("tokens.toml", &three, 0o000);
    let drop = if is_root() { "setpriv --bounding-set=-dac_override,-dac_read_search" } else { "exec" };
    let told = host.after(drop);
    told.has("tokens", "fault", "Permission denied");
    let rows: Vec<_> = told.findings.iter().filter(|finding| finding["what"] == "tokens").collect();
    let mend = format!("chmod 640 {}`", host.path("tokens.toml").display());
    assert!(rows.len() == 1 && rows[0]["mend"].as_str().unwrap().ends_with(&mend), "{rows:?}");
    assert!(rows[0]["mend"].as_str().unwrap().starts_with("as root: `chown root:"), "{rows:?}");
    host.file("tokens.toml", "", 0o666);
    host.told().has("tokens", "fault", "may be written by others (mode 0666)");
    host.file("tokens.toml", "a = 1\n", 0o640);
    host.told().has("tokens", "fault", "must be a table");
}

#[test]
fn the_issuers_keys_cannot_be_had() {
    let told = |jwks: &str| {
        let jwt = format!("mode = \"jwt\"\nissuer = \"https://id.example.com\"\naudiences = [\"a\"]\n{jwks}");
        let host = Host::new(&allow_all(SMALL).replace("mode = \"static\"\nsubject = \"local\"", &jwt));
        host.file("keys.json", "{\"keys\": 1}", 0o644);
        host.told()
    };
    let closed = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = closed.local_addr().unwrap();
    drop(closed);
    told(&format!("jwks_url = \"http://{address}/jwks.json\"")).has("issuer's keys", "fault", "cannot fetch");
    told("jwks_file = \"keys.json\"").has("issuer's keys", "fault", "cannot use the issuer's keys");
}

#[test]
fn the_clock_is_wrong() {
    let Some(preload) = std::env::var_os("CODEMODE_FAKETIME") else {
        return not_run("doctor::the_clock_is_wrong", "CODEMODE_FAKETIME is not set; use tests/run");
    };
    let mut command = Command::new(executable());
    command.env("LD_PRELOAD", preload).env("FAKETIME", "@2001-02-03 04:05:06").env("FAKETIME_DONT_FAKE_MONOTONIC", "1");
    by_tokens().by(command).has("clock", "fault", "it shows the year 2001");
}
