//! `codemoded policy`: the policy's own tests, and the decision that one call would get.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use clap::Subcommand;

use super::configured::Caller;
use super::{CommandError, say};
use crate::capability::Capability;
use crate::config::{self, Config};
use crate::daemon::{Daemon, StartError, policy_source};
use crate::failure::Failure;
use crate::file::FileFault;
use crate::identity::Subject;
use crate::mcp::text;
use crate::policy::{Asked, Decision, PolicyError, PolicySource, Question, Text, Trial};
use crate::value::{Bounds, Map, Value, read};

/// What a value on the command line may be.
const BOUNDS: Bounds = Bounds { max_bytes: 1 << 20, max_depth: 32 };

#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// Runs the rules named `test_…` in the `*_test.rego` files beside the policy's modules, or in the files given.
    Test { files: Vec<PathBuf> },
    /// Shows the decision that a call would get, and what each rule of the policy says of it.
    Eval {
        /// The capability, by its name or its ID.
        name: String,
        /// `KEY=VALUE` each; a value that is not JSON is a string.
        arguments: Vec<String>,
        #[command(flatten)]
        caller: Caller,
    },
}

/// Why there is nothing to try.
#[derive(Debug, thiserror::Error)]
pub(super) enum TrialError {
    #[error("the policy is allow-all: it has no rules")]
    NoRules,
    #[error(
        "no rule is named `test_…`; tests are in `*_test.rego` beside the policy's modules, or in files named here"
    )]
    NoTests,
    #[error("{failed} of {all} tests failed")]
    Failed { failed: usize, all: usize },
    #[error("`{0}` is no argument; write KEY=VALUE")]
    Argument(String),
    #[error("the argument `{0}` is given twice")]
    ArgumentTwice(String),
    #[error("cannot look for tests in `{}`", .0.display())]
    Folder(PathBuf, #[source] std::io::Error),
}

/// Runs the tests; needs neither plugins nor workers. The report is printed whether or not they pass.
pub(super) fn test(config: &Config, files: &[PathBuf], out: File) -> Result<(), CommandError> {
    let source = source(config)?;
    let texts = match files {
        [] => texts(&beside(&source)?)
            .map_err(|faults| StartError::Policy(faults.into_iter().map(PolicyError::from).collect()))?,
        named => texts(named).map_err(CommandError::Files)?,
    };
    let mut trial = Trial::prepare(&source, &texts).map_err(StartError::Policy)?;
    let tested = trial.tests().map_err(StartError::Policy)?;
    let mut report = String::new();
    for test in &tested {
        let _ = match &test.fault {
            None => writeln!(report, "ok      {}", test.name),
            Some(said) => writeln!(report, "FAILED  {}  ({}: {said})", test.name, test.place),
        };
    }
    let (all, failed) = (tested.len(), tested.iter().filter(|test| test.fault.is_some()).count());
    let _ = writeln!(report, "{} passed, {failed} failed", all - failed);
    say(out, &report)?;
    match (all, failed) {
        (0, _) => Err(TrialError::NoTests.into()),
        (_, 0) => Ok(()),
        (all, failed) => Err(TrialError::Failed { failed, all }.into()),
    }
}

/// What the policy says of one call, and why.
pub(super) async fn eval(
    daemon: &Daemon,
    config: &Config,
    subject: Subject,
    name: &str,
    arguments: &[String],
) -> Result<String, CommandError> {
    let generation = daemon.current.get();
    let catalog = &generation.catalog;
    let near = || catalog.near(name).first().map(|near| near.name.as_str().to_owned());
    let capability = catalog.get(name).or_else(|| catalog.by_id(name));
    let capability = capability.ok_or_else(|| super::failed(&Failure::NotFound { near: near() }))?;
    let arguments = bound(capability, arguments)?;
    let shown = generation.shows(&subject, capability).await;
    let question = Question { subject, capability: Asked::from(&**capability), arguments: Arc::new(arguments) };
    let deadline = Instant::now() + generation.limits.max_execution_time;
    let mut report = match generation.policy.decide(question.clone(), deadline).await {
        Decision::Allow => "decision  allow\n".to_owned(),
        Decision::Deny { reason: None } => "decision  deny\n".to_owned(),
        Decision::Deny { reason: Some(reason) } => format!("decision  deny: {reason}\n"),
        Decision::Failure(cause) => format!("decision  none: {cause}\n"),
    };
    if generation.policy.discovers() {
        let _ = writeln!(report, "shown     {}", if shown { "yes" } else { "no" });
    }
    let _ = writeln!(report, "input     {}", input(&question).to_json());
    if let config::Policy::Rego(_) = &config.policy {
        let mut trial = Trial::prepare(&source(config)?, &[]).map_err(StartError::Policy)?;
        for (at, (rule, said)) in trial.rules(&question).map_err(StartError::Policy)?.into_iter().enumerate() {
            let _ = writeln!(report, "{}  {rule} = {said}", if at == 0 { "rules   " } else { "        " });
        }
    }
    Ok(report)
}

fn source(config: &Config) -> Result<PolicySource, CommandError> {
    match &config.policy {
        config::Policy::Rego(rego) => Ok(policy_source(rego).map_err(StartError::Policy)?),
        config::Policy::AllowAll => Err(TrialError::NoRules.into()),
    }
}

fn texts(files: &[PathBuf]) -> Result<Vec<Text>, Vec<FileFault>> {
    let (mut texts, mut faults) = (Vec::new(), Vec::new());
    for file in files {
        match Text::read(file) {
            Ok(text) => texts.push(text),
            Err(fault) => faults.push(fault),
        }
    }
    if faults.is_empty() { Ok(texts) } else { Err(faults) }
}

/// The `*_test.rego` files in the folders of the policy's modules, other than those modules themselves.
fn beside(source: &PolicySource) -> Result<Vec<PathBuf>, TrialError> {
    let modules: BTreeSet<&Path> = source.modules.iter().map(|module| module.path.as_path()).collect();
    let folders: BTreeSet<&Path> = modules.iter().filter_map(|module| module.parent()).collect();
    let mut found = Vec::new();
    for folder in folders {
        let entries = std::fs::read_dir(folder).and_then(Iterator::collect::<Result<Vec<_>, _>>);
        let entries = entries.map_err(|cause| TrialError::Folder(folder.to_owned(), cause))?;
        let tests = entries
            .iter()
            .map(std::fs::DirEntry::path)
            .filter(|path| path.to_string_lossy().ends_with("_test.rego") && !modules.contains(path.as_path()));
        found.extend(tests);
    }
    found.sort();
    Ok(found)
}

fn bound(capability: &Capability, given: &[String]) -> Result<Map, CommandError> {
    let mut arguments = Map::new();
    for argument in given {
        let (key, text) = argument.split_once('=').ok_or_else(|| TrialError::Argument(argument.clone()))?;
        let value = read(text.as_bytes(), BOUNDS).unwrap_or_else(|_| Value::Str(text.to_owned()));
        if arguments.insert(key.to_owned(), value).is_some() {
            return Err(TrialError::ArgumentTwice(key.to_owned()).into());
        }
    }
    let refused = |diagnostic| Failure::InvalidArguments(format!("{}: {diagnostic}", capability.name));
    let bound = capability.input.bind(arguments).map_err(refused);
    bound.map_err(|failure| CommandError::Failed(text(&failure)))
}

/// The input, as the policy sees it.
fn input(question: &Question) -> Value {
    let hints = question.capability.hints;
    let hints = [
        ("read_only", hints.read_only),
        ("destructive", hints.destructive),
        ("idempotent", hints.idempotent),
        ("open_world", hints.open_world),
    ];
    let hints = hints.into_iter().filter_map(|(name, hint)| Some((name.to_owned(), Value::Bool(hint?)))).collect();
    let text = |text: &str| Value::Str(text.to_owned());
    let map = |members: Vec<(&str, Value)>| {
        Value::Map(members.into_iter().map(|(name, value)| (name.to_owned(), value)).collect())
    };
    map(vec![
        (
            "subject",
            map(vec![
                ("id", text(question.subject.id.as_str())),
                ("claims", Value::Map((*question.subject.claims).clone())),
            ]),
        ),
        (
            "capability",
            map(vec![
                ("id", text(question.capability.id.as_str())),
                ("name", text(question.capability.name.as_str())),
                ("hints", Value::Map(hints)),
            ]),
        ),
        ("arguments", Value::Map((*question.arguments).clone())),
    ])
}
