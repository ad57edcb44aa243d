//! What is wrong with a configuration, and where: a file with line and column, an environment variable or a flag.

use std::error::Error;
use std::fmt;
use std::io;
use std::path::PathBuf;

use super::place::{KeyPath, Place};
use crate::file::FileFault;

/// One fault, told in one line: the place, the key, what is wrong and how to mend it.
#[derive(Debug)]
pub struct ConfigFault {
    pub place: Place,
    pub key: KeyPath,
    pub problem: Problem,
}

/// What is wrong with a key or its value.
#[derive(Debug, thiserror::Error)]
pub enum Problem {
    #[error("cannot read the configuration; give another with `--config FILE`")]
    UnreadableConfiguration(#[source] FileFault),
    #[error("not UTF-8")]
    NotText,
    #[error("not TOML: {0}")]
    Syntax(String),
    #[error("unknown key{}", mend_name(given, known))]
    UnknownKey { given: String, known: Vec<&'static str> },
    #[error("unknown choice `{given}`{}", mend_name(given, known))]
    UnknownChoice { given: String, known: Vec<&'static str> },
    #[error("expected {expected}, found {found}")]
    WrongType { expected: String, found: &'static str },
    /// A value's own type says what it wants.
    #[error("{0}")]
    Refused(String),
    #[error("missing; {mend}")]
    Missing { mend: &'static str },
    #[error("empty; {mend}")]
    Empty { mend: &'static str },
    #[error("`{given}` stands twice; the first is at {first}")]
    Repeated { given: String, first: Place },
    #[error("expected a table, found an array; write `[{section}]`, not `[[{section}]]`, and its keys below it")]
    NoTable { section: String },
    #[error(transparent)]
    File(#[from] FileFault),
    #[error("no folder at `{}`", .0.display())]
    NoFolder(PathBuf),
    #[error("cannot read `{}`", path.display())]
    UnreadableFolder { path: PathBuf, source: io::Error },
    /// The text itself may be a secret.
    #[error("the text in `{}` does not fit here", file.display())]
    Unfit { file: PathBuf },
    #[error("the text in `{}` is none of {}", file.display(), quoted(known))]
    UnfitChoice { file: PathBuf, known: Vec<&'static str> },
    #[error(
        "no `{library}` in {}; a name without a slash is looked up in `plugin_dirs`, one with a slash is a path",
        listed(dirs)
    )]
    NotInDirs { library: String, dirs: Vec<PathBuf> },
    #[error("a number here must be finite")]
    NotFinite,
    #[error(
        "`static` would let everyone who reaches {listen} be `{subject}`; listen on a loopback address, choose another \
         mode, or set `identity.danger_allow_non_loopback = true`"
    )]
    OpenToAll { listen: String, subject: String },
    #[error(
        "everyone who reaches {listen} could see what is loaded here and how it fares; listen on a loopback address or a \
         Unix socket, or set `admin.danger_allow_non_loopback = true`"
    )]
    AdminOpenToAll { listen: String },
    #[error("{listen} is where `{by}` listens already; choose another address")]
    Taken { listen: String, by: &'static str },
    #[error(
        "a peer on loopback is any local process, so `{peer}` needs a shared secret as well; set \
         `identity.shared_secret_file`"
    )]
    NeedsSecret { peer: String },
    #[error("no group `{given}` in /etc/group; write its number if it is defined elsewhere")]
    NoGroup { given: String },
    #[error("`{given}` is no scope: one word of visible ASCII without `\"` and `\\`")]
    NoScope { given: String },
    #[error("`{given}` is no header's name, or that of one which cannot be set")]
    NoHeader { given: String },
    #[error("`{given}` stands here twice; a header's name counts without its case")]
    RepeatedHeader { given: String },
    #[error("a header's value is one line of visible ASCII")]
    NoHeaderValue,
    #[error("the keys come from one place: set either `jwks_url` or `jwks_file`")]
    TwoKeySets,
    #[error("standard input has no peers; with `--stdio` only `mode = \"static\"` works")]
    StdioNeedsStatic,
    #[error("standard output is the client's with `--stdio`; write \"file:\" and a path, or \"journald\"")]
    StdoutIsTheClients,
}

impl fmt::Display for ConfigFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}{}", self.place, self.key.prefix(), self.problem)
    }
}

/// The problem is in the fault's own text, so what comes behind it is the problem's cause.
impl Error for ConfigFault {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.problem.source()
    }
}

impl ConfigFault {
    /// The order in which an operator reads the file; faults from elsewhere follow.
    pub(super) fn reading_order(&self) -> (bool, Option<(usize, usize)>) {
        match &self.place {
            Place::File { position, .. } => (false, position.map(|at| (at.line, at.column))),
            Place::Override { .. } => (true, None),
        }
    }
}

/// The known name that was probably meant, or all of them.
fn mend_name(given: &str, known: &[&'static str]) -> String {
    let near = known
        .iter()
        .map(|name| (strsim::osa_distance(given, name), *name))
        .filter(|(distance, name)| *distance <= 1 + name.len() / 4)
        .min();
    match near {
        Some((_, name)) => format!("; did you mean `{name}`?"),
        None if known.is_empty() => String::new(),
        None => format!("; known here: {}", quoted(known)),
    }
}

fn quoted(names: &[&str]) -> String {
    let mut sorted = names.to_vec();
    sorted.sort_unstable();
    sorted.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}

fn listed(dirs: &[PathBuf]) -> String {
    if dirs.is_empty() {
        return "`plugin_dirs`, which is empty".to_owned();
    }
    dirs.iter().map(|dir| format!("`{}`", dir.display())).collect::<Vec<_>>().join(", ")
}
