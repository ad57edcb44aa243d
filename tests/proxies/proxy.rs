//! A reverse proxy on its shipped configuration, with other names and ports.

use std::fs;
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use rustix::net::{AddressFamily, SocketType, bind, connect, socket};
use serde_json::json;
use tempfile::TempDir;

use crate::harness::{free_port, not_run, until};
use crate::wire::Wire;

pub(super) const KINDS: [Kind; 2] = [Kind::Nginx, Kind::Caddy];

pub(super) const SECRET: &str = "correct-horse-battery";

/// By which clients know the daemon.
const HOST: &str = "mcp.example.com";

/// The user `ann` with her password, `sesame`.
pub(super) const ANN: (&str, &str) = ("authorization", "Basic YW5uOnNlc2FtZQ==");

/// The same password by bcrypt, at the least cost: each request computes it.
const HASH: &str = "$2a$04$abcdefghijklmnopqrstuuinwY/tkBVrn3xrxQI/TgnMHhkvl85RW";

/// Who tells callers apart: for each there is a file for each kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum By {
    Proxy,
    Daemon,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Nginx,
    Caddy,
}

/// A running proxy; dropping it ends it.
pub(super) struct Proxy {
    child: Child,
    address: String,
    folder: TempDir,
}

impl Proxy {
    /// Starts a proxy before the daemon on this port, where `tests/run` could get it.
    pub(super) fn start(kind: Kind, by: By, daemon: u16, test: &str) -> Option<Self> {
        let Some(programs) = std::env::var_os("CODEMODE_PROXIES") else {
            not_run(test, "CODEMODE_PROXIES is not set; use tests/run");
            return None;
        };
        let folder = tempfile::tempdir().unwrap();
        let port = free_port();
        let mut command = match kind {
            Kind::Nginx => nginx(Path::new(&programs), folder.path(), port, daemon, by),
            Kind::Caddy => caddy(Path::new(&programs), folder.path(), port, daemon, by),
        };
        let log = fs::File::create(folder.path().join("log")).unwrap();
        let child = command.stdout(Stdio::null()).stderr(log).spawn().unwrap();
        let address = format!("127.0.0.1:{port}");
        let proxy = Self { child, address, folder };
        until("the proxy listens", || TcpStream::connect(&proxy.address).is_ok());
        Some(proxy)
    }

    pub(super) fn connect(&self) -> Wire {
        Wire::connect_to(&self.address, HOST)
    }

    /// From another address of this machine.
    pub(super) fn connect_from(&self, client: Ipv4Addr) -> Wire {
        let socket = socket(AddressFamily::INET, SocketType::STREAM, None).unwrap();
        bind(&socket, &SocketAddr::from((client, 0))).unwrap();
        connect(&socket, &self.address.parse::<SocketAddr>().unwrap()).unwrap();
        Wire::over(socket.into(), HOST)
    }

    /// What it has said so far.
    pub(super) fn log(&self) -> String {
        fs::read_to_string(self.folder.path().join("log")).unwrap()
    }

    pub(super) fn open_session(&self) -> String {
        let client = json!({ "name": "t", "version": "1" });
        let params = json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client });
        let mut wire = self.connect();
        wire.post(&json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params }), &[ANN]);
        let (head, body) = wire.answer();
        head.value("mcp-session-id").unwrap_or_else(|| panic!("{head:?} {body}")).to_owned()
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        // Its own way of ending takes its workers along.
        let _ = Command::new("kill").arg(self.child.id().to_string()).status();
        let _ = self.child.wait();
    }
}

fn shipped(name: &str) -> String {
    let path = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../packaging/proxies")).join(name);
    fs::read_to_string(path).unwrap()
}

/// Each of these must be there, or the test would run something else than what is shipped.
fn replaced(mut text: String, changes: &[(&str, String)]) -> String {
    for (from, to) in changes {
        assert!(text.contains(from), "`{from}` is not in {text}");
        text = text.replace(from, to);
    }
    text
}

fn nginx(programs: &Path, folder: &Path, port: u16, daemon: u16, by: By) -> Command {
    let own = |name: &str| folder.join(name).display().to_string();
    let changes = [
        ("127.0.0.1:8787", format!("127.0.0.1:{daemon}")),
        ("listen 443 ssl;", format!("listen 127.0.0.1:{port};")),
        ("    ssl_certificate /etc/nginx/mcp.example.com.pem;\n", String::new()),
        ("    ssl_certificate_key /etc/nginx/mcp.example.com.key;\n", String::new()),
    ];
    let credentials =
        [("/etc/nginx/codemoded.users", own("users")), ("/etc/nginx/codemoded-secret.conf", own("secret.conf"))];
    let site = match by {
        By::Proxy => replaced(replaced(shipped("nginx.conf"), &changes), &credentials),
        By::Daemon => replaced(shipped("nginx-tokens.conf"), &changes),
    };
    fs::write(folder.join("users"), "ann:{PLAIN}sesame\n").unwrap();
    fs::write(folder.join("secret.conf"), format!("proxy_set_header X-Codemode-Secret \"{SECRET}\";\n")).unwrap();
    fs::write(folder.join("site.conf"), site).unwrap();
    let places = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
        .map(|kind| format!("    {kind}_temp_path {};\n", own(kind)))
        .concat();
    // The test's own user need not be able to become another.
    let main = format!(
        "daemon off;\nmaster_process off;\npid {};\nerror_log stderr;\nevents {{}}\nhttp {{\n    access_log off;\n\
         {places}    include {};\n}}\n",
        own("pid"),
        own("site.conf")
    );
    fs::write(folder.join("nginx.conf"), main).unwrap();
    let mut command = Command::new(programs.join("usr/sbin/nginx"));
    command.arg("-e").arg("stderr").arg("-p").arg(folder).arg("-c").arg(folder.join("nginx.conf"));
    command
}

fn caddy(programs: &Path, folder: &Path, port: u16, daemon: u16, by: By) -> Command {
    let users = folder.join("users");
    fs::write(&users, format!("ann {HASH}\n")).unwrap();
    let changes = [
        ("127.0.0.1:8787", format!("127.0.0.1:{daemon}")),
        ("mcp.example.com {", format!("http://mcp.example.com:{port} {{\n\tbind 127.0.0.1")),
    ];
    let site = match by {
        By::Proxy => {
            let users = [("/etc/caddy/codemoded.users", users.display().to_string())];
            replaced(replaced(shipped("Caddyfile"), &changes), &users)
        }
        By::Daemon => replaced(shipped("Caddyfile.tokens"), &changes),
    };
    fs::write(folder.join("Caddyfile"), format!("{{\n\tadmin off\n}}\n{site}")).unwrap();
    let mut command = Command::new(programs.join("usr/bin/caddy"));
    command.args(["run", "--adapter", "caddyfile", "--config"]).arg(folder.join("Caddyfile"));
    command.env("HOME", folder).env("XDG_DATA_HOME", folder).env("XDG_CONFIG_HOME", folder);
    command.env("CODEMODE_SECRET", SECRET);
    command
}
