//! What an operator gets to read, and what the daemon may rely on.

mod faults;
mod identity;
mod reference;
mod shipped;
mod sources;
mod values;

use std::ffi::OsString;
use std::fs;
use std::path::PathBuf;

use super::{Config, Flag, Sources, Transport};

/// The least that loads; more may follow.
const LEAST: &str = "\
identity = { mode = \"static\", subject = \"local\" }
policy = { mode = \"allow-all\" }
";

const STATIC: &str = "[identity]\nmode = \"static\"\nsubject = \"local\"\n";
const ALLOW_ALL: &str = "[policy]\nmode = \"allow-all\"\n";

/// A folder with a configuration file and what it may refer to.
struct Folder {
    dir: tempfile::TempDir,
    transport: Transport,
    environment: Vec<(OsString, OsString)>,
    flags: Vec<Flag>,
}

impl Folder {
    fn new(toml: &str) -> Self {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("plugins")).unwrap();
        let files = [
            ("codemode.toml", toml),
            ("authz.rego", "package authz"),
            ("secret", "open sesame, please\n"),
            ("token", "0123456789abcdef\n"),
            ("calls", "7\r\n"),
            ("plugins/libone.so", ""),
            ("plugins/libtwo.so", ""),
            ("plugins/notes.txt", ""),
        ];
        for (name, text) in files {
            fs::write(dir.path().join(name), text).unwrap();
        }
        Self { dir, transport: Transport::Http, environment: Vec::new(), flags: Vec::new() }
    }

    fn variable(mut self, name: &str, value: &str) -> Self {
        self.environment.push((name.into(), value.into()));
        self
    }

    fn flag(mut self, name: &str, key: &str, value: &str) -> Self {
        self.flags.push(Flag { name: name.into(), key: key.into(), value: value.into() });
        self
    }

    fn stdio(mut self) -> Self {
        self.transport = Transport::Stdio;
        self
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// All faults, one a line, with the folder's own path left out.
    fn load(&self) -> Result<Config, String> {
        let sources = Sources::new(self.path("codemode.toml"), self.environment.clone(), self.flags.clone());
        Config::load(&sources, self.transport).map_err(|faults| {
            let lines: Vec<String> = faults.iter().map(ToString::to_string).collect();
            lines.join("\n").replace(&format!("{}/", self.dir.path().display()), "")
        })
    }

    #[track_caller]
    fn loads(&self) -> Config {
        self.load().unwrap_or_else(|faults| panic!("refused:\n{faults}"))
    }

    #[track_caller]
    fn is_refused(&self, faults: &str) {
        let told = self.load().expect_err("must be refused");
        assert_eq!(told, faults);
    }
}

/// A file that is [`LEAST`] and then this.
fn least_and(more: &str) -> Folder {
    Folder::new(&format!("{LEAST}{more}"))
}
