//! The daemon as it is shipped, started for one measurement, and what the kernel says about its processes.

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use tempfile::TempDir;

use super::SECRET;

pub(crate) const ADMIN: &str = "admin.sock";

/// A running server process, on a port of its own; dropping it ends it.
pub(crate) struct Server {
    child: Child,
    pub(crate) address: String,
    /// A daemon's own, with its configuration and whatever it writes.
    folder: Option<TempDir>,
}

/// What differs between the daemons that are compared.
#[derive(Clone)]
pub(crate) struct Setting {
    pub(crate) start: &'static str,
    pub(crate) ready: usize,
    /// Further lines of `[limits]`.
    pub(crate) limits: String,
    /// So many numbered capabilities instead of the faulty plugin's own.
    pub(crate) numbered: Option<usize>,
    /// A Rego policy instead of `allow-all`.
    pub(crate) policy: Option<&'static str>,
    /// Whether its figures can be read, at the socket `ADMIN` in its folder.
    pub(crate) administered: bool,
    /// Further sections.
    pub(crate) more: &'static str,
}

impl Setting {
    pub(crate) fn new(start: &'static str) -> Self {
        Self { start, ready: 2, limits: String::new(), numbered: None, policy: None, administered: false, more: "" }
    }

    fn config(&self) -> String {
        let Self { start, ready, limits, policy, more, .. } = self;
        let admin = if self.administered { format!("unix:{ADMIN}") } else { "off".to_owned() };
        let policy = match policy {
            Some(_) => "mode = \"rego\"\nmodules = [\"authz.rego\"]\nexecute = \"data.authz.allow\"",
            None => "mode = \"allow-all\"",
        };
        format!(
            "[server]\nlisten = \"127.0.0.1:0\"\n[admin]\nlisten = \"{admin}\"\n\
             [identity]\nmode = \"proxy\"\nheader = \"x-remote-user\"\npeers = [\"127.0.0.1/32\"]\n\
             shared_secret_file = \"secret\"\n\
             [policy]\n{policy}\n[rates]\nrequests_per_minute = 1000000\n[workers]\nready = {ready}\nstart = \"{start}\"\n[limits]\n{limits}\n{more}\
             [[plugins]]\nname = \"faulty\"\nlibrary = \"{}\"\n",
            library("codemode_faulty").display()
        )
    }
}

impl Server {
    pub(crate) fn daemon(setting: &Setting) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let config = folder.path().join("codemode.toml");
        fs::write(&config, setting.config()).unwrap();
        fs::write(folder.path().join("secret"), SECRET).unwrap();
        if let Some(policy) = setting.policy {
            fs::write(folder.path().join("authz.rego"), policy).unwrap();
        }
        let mut command = Command::new(env!("CARGO_BIN_EXE_codemoded"));
        command.arg("--config").arg(&config);
        if let Some(count) = setting.numbered {
            command.env("CODEMODE_FAULTY_NUMBERED", count.to_string());
        }
        // The log is the operator's to keep; a benchmark of a terminal it would be otherwise.
        command.stderr(fs::File::create(folder.path().join("log")).unwrap());
        Self::start(command, Some(folder))
    }

    /// This executable again, as another server.
    pub(crate) fn this(role: &str) -> Self {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.arg(role);
        Self::start(command, None)
    }

    fn start(mut command: Command, folder: Option<TempDir>) -> Self {
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let Some(url) = line.trim().strip_prefix("listening http://") else {
            let log = folder.as_ref().map(|folder| fs::read_to_string(folder.path().join("log")).unwrap_or_default());
            panic!("the server did not start: {line}{}", log.unwrap_or_default());
        };
        Self { child, address: url.trim_end_matches("/mcp").to_owned(), folder }
    }

    pub(crate) fn folder(&self) -> &Path {
        self.folder.as_ref().unwrap().path()
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Processor time of this process and of its reaped children.
    pub(crate) fn cpu(&self) -> Duration {
        spent(&self.pid().to_string(), 11, 4)
    }

    /// The worker processes, and the template where there is one, that live now.
    pub(crate) fn children(&self) -> Vec<u32> {
        let tasks = fs::read_dir(format!("/proc/{}/task", self.pid())).unwrap();
        let children = tasks.filter_map(|task| fs::read_to_string(task.ok()?.path().join("children")).ok());
        children.collect::<String>().split_whitespace().map(|pid| pid.parse().unwrap()).collect()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// So many of a process's times from `stat`, from the field after so many: utime, stime, cutime, cstime are at 11.
pub(crate) fn spent(process: &str, skipped: usize, count: usize) -> Duration {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).unwrap();
    let fields = stat.rsplit_once(") ").unwrap().1;
    let hundredths = fields.split(' ').skip(skipped).take(count).map(|ticks| ticks.parse::<u64>().unwrap());
    Duration::from_millis(hundredths.sum::<u64>() * 10)
}

/// A line of `smaps_rollup` in KiB; only root may read it of a process that is not dumpable.
pub(crate) fn memory(pid: u32, line: &str) -> Option<u64> {
    let mut text = String::new();
    fs::File::open(format!("/proc/{pid}/smaps_rollup")).ok()?.read_to_string(&mut text).ok()?;
    text.lines().find_map(|each| each.strip_prefix(line)?.split_whitespace().next()?.parse().ok())
}

/// A library as cargo leaves it: beside the executable, or among its dependencies.
fn library(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_BIN_EXE_codemoded")).parent().unwrap();
    let file = format!("lib{name}.so");
    let places = [folder.join("deps").join(&file), folder.join(&file)];
    places.into_iter().find(|path| path.exists()).unwrap_or_else(|| panic!("{file} is not built"))
}
