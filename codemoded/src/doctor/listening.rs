//! Whether the daemon could be heard where it shall be.

use std::fmt;
use std::fs;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::os::unix::fs::FileTypeExt;
use std::os::unix::net::UnixStream;
use std::path::Path;

use rustix::fs::{Access, AtFlags, CWD, accessat};

use super::Finding;
use crate::config::{Config, Listen};
use crate::unit::{self, Unit};

const FIRST_FREE_PORT: &str = "/proc/sys/net/ipv4/ip_unprivileged_port_start";

/// Where the unit runs, it is that which listens.
pub(super) fn findings(config: &Config, unit: Option<&Unit>) -> Vec<Finding> {
    let runs = unit.is_some_and(|unit| unit.runs);
    let mut findings = vec![finding("server.listen", &config.server.listen, runs)];
    match config.admin.listen.as_slice() {
        [] => findings.push(Finding::ok("admin.listen", "off")),
        listen => findings.extend(listen.iter().map(|each| finding("admin.listen", each, runs))),
    }
    findings
}

fn finding(what: &str, listen: &Listen, runs: bool) -> Finding {
    match listen {
        Listen::Tcp(address) => tcp(what, *address, runs),
        Listen::Unix(path) => unix(what, path, runs),
        Listen::Systemd => Finding::ok(what, "systemd hands the socket over at start"),
    }
}

fn used_by_unit(what: &str, place: impl fmt::Display) -> Finding {
    Finding::ok(what, format!("{place} is in use: {} runs", unit::NAME))
}

fn tcp(what: &str, address: SocketAddr, runs: bool) -> Finding {
    let error = match TcpListener::bind(address) {
        Ok(_) => return Finding::ok(what, format!("{address} is free")),
        Err(error) => error,
    };
    match error.kind() {
        io::ErrorKind::AddrInUse if runs => used_by_unit(what, address),
        io::ErrorKind::AddrInUse => Finding::warning(
            what,
            format!("{address} is in use"),
            "nothing, if it is this daemon that runs; otherwise stop what listens there (`ss -ltnp`), or choose another",
        ),
        io::ErrorKind::PermissionDenied => {
            let first = fs::read_to_string(FIRST_FREE_PORT).unwrap_or_default();
            Finding::fault(
                what,
                format!("{address} may not be listened on: ports below {} need a privilege", first.trim()),
                "listen on a higher port, or give the unit `AmbientCapabilities=CAP_NET_BIND_SERVICE`",
            )
        }
        _ => Finding::fault(
            what,
            format!("{address} cannot be listened on: {error}"),
            "write an address of this machine",
        ),
    }
}

fn unix(what: &str, path: &Path, runs: bool) -> Finding {
    let folder = path.parent().unwrap_or(Path::new("/"));
    let (shown, place) = (path.display(), folder.display());
    if !folder.is_dir() {
        let mend = format!("create `{place}` for the daemon's user, such as by `RuntimeDirectory=`");
        return Finding::fault(what, format!("there is no folder `{place}` for the socket"), mend);
    }
    if accessat(CWD, folder, Access::WRITE_OK | Access::EXEC_OK, AtFlags::EACCESS).is_err() {
        let mend = format!("let the daemon's user write `{place}`");
        return Finding::fault(what, format!("no socket can be made in `{place}`: it may not be written"), mend);
    }
    match path.symlink_metadata() {
        Ok(found) if !found.file_type().is_socket() => {
            Finding::fault(what, format!("`{shown}` is there and is no socket"), "remove it, or choose another path")
        }
        Ok(_) if runs && UnixStream::connect(path).is_ok() => used_by_unit(what, format!("`{shown}`")),
        Ok(_) if UnixStream::connect(path).is_ok() => Finding::warning(
            what,
            format!("`{shown}` is in use"),
            "nothing, if it is this daemon that runs; otherwise stop what listens there, or choose another path",
        ),
        Ok(_) | Err(_) => Finding::ok(what, format!("`{shown}` can be made")),
    }
}
