//! The listener for administration: whether the daemon lives, whether it can serve, and who may ask.

mod control;

use std::fs;
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};

use crate::harness::{Daemon, allow_all, executable, faulty, library, plugin, program, records, run, send, until};
use crate::identity::door::{Reply, exchange, request};

/// A daemon with a listener for administration at any free port.
fn watched(rest: &str) -> String {
    allow_all(&format!("[admin]\nlisten = \"127.0.0.1:0\"\n{rest}"))
}

/// Asks at an address, whatever the host that the request names.
fn ask_as(address: &str, host: &str, method: &str, path: &str, headers: &[&str]) -> Reply {
    let socket = TcpStream::connect(address).unwrap();
    socket.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    exchange(socket, &request(host, method, path, headers, ""))
}

fn ask(daemon: &Daemon, method: &str, path: &str) -> Reply {
    let url = daemon.admin();
    let address = url.trim_start_matches("http://");
    ask_as(address, address, method, path, &[])
}

fn get(daemon: &Daemon, path: &str) -> Reply {
    ask(daemon, "GET", path)
}

#[test]
fn a_daemon_that_can_serve_says_so_part_by_part() {
    let daemon = Daemon::start(&watched(&records()));
    assert_eq!((get(&daemon, "/healthz").status, get(&daemon, "/healthz").body.as_str()), (200, "alive\n"));
    until("two workers wait", || get(&daemon, "/readyz").json()["workers"]["ready"] == json!(2));
    let ready = get(&daemon, "/readyz");
    assert_eq!(ready.status, 200);
    assert_eq!(
        ready.json(),
        json!({ "ready": true, "draining": false, "generation": { "ok": true },
            "workers": { "ok": true, "ready": 2 }, "plugins": [{ "name": "records", "ok": true }] })
    );
    assert_eq!((ask(&daemon, "HEAD", "/readyz").status, ask(&daemon, "HEAD", "/readyz").body.as_str()), (200, ""));
    let refused = ask(&daemon, "POST", "/healthz");
    assert_eq!((refused.status, refused.header("allow")), (405, Some("GET, HEAD")));
    assert_eq!(get(&daemon, "/mcp").status, 404);
    // And what is for operators is not to be had by clients.
    for path in ["/healthz", "/readyz"] {
        assert_eq!(ask_as(daemon.address(), daemon.address(), "GET", path, &[]).status, 404);
    }
}

#[test]
fn a_plugin_that_is_not_well_makes_the_daemon_unready_and_is_named() {
    let unwell = plugin("unwell", &library("codemode_faulty"), "unhealthy = true");
    let daemon = Daemon::start(&watched(&(records() + &unwell)));
    let reply = get(&daemon, "/readyz");
    assert_eq!(reply.status, 503);
    let told = reply.json();
    assert_eq!((&told["ready"], &told["workers"]["ok"]), (&json!(false), &json!(true)));
    let reason = "the handler failed: asked to be unhealthy";
    assert_eq!(
        told["plugins"],
        json!([{ "name": "records", "ok": true }, { "name": "unwell", "ok": false, "reason": reason }])
    );
    assert_eq!(get(&daemon, "/healthz").status, 200);
}

/// Lowers or raises the stack that the daemon's children get: with too small a one they do not even begin.
fn limit_stack(daemon: &Daemon, limit: &str) {
    let pid = daemon.pid().to_string();
    assert!(Command::new("prlimit").args(["--pid", &pid, &format!("--stack={limit}:")]).status().unwrap().success());
}

#[test]
fn a_daemon_that_can_start_no_worker_is_not_ready_until_it_can() {
    let daemon = Daemon::start(&watched(&records()));
    limit_stack(&daemon, "4096");
    let status = || {
        for worker in daemon.children() {
            // One that does not come up ends by itself.
            let _ = Command::new("kill").args(["-KILL", &worker.to_string()]).stderr(Stdio::null()).status();
        }
        get(&daemon, "/readyz")
    };
    until("no worker is left", || status().status == 503);
    let told = status().json();
    assert_eq!(
        (&told["ready"], &told["workers"]["ok"], &told["workers"]["ready"]),
        (&json!(false), &json!(false), &json!(0))
    );
    assert!(told["workers"]["reason"].as_str().is_some_and(|reason| reason.contains("worker")), "{told}");
    assert_eq!(get(&daemon, "/healthz").status, 200);
    limit_stack(&daemon, "8388608");
    until("workers start again", || get(&daemon, "/readyz").status == 200);
    assert_eq!(*daemon.main("return 1").result(), json!(1));
}

#[test]
fn a_daemon_that_drains_lives_and_is_not_ready() {
    let daemon = Daemon::start(&watched(&faulty()));
    let run = send(&daemon, "", &program("faulty.note(text = \"begun\")\nfaulty.sleep(milliseconds = 1500)\nreturn 7"));
    until("the run is under way", || daemon.recorded("begun"));
    daemon.terminate();
    until("it is not ready", || get(&daemon, "/readyz").status == 503);
    let told = get(&daemon, "/readyz").json();
    assert_eq!(
        (&told["ready"], &told["draining"], &told["workers"]["ok"]),
        (&json!(false), &json!(true), &json!(true))
    );
    assert_eq!(get(&daemon, "/healthz").status, 200);
    let mut answer = String::new();
    std::io::Read::read_to_string(&mut &run, &mut answer).unwrap();
    assert!(answer.contains("{\\\"result\\\":7}"), "{answer}");
}

/// A daemon that does not come up, with its log in a file.
struct Starting {
    child: Child,
    folder: tempfile::TempDir,
}

impl Drop for Starting {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn a_daemon_that_still_starts_lives_and_is_not_ready() {
    let folder = tempfile::tempdir().unwrap();
    let slow = plugin("slow", &library("codemode_faulty"), "start = \"hang\"");
    fs::write(
        folder.path().join("codemode.toml"),
        watched("").replace("127.0.0.1:0\"\n[iden", "unix:mcp.sock\"\n[iden") + &slow,
    )
    .unwrap();
    let mut command = Command::new(executable());
    command.current_dir(folder.path()).stderr(fs::File::create(folder.path().join("log")).unwrap());
    let starting = Starting { child: command.stdout(Stdio::null()).spawn().unwrap(), folder };
    let mut address = String::new();
    until("administration can be reached", || {
        let log = fs::read_to_string(starting.folder.path().join("log")).unwrap();
        address =
            log.split("url=\"http://").nth(1).and_then(|url| url.split('"').next()).unwrap_or_default().to_owned();
        !address.is_empty()
    });
    assert_eq!(ask_as(&address, &address, "GET", "/healthz", &[]).status, 200);
    let reply = ask_as(&address, &address, "GET", "/readyz", &[]);
    let generation = json!({ "ok": false, "reason": "the first one is being built" });
    assert_eq!((reply.status, &reply.json()["generation"]), (503, &generation));
}

#[test]
fn hosts_and_origins_are_those_of_the_listener_or_named() {
    let daemon = Daemon::start(&watched(&format!(
        "allowed_hosts = [\"pod.internal\"]\ntrusted_origins = [\"https://ops.example.com\"]\n{}",
        records()
    )));
    let url = daemon.admin();
    let address = url.trim_start_matches("http://");
    let port = address.split(':').nth(1).unwrap();
    let own = format!("origin: {url}");
    for (host, headers) in [
        (address, &[][..]),
        (&*format!("localhost:{port}"), &[]),
        ("pod.internal", &[]),
        (address, &["origin: https://ops.example.com"]),
        (address, &[&*own]),
    ] {
        assert_eq!(ask_as(address, host, "GET", "/readyz", headers).status, 200, "{host} {headers:?}");
    }
    for (host, headers, setting) in [
        ("rebound.example.com", &[][..], "admin.allowed_hosts"),
        (daemon.address(), &[], "admin.allowed_hosts"),
        (address, &["origin: https://evil.example.com"], "admin.trusted_origins"),
        (address, &["origin: null"], "admin.trusted_origins"),
    ] {
        let reply = ask_as(address, host, "GET", "/readyz", headers);
        assert_eq!(reply.status, 403, "{host} {headers:?}");
        assert!(reply.body.contains(setting), "{}", reply.body);
    }
}

/// A file's SHA-256, as others compute it.
fn sha256(path: &Path) -> String {
    let done = Command::new("sha256sum").arg(path).output().unwrap();
    String::from_utf8(done.stdout).unwrap().split(' ').next().unwrap().to_owned()
}

#[test]
fn what_is_loaded_is_told_with_the_files_and_their_hashes() {
    let rego = "mode = \"rego\"\nmodules = [\"p.rego\"]\ndata = [\"d.json\"]\nexecute = \"data.p.allow\"";
    let config = watched(&format!("[catalog]\ndisabled = [\"records.entry.delete\"]\n{}", records()));
    let before = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
    let daemon = Daemon::start_with(&config.replace("mode = \"allow-all\"", rego), |folder| {
        fs::write(folder.join("p.rego"), "package p\n\ndefault allow := true\n").unwrap();
        fs::write(folder.join("d.json"), "{\"a\": 1}").unwrap();
    });
    let told = get(&daemon, "/generation").json();
    let file = |name: &str| {
        let path = daemon.folder.path().join(name);
        json!({ "file": path, "sha256": sha256(&path) })
    };
    assert_eq!(told["configuration"], file("codemode.toml"));
    assert_eq!(told["policy"]["files"], json!([file("p.rego"), file("d.json")]));
    let records = library("codemode_records");
    let plugin = json!({ "name": "records", "version": env!("CARGO_PKG_VERSION"), "library": records, "sha256": sha256(&records), "capabilities": 5 });
    assert_eq!(told["plugins"], json!([plugin]));
    let rest = (&told["number"], &told["capabilities"], &told["disabled"], &told["plugin_copies"]);
    assert_eq!(rest, (&json!(1), &json!(4), &json!(["records.entry.delete"]), &json!(1)));
    assert!(told["loaded_at"].as_u64().unwrap() >= before, "{told}");
}

#[test]
fn a_unix_socket_serves_administration_and_is_taken_away() {
    let admin = "[admin]\nlisten = \"unix:admin.sock\"\nsocket_mode = \"0600\"\n";
    let daemon = Daemon::start(&allow_all(&format!("{admin}{}", records())));
    let socket = daemon.folder.path().join("admin.sock");
    assert_eq!(daemon.admin(), format!("unix:{}", socket.display()));
    assert_eq!(fs::metadata(&socket).unwrap().permissions().mode() & 0o777, 0o600);
    let reply = exchange(UnixStream::connect(&socket).unwrap(), &request("localhost", "GET", "/readyz", &[], ""));
    assert_eq!(reply.status, 200);
    daemon.terminate();
    until("the file is taken away", || !socket.exists());
}

#[track_caller]
fn refused(folder: &Path, config: &str, expected: i32, told: &str) {
    fs::write(folder.join("codemode.toml"), config).unwrap();
    let (code, _, errors) = run(&["--config", "codemode.toml"], folder);
    assert_eq!(code, expected, "{errors}");
    assert!(errors.contains(told), "{errors}");
}

#[test]
fn an_address_that_cannot_be_had_refuses_the_start() {
    let folder = tempfile::tempdir().unwrap();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap();
    let at = |address: &str| allow_all(&format!("[admin]\nlisten = \"{address}\"\n"));
    let in_use = "error: admin.listen: nothing can be heard: cannot listen on";
    refused(folder.path(), &at(&address.to_string()), 69, in_use);
    refused(folder.path(), &at("0.0.0.0:0"), 78, "set `admin.danger_allow_non_loopback = true`");
    let open = at("0.0.0.0:0").replace("[admin]\n", "[admin]\ndanger_allow_non_loopback = true\n");
    let daemon = Daemon::start(&open);
    assert!(daemon.admin().starts_with("http://0.0.0.0:"), "{}", daemon.admin());
}

#[test]
fn administration_that_is_switched_off_is_nowhere() {
    let daemon = Daemon::start(&allow_all("[admin]\nlisten = \"off\"\n"));
    assert_eq!(*daemon.main("return 1").result(), Value::from(1));
    assert!(!daemon.log().contains("administration"), "{}", daemon.log());
}
