//! From texts to a running policy: parse, refuse what must not run, compile, start.
//!
//! Parsing and compiling recurse over the source, so they have a big stack and come after the check of its nesting.

use std::collections::BTreeMap;
use std::iter::once;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;

use regorus::languages::rego::compiler::{Compiler, CompilerError, SpannedCompilerError};
use regorus::rvm::program::Program;
use regorus::unstable::{Module, Ref, Span};
use regorus::{CompiledPolicy, Engine};

use super::graph::{self, CallFault};
use super::pool::Pool;
use super::rego::{Blueprint, Decisions, MachineKind};
use super::source::{Place, PolicyError, PolicySource, Refusal, Text};
use super::syntax::{self, Call, DataPath, Definition};
use super::{Rego, builtins, data, exact, input, nesting};
use crate::value::Map;

const STACK_BYTES: usize = 64 << 20;
/// The compiler passes at most this many arguments and drops the rest.
const MAX_ARGUMENTS: usize = 8;
/// Rules checked for cycles in one program: an entry point takes one of its 255 registers.
const CHECKED_AT_ONCE: usize = 100;

/// See [`super::Policy::load`].
pub(super) fn load(source: &PolicySource) -> Result<Rego, Vec<PolicyError>> {
    let (blueprint, summary) = on_big_stack(|| compile(source))?;
    let discovers = blueprint.decisions.discover.is_some();
    let pool = Pool::start(blueprint).map_err(|error| vec![PolicyError::Threads(error)])?;
    Ok(Rego { pool, discovers, summary })
}

/// A module that parsed.
struct Parsed<'a> {
    text: &'a Text,
    module: Ref<Module>,
}

/// Every definition of every module.
type Definitions = BTreeMap<DataPath, Definition>;

fn on_big_stack<T: Send>(work: impl FnOnce() -> Result<T, Vec<PolicyError>> + Send) -> Result<T, Vec<PolicyError>> {
    thread::scope(|scope| {
        let builder = thread::Builder::new().name("policy-load".into()).stack_size(STACK_BYTES);
        let thread = builder.spawn_scoped(scope, work).map_err(|error| vec![PolicyError::Threads(error)])?;
        thread.join().unwrap_or_else(|_| Err(vec![PolicyError::Compile("the compiler panicked".into())]))
    })
}

fn compile(source: &PolicySource) -> Result<(Blueprint, String), Vec<PolicyError>> {
    if source.modules.is_empty() {
        return Err(vec![PolicyError::NoModule]);
    }
    let modules = collect(source.modules.iter().map(parse))?;
    let definitions: Vec<Definition> =
        modules.iter().flat_map(|parsed| syntax::definitions(&parsed.text.path, &parsed.module)).collect();
    let rules = definitions.len();
    let mut errors: Vec<PolicyError> = definitions.iter().filter_map(computed_default).collect();
    let definitions: Definitions =
        definitions.into_iter().rev().map(|definition| (definition.path.clone(), definition)).collect();

    errors.extend(source.danger_builtins.iter().filter_map(|name| {
        let refusal = builtins::admit_danger(name).err()?;
        Some(PolicyError::DangerBuiltin { name: name.clone(), refusal })
    }));
    let texts: Vec<Text> =
        modules.iter().map(|parsed| check_calls(parsed, &definitions, &source.danger_builtins, &mut errors)).collect();
    let decisions = decisions(source, &definitions, &mut errors);
    let data = data::merge(&source.data).unwrap_or_else(|faults| {
        errors.extend(faults);
        Map::new()
    });
    match decisions {
        Some(decisions) if errors.is_empty() => {
            let machine = machine(&texts, &data, &decisions, &definitions, &source.danger_builtins)?;
            let summary = summary(source, rules);
            Ok((Blueprint { machine, decisions }, summary))
        }
        Some(_) | None => Err(errors),
    }
}

fn parse(text: &Text) -> Result<Parsed<'_>, PolicyError> {
    nesting::check(&text.text)
        .map_err(|fault| PolicyError::TooDeep { place: Place::at(&text.path, fault.line), what: fault.what })?;
    let mut engine = Engine::new();
    engine
        .add_policy(text.path.display().to_string(), text.text.clone())
        .map_err(|error| located(&text.path, &error.to_string()))?;
    let module = engine.get_modules().first().cloned();
    let module = module.ok_or_else(|| PolicyError::Compile("the module is gone".into()))?;
    Ok(Parsed { text, module })
}

fn computed_default(definition: &Definition) -> Option<PolicyError> {
    let (place, name) = (definition.place.clone(), syntax::canonical(&definition.path));
    definition.computed_default.then_some(PolicyError::DefaultNotConstant { place, name })
}

/// Checks every call of a module, and gives its text with `print` statements erased.
fn check_calls(
    parsed: &Parsed<'_>,
    definitions: &Definitions,
    danger: &[String],
    errors: &mut Vec<PolicyError>,
) -> Text {
    let mut erased = parsed.text.text.clone();
    syntax::calls(&parsed.module, &mut |call: Call<'_>| {
        let place = Place::at(&parsed.text.path, call.span.line);
        let name = syntax::dotted(call.function);
        if call.arguments.len() > MAX_ARGUMENTS {
            errors.push(PolicyError::TooManyArguments { place: place.clone(), name: name.clone() });
        }
        let own = syntax::meanings(&parsed.module, call.function);
        if own.iter().any(|path| definitions.contains_key(path)) {
            return;
        }
        let is_literal = |at: usize| call.arguments.get(at).is_some_and(|argument| syntax::is_literal(argument));
        let refusal = match (name.as_str(), call.is_statement) {
            ("print", true) => {
                erase(&mut erased, call.span);
                return;
            }
            ("print", false) => Some(Refusal::Print),
            _ => builtins::admit(&name, danger, is_literal).err(),
        };
        errors.extend(refusal.map(|refusal| PolicyError::Builtin { place, name, refusal }));
    });
    Text { path: parsed.text.path.clone(), text: erased }
}

/// Puts `true` in place of a statement, lines and offsets kept.
fn erase(text: &mut String, span: &Span) {
    let range = usize::try_from(span.start).unwrap_or(usize::MAX)..usize::try_from(span.end).unwrap_or(usize::MAX);
    let Some(statement) = text.get(range.clone()) else { return };
    let blank = statement.bytes().skip("true".len()).map(|byte| if byte == b'\n' { '\n' } else { ' ' });
    let blank: String = "true".chars().chain(blank).collect();
    text.replace_range(range, &blank);
}

/// Checks the configured references.
fn decisions(source: &PolicySource, definitions: &Definitions, errors: &mut Vec<PolicyError>) -> Option<Decisions> {
    let mut check = |key: &'static str, reference: &String| {
        let checked = decision(key, reference, definitions);
        checked.map_err(|error| errors.push(error)).ok()
    };
    let execute = check("execute", &source.execute);
    let discover = source.discover.as_ref().map(|reference| check("discover", reference));
    let reason = source.reason.as_ref().map(|reference| check("reason", reference));
    Some(Decisions { execute: execute?, discover: transpose(discover)?, reason: transpose(reason)? })
}

fn transpose<T>(checked: Option<Option<T>>) -> Option<Option<T>> {
    match checked {
        None => Some(None),
        Some(None) => None,
        Some(Some(value)) => Some(Some(value)),
    }
}

fn decision(key: &'static str, reference: &str, definitions: &Definitions) -> Result<String, PolicyError> {
    let reference = reference.to_owned();
    let Some(path) = syntax::ground(&reference) else {
        return Err(PolicyError::NotGround { key, reference });
    };
    match definitions.get(&path) {
        Some(definition) if definition.is_function => Err(PolicyError::Function { key, reference }),
        Some(_) => Ok(syntax::canonical(&path)),
        None => {
            let same_rule = |known: &&DataPath| known.last() == path.last();
            let nearest = definitions.keys().find(same_rule).map(|known| syntax::canonical(known));
            Err(PolicyError::Undefined { key, reference, nearest })
        }
    }
}

/// Compiles for the machine that decides this policy rightly.
fn machine(
    texts: &[Text],
    data: &Map,
    decisions: &Decisions,
    definitions: &Definitions,
    danger: &[String],
) -> Result<MachineKind, Vec<PolicyError>> {
    let one = |error| vec![error];
    let mut engine = Engine::new();
    let first = texts.first().map(|text| text.path.clone()).unwrap_or_default();
    for text in texts {
        engine
            .add_policy(text.path.display().to_string(), text.text.clone())
            .map_err(|error| one(located(&text.path, &error.to_string())))?;
    }
    let data = input::map(data);
    engine.add_data(data.clone()).map_err(|error| one(PolicyError::Compile(error.to_string())))?;
    let policy = engine
        .compile_with_entrypoint(&decisions.execute.as_str().into())
        .map_err(|error| one(located(&first, &error.to_string())))?;
    check_cycles(&policy, definitions)?;

    let wanted: Vec<&str> =
        once(&decisions.execute).chain(&decisions.discover).chain(&decisions.reason).map(String::as_str).collect();
    let mut program =
        Compiler::compile_from_policy(&policy, &wanted).map_err(|error| one(not_compiled(&error, definitions)))?;
    check_builtins(&program, danger).map_err(one)?;
    program.check_rule_data_conflicts(&data).map_err(|error| one(PolicyError::DataAndRule(error.to_string())))?;
    if !exact::is_single_valued(&program) {
        return Ok(MachineKind::Interpreter(Box::new(engine)));
    }
    let hardened =
        Arc::get_mut(&mut program).ok_or_else(|| one(PolicyError::Compile("the program is shared".into())))?;
    exact::guard(hardened).map_err(|name| one(PolicyError::Compile(format!("`{name}` has no guarded form"))))?;
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
fn located(path: &Path, text: &str) -> PolicyError {
    let message = builtins::gist(text).to_owned();
    let head = text.split_once("--> ").and_then(|(_, rest)| rest.lines().next());
    let mut parts = head.unwrap_or_default().rsplitn(3, ':');
    let (_column, line, file) = (parts.next(), parts.next().and_then(|line| line.parse().ok()), parts.next());
    let path = file.map_or_else(|| path.to_owned(), PathBuf::from);
    PolicyError::Syntax { place: Place { path, line }, message }
}

fn summary(source: &PolicySource, rules: usize) -> String {
    let name = |text: &Text| text.path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let files: Vec<String> = source.modules.iter().map(name).collect();
    let decisions = once(&source.execute).chain(&source.discover).cloned().collect::<Vec<_>>();
    let refused = match source.danger_builtins.as_slice() {
        [] => "no refused built-ins".to_owned(),
        danger => format!("dangerous built-ins: {}", danger.join(", ")),
    };
    format!("{}: {}, {rules} rules, {refused}", files.join(", "), decisions.join(", "))
}

/// All values, or all errors.
fn collect<T>(results: impl Iterator<Item = Result<T, PolicyError>>) -> Result<Vec<T>, Vec<PolicyError>> {
    let (mut values, mut errors) = (Vec::new(), Vec::new());
    for result in results {
        match result {
            Ok(value) => values.push(value),
            Err(error) => errors.push(error),
        }
    }
    if errors.is_empty() { Ok(values) } else { Err(errors) }
}
