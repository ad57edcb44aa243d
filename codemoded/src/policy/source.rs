//! What a policy is loaded from, and what can be wrong with it.

use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use crate::file::{self, FileFault};

/// A policy and its data are the deployment's own; the bound keeps a mistaken path from filling the memory.
pub(super) const MAX_BYTES: usize = 64 << 20;

/// Everything that a policy is made of, as text.
#[derive(Clone, Debug, Default)]
pub struct PolicySource {
    pub modules: Vec<Text>,
    /// JSON objects, merged into `data`.
    pub data: Vec<Text>,
    /// The decision on a call: one ground `data.` reference.
    pub execute: String,
    /// The decision on visibility.
    pub discover: Option<String>,
    /// What a denied caller may be told.
    pub reason: Option<String>,
    /// Built-ins that may be used although their cost is not linear in their input.
    pub danger_builtins: Vec<String>,
    /// Where the configuration names the decisions and the built-ins, by their keys, for messages.
    pub places: BTreeMap<&'static str, String>,
}

/// One file's text.
#[derive(Clone, Debug)]
pub struct Text {
    pub path: PathBuf,
    pub text: String,
}

/// Where a fault is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    pub path: PathBuf,
    /// Starts at 1.
    pub line: Option<u32>,
}

/// Why a policy does not load.
#[derive(Debug, thiserror::Error)]
pub enum PolicyError {
    #[error(transparent)]
    File(#[from] FileFault),
    #[error("no policy module is given; list at least one in `policy.modules`")]
    NoModule,
    #[error("{place}: {message}")]
    Syntax { place: Place, message: String },
    #[error("{place}: {what}; split the expression over several rules")]
    TooDeep { place: Place, what: &'static str },
    #[error("{place}: `{name}` {refusal}")]
    Builtin { place: Place, name: String, refusal: Refusal },
    #[error("{at}: `{name}` {refusal}")]
    DangerBuiltin { at: String, name: String, refusal: Refusal },
    #[error("{place}: `{name}` is called with more than 8 arguments; pass an object instead")]
    TooManyArguments { place: Place, name: String },
    #[error("{place}: the default of `{name}` is no constant; move the expression into a rule")]
    DefaultNotConstant { place: Place, name: String },
    #[error("{place}: `{name}` has a default already, at {first}; a rule has one")]
    DefaultTwice { place: Place, name: String, first: Place },
    #[error("{place}: `{}` is recursive ({}); a policy may not call itself", .cycle.first().map_or("", String::as_str), .cycle.join(" -> "))]
    Recursive { place: Place, cycle: Vec<String> },
    #[error("{place}: `{name}` starts a chain of more than {limit} rules that call each other; shorten it")]
    ChainTooLong { place: Place, name: String, limit: usize },
    #[error("{at}: `{reference}` is not one ground reference; write it as `data.package.rule`")]
    NotGround { at: String, reference: String },
    #[error("{at}: no module defines `{reference}`{}", near(.nearest))]
    Undefined { at: String, reference: String, nearest: Option<String> },
    #[error("{at}: `{reference}` is a function; a decision takes no arguments")]
    Function { at: String, reference: String },
    #[error("{place}: {message}")]
    Data { place: Place, message: String },
    #[error("{second}: `{path}` is already in {first}; a data document may not replace another's value", first = .first.display(), second = .second.display())]
    DataTwice { path: String, first: PathBuf, second: PathBuf },
    #[error("a data document and a rule define the same path: {0}")]
    DataAndRule(String),
    #[error("the policy does not compile: {0}")]
    Compile(String),
    #[error("the policy's evaluator threads cannot be started")]
    Threads(#[source] io::Error),
}

/// Why a built-in may not be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    #[error("is no built-in and no function of this policy")]
    Unknown,
    #[error("is never available in a policy: a decision depends on nothing but its input and data")]
    Never,
    #[error(
        "may take time or space out of proportion to its input; name it in `policy.danger_builtins` to use it all the same"
    )]
    NotLinear,
    #[error(
        "is linear only where its argument {0} is a literal; write it there, or name the built-in in `policy.danger_builtins`"
    )]
    NotLiteral(usize),
    #[error("prints nothing here and has no value; use it only as a statement of its own")]
    Print,
}

impl Text {
    /// Reads a file.
    pub fn read(path: &Path) -> Result<Self, FileFault> {
        Ok(Self { path: path.to_owned(), text: file::read_text(path, MAX_BYTES as u64)? })
    }
}

impl PolicySource {
    /// Reads the files; whatever cannot be read is reported together.
    pub fn read(modules: &[PathBuf], data: &[PathBuf], execute: String) -> Result<Self, Vec<PolicyError>> {
        let mut errors = Vec::new();
        let mut texts = |paths: &[PathBuf]| -> Vec<Text> {
            let read = |path: &PathBuf| Text::read(path).map_err(|fault| errors.push(fault.into())).ok();
            paths.iter().filter_map(read).collect()
        };
        let (modules, data) = (texts(modules), texts(data));
        match errors.is_empty() {
            true => Ok(Self { modules, data, execute, ..Self::default() }),
            false => Err(errors),
        }
    }

    /// Where a key of the configuration stands, and where nobody said, the key alone.
    pub(super) fn at(&self, key: &'static str) -> String {
        self.places.get(key).cloned().unwrap_or_else(|| format!("policy.{key}"))
    }
}

impl Place {
    pub(super) fn at(path: &Path, line: u32) -> Self {
        Self { path: path.to_owned(), line: Some(line) }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            Some(line) => write!(f, "{}:{line}", self.path.display()),
            None => self.path.display().fmt(f),
        }
    }
}

fn near(nearest: &Option<String>) -> String {
    nearest.as_ref().map(|name| format!("; did you mean `{name}`?")).unwrap_or_default()
}
