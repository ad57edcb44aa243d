//! Unix sockets: who may connect, who is believed, and what is left behind; and sockets of systemd's.

use std::fs;
use std::net::TcpListener;
use std::os::fd::OwnedFd;
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};
use std::os::unix::net::{UnixDatagram, UnixListener, UnixStream};
use std::path::Path;
use std::process::Command;

use rustix::process::{Pid, Signal, kill_process};

use super::door::{Reply, exchange, note_body, request};
use crate::harness::{Daemon, executable, faulty, run, until};

fn config(server: &str, identity: &str) -> String {
    format!("[server]\n{server}\n[identity]\n{identity}\n[policy]\nmode = \"allow-all\"\n{}", faulty())
}

const STATIC: &str = "mode = \"static\"\nsubject = \"local\"";

fn ask(daemon: &Daemon, headers: &[&str]) -> Reply {
    let path = daemon.url.strip_prefix("unix:").unwrap();
    exchange(UnixStream::connect(path).unwrap(), &request("localhost", "POST", "/mcp", headers, &note_body()))
}

fn own_user() -> u32 {
    fs::metadata("/proc/self").unwrap().uid()
}

#[test]
fn a_socket_has_its_mode_and_group_and_serves_a_static_subject() {
    let group = fs::metadata("/proc/self").unwrap().gid();
    let server = format!("listen = \"unix:mcp.sock\"\nsocket_mode = \"0620\"\nsocket_group = \"{group}\"");
    let daemon = Daemon::start(&config(&server, STATIC));
    let socket = daemon.folder.path().join("mcp.sock");
    let found = fs::metadata(&socket).unwrap();
    assert!(found.file_type().is_socket());
    assert_eq!((found.permissions().mode() & 0o777, found.gid()), (0o620, group));
    assert_eq!(ask(&daemon, &[]).text(), "{\"result\":\"local\"}");
    kill_process(Pid::from_raw(daemon.pid().try_into().unwrap()).unwrap(), Signal::TERM).unwrap();
    until("the file is taken away", || !socket.exists());
}

#[test]
fn a_peer_is_believed_by_its_user() {
    let proxy = |uid: u32| format!("mode = \"proxy\"\nheader = \"x-user\"\npeers = [\"10.0.0.1/32\", \"uid:{uid}\"]");
    let server = "listen = \"unix:mcp.sock\"";
    let daemon = Daemon::start(&config(server, &proxy(own_user())));
    assert_eq!(ask(&daemon, &["x-user: ann"]).text(), "{\"result\":\"ann\"}");
    for headers in [&[][..], &["x-user: ann", "X-User: ann"], &["x-user: ann,bob"], &["x_user: ann"], &["x-user:"]] {
        assert_eq!(ask(&daemon, headers).status, 401, "{headers:?}");
    }
    let stranger = Daemon::start(&config(server, &proxy(own_user() + 1)));
    let reply = ask(&stranger, &["x-user: ann"]);
    assert_eq!((reply.status, reply.body.as_str()), (401, "unauthenticated"));
}

#[test]
fn a_socket_that_is_left_over_is_replaced_and_one_in_use_is_not() {
    let config = config("listen = \"unix:mcp.sock\"", STATIC);
    let left_over = |folder: &Path| drop(UnixListener::bind(folder.join("mcp.sock")).unwrap());
    assert_eq!(ask(&Daemon::start_with(&config, left_over), &[]).status, 200);
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("codemode.toml"), &config).unwrap();
    let _in_use = UnixListener::bind(folder.path().join("mcp.sock")).unwrap();
    let (code, _, err) = run(&["--config", "codemode.toml"], folder.path());
    assert_eq!(code, 69, "{err}");
    assert!(err.contains("server.listen: nothing can be heard: cannot listen on `unix:"), "{err}");
    assert!(folder.path().join("mcp.sock").exists());
}

/// Starts the daemon as systemd would, with this socket as its third descriptor.
fn hand_over(config: &str, socket: OwnedFd) -> Daemon {
    hand_over_with(config, socket, &[])
}

/// The same, with more that systemd says.
fn hand_over_with(config: &str, socket: OwnedFd, environment: &[(&str, &str)]) -> Daemon {
    let adjust = |command: &mut Command| {
        let arguments: Vec<_> = command.get_args().map(ToOwned::to_owned).collect();
        let program = command.get_program().to_owned();
        let mut shell = Command::new("sh");
        shell.arg("-c").arg("exec 3<&0 0</dev/null; export LISTEN_FDS=1 LISTEN_PID=$$; exec \"$0\" \"$@\"");
        shell.envs(environment.iter().copied());
        shell.arg(program).args(arguments).stdin(socket).stdout(std::process::Stdio::piped());
        *command = shell;
        command.stderr(std::process::Stdio::piped());
    };
    Daemon::start_by(Command::new(executable()), config, |_| {}, adjust)
}

#[test]
fn a_socket_of_systemds_is_served_and_reaches_no_child() {
    let config = config("listen = \"systemd\"", STATIC);
    let folder = tempfile::tempdir().unwrap();
    let listener = UnixListener::bind(folder.path().join("mcp.sock")).unwrap();
    let daemon = hand_over(&config, listener.into());
    assert_eq!(ask(&daemon, &[]).text(), "{\"result\":\"local\"}");
    let ours = fs::read_link(format!("/proc/{}/fd/3", daemon.pid())).unwrap();
    let has_it = |pid: u32| {
        // One that ends meanwhile has nothing.
        let links = fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten();
        links.filter_map(|link| fs::read_link(link.ok()?.path()).ok()).any(|link| link == ours)
    };
    assert!(has_it(daemon.pid()));
    // One that is being started gives up what is the daemon's when it is executed.
    until("workers wait, and none has it", || {
        let children = daemon.children();
        !children.is_empty() && !children.into_iter().any(has_it)
    });
    // It is systemd's to take away.
    drop(daemon);
    assert!(folder.path().join("mcp.sock").exists());
}

/// `O_CLOEXEC` as `/proc/PID/fdinfo` has it.
const CLOSED_FOR_CHILDREN: i64 = 0o2_000_000;

#[test]
fn no_child_of_a_plugins_finds_the_service_manager() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("notify");
    let manager = UnixDatagram::bind(&path).unwrap();
    let environment = [
        ("NOTIFY_SOCKET", path.to_str().unwrap()),
        ("WATCHDOG_USEC", "30000000"),
        ("LISTEN_FDNAMES", "codemoded.socket"),
        ("OF_THE_UNIT", "1"),
    ];
    // Also where the configuration has no use for the socket.
    for listen in ["listen = \"systemd\"", "listen = \"127.0.0.1:0\""] {
        let socket = TcpListener::bind("127.0.0.1:0").unwrap();
        let daemon = hand_over_with(&config(listen, STATIC), socket.into(), &environment);
        let mut heard = [0; 512];
        let length = manager.recv(&mut heard).unwrap();
        assert!(heard[..length].starts_with(b"READY=1\n"), "{listen}");
        let answer = daemon.main("return faulty.environment()");
        let found: Vec<&str> = answer.result().as_array().unwrap().iter().map(|name| name.as_str().unwrap()).collect();
        assert!(found.contains(&"OF_THE_UNIT"), "{found:?}");
        let of_the_manager =
            |name: &&str| ["NOTIFY_", "WATCHDOG_", "LISTEN_"].iter().any(|each| name.starts_with(each));
        assert!(!found.iter().any(of_the_manager), "{listen}: {found:?}");
        let open = fs::read_to_string(format!("/proc/{}/fdinfo/3", daemon.pid())).unwrap();
        let flags = open.lines().find_map(|line| line.strip_prefix("flags:")).unwrap();
        assert!(i64::from_str_radix(flags.trim(), 8).unwrap() & CLOSED_FOR_CHILDREN != 0, "{listen}: {open}");
        let is_unheard = || daemon.log().contains("systemd hands over a socket that nobody listens on");
        match listen.contains("systemd") {
            true => assert!(!is_unheard()),
            false => until("it is told that nobody listens there", is_unheard),
        }
        drop(daemon);
        // The watchdog's signs, and nothing that the next daemon says.
        manager.set_nonblocking(true).unwrap();
        while manager.recv(&mut heard).is_ok() {}
        manager.set_nonblocking(false).unwrap();
    }
}

#[test]
fn a_tcp_socket_of_systemds_keeps_the_rules_of_addresses() {
    let config = config("listen = \"systemd\"", STATIC);
    let daemon = hand_over(&config, TcpListener::bind("127.0.0.1:0").unwrap().into());
    assert!(daemon.url.starts_with("http://127.0.0.1:"), "{}", daemon.url);
    assert_eq!(super::door::note(&daemon, &[]).text(), "{\"result\":\"local\"}");
    let open = std::panic::catch_unwind(|| hand_over(&config, TcpListener::bind("0.0.0.0:0").unwrap().into()));
    let told = open.err().and_then(|panic| panic.downcast::<String>().ok()).unwrap();
    assert!(told.contains("`static` would let everyone who reaches http://0.0.0.0:"), "{told}");
}

#[test]
fn without_a_socket_of_systemds_the_start_fails() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("codemode.toml"), config("listen = \"systemd\"", STATIC)).unwrap();
    let (code, _, err) = run(&["--config", "codemode.toml"], folder.path());
    assert_eq!(code, 69, "{err}");
    assert!(err.contains("no socket; `systemctl stop codemoded; systemctl enable --now codemoded.socket; "), "{err}");
}
