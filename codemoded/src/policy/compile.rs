//! From checked modules to what evaluators are made from.

use std::collections::BTreeMap;
use std::iter::once;
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use regorus::languages::rego::compiler::{Compiler, CompilerError, SpannedCompilerError};
use regorus::rvm::program::Program;
use regorus::{CompiledPolicy, Engine, PolicyLengthConfig};

use super::graph::{self, CallFault};
use super::rego::{Decisions, MachineKind};
use super::source::{Place, PolicyError, Text};
use super::syntax::{self, DataPath, Definition};
use super::{builtins, exact, input};
use crate::value::Map;

/// Rules checked for cycles in one program: an entry point takes one of its 255 registers.
const CHECKED_AT_ONCE: usize = 100;
/// The engine's own default would refuse a long list on one line.
const MAX_COLUMNS: NonZeroU32 = NonZeroU32::new(1 << 16).unwrap();

/// Every rule of every module, by its path; of several definitions the first.
pub(super) type Definitions = BTreeMap<DataPath, Definition>;

/// Modules whose own text is in order.
pub(super) struct Modules<'a> {
    pub texts: &'a [Text],
    pub decisions: &'a Decisions,
    pub definitions: &'a Definitions,
    /// Some definition is one that the register machine misreads.
    pub is_misread: bool,
    pub danger: &'a [String],
}

/// An engine with no module yet.
pub(super) fn engine() -> Engine {
    let mut engine = Engine::new();
    engine.set_policy_length_config(PolicyLengthConfig { max_col: MAX_COLUMNS, ..PolicyLengthConfig::default() });
    engine
}

/// Compiles for the machine that decides this policy rightly.
pub(super) fn compile(modules: &Modules<'_>, data: &Map) -> Result<MachineKind, Vec<PolicyError>> {
    let one = |error| vec![error];
    let mut engine = engine();
    let first = modules.texts.first().map(|text| text.path.clone()).unwrap_or_default();
    for text in modules.texts {
        engine
            .add_policy(text.path.display().to_string(), text.text.clone())
            .map_err(|error| one(located(&text.path, &error.to_string())))?;
    }
    let data = input::map(data);
    engine.add_data(data.clone()).map_err(|error| one(PolicyError::Compile(error.to_string())))?;
    let policy = engine
        .compile_with_entrypoint(&modules.decisions.execute.as_str().into())
        .map_err(|error| one(located(&first, &error.to_string())))?;
    check_cycles(&policy, modules.definitions)?;

    let Decisions { execute, discover, reason } = modules.decisions;
    let wanted: Vec<&str> = once(execute).chain(discover).chain(reason).map(String::as_str).collect();
    let mut program = Compiler::compile_from_policy(&policy, &wanted)
        .map_err(|error| one(not_compiled(&error, modules.definitions)))?;
    check_builtins(&program, modules.danger).map_err(one)?;
    program.check_rule_data_conflicts(&data).map_err(|error| one(PolicyError::DataAndRule(error.to_string())))?;
    if modules.is_misread || !exact::is_single_valued(&program) {
        return Ok(MachineKind::Interpreter(Box::new(engine)));
    }
    let hardened =
        Arc::get_mut(&mut program).ok_or_else(|| one(PolicyError::Compile("the program is shared".into())))?;
    exact::guard(hardened).map_err(|unguarded| one(PolicyError::Compile(unguarded.to_string())))?;
    Ok(MachineKind::Register { program, data })
}

/// Refuses recursion in every rule, whether or not a decision reaches it today. What the compiler cannot compile
/// (`with`, in a test beside the policy) can run only where a decision reaches it, and is refused there.
fn check_cycles(policy: &CompiledPolicy, definitions: &Definitions) -> Result<(), Vec<PolicyError>> {
    let names: Vec<String> = definitions.keys().map(|path| syntax::canonical(path)).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let check = |names: &[&str]| -> Result<bool, Vec<PolicyError>> {
        match Compiler::compile_from_policy(policy, names) {
            Ok(program) => graph::check(&program).map(|()| true).map_err(|fault| vec![call_fault(fault, definitions)]),
            Err(error) => match not_compiled(&error, definitions) {
                recursive @ PolicyError::Recursive { .. } => Err(vec![recursive]),
                _ => Ok(false),
            },
        }
    };
    for chunk in names.chunks(CHECKED_AT_ONCE) {
        if !check(chunk)? {
            for name in chunk {
                check(&[name])?;
            }
        }
    }
    Ok(())
}

/// The calls have been checked one by one in the source; this is what the compiler made of them.
fn check_builtins(program: &Program, danger: &[String]) -> Result<(), PolicyError> {
    for info in &program.builtin_info_table {
        if let Err(refusal) = builtins::admit(&info.name, danger, |_| true) {
            return Err(PolicyError::Compile(format!("`{}` {refusal}", info.name)));
        }
    }
    match program.has_host_await {
        true => Err(PolicyError::Compile("`__builtin_host_await` is not available".into())),
        false => Ok(()),
    }
}

fn call_fault(fault: CallFault, definitions: &Definitions) -> PolicyError {
    match fault {
        CallFault::Cycle(cycle) => {
            PolicyError::Recursive { place: place_of(cycle.first().map_or("", String::as_str), definitions), cycle }
        }
        CallFault::TooLong(name) => {
            PolicyError::ChainTooLong { place: place_of(&name, definitions), name, limit: graph::MAX_CHAIN }
        }
    }
}

fn place_of(rule: &str, definitions: &Definitions) -> Place {
    let named = definitions.values().find(|definition| syntax::canonical(&definition.path) == rule);
    named.map_or(Place { path: PathBuf::from("policy"), line: None }, |definition| definition.place.clone())
}

fn not_compiled(error: &SpannedCompilerError, definitions: &Definitions) -> PolicyError {
    if let CompilerError::General { message } = &error.error
        && let Some((_, chain)) = message.split_once("Compile-time recursion detected in rule call chain: ")
    {
        return call_fault(CallFault::Cycle(chain.split(" -> ").map(str::to_owned).collect()), definitions);
    }
    let message = error.error.to_string();
    match &error.span {
        Some(span) => PolicyError::Syntax { place: Place::at(Path::new(span.source.get_path()), span.line), message },
        None => PolicyError::Compile(message),
    }
}

/// The engine's errors are texts that begin with `--> file:line:column` and end with the message.
pub(super) fn located(path: &Path, text: &str) -> PolicyError {
    let message = builtins::gist(text).to_owned();
    let head = text.split_once("--> ").and_then(|(_, rest)| rest.lines().next());
    let mut parts = head.unwrap_or_default().rsplitn(3, ':');
    let (_column, line, file) = (parts.next(), parts.next().and_then(|line| line.parse().ok()), parts.next());
    let path = file.map_or_else(|| path.to_owned(), PathBuf::from);
    PolicyError::Syntax { place: Place { path, line }, message }
}
