//! From texts to a running policy: parse, refuse what must not run, compile, start.
//!
//! Parsing and compiling recurse over the source, so they have a big stack and come after the check of its nesting.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::iter::once;
use std::thread;

use regorus::unstable::{Module, Ref, Span};

use super::compile::{self, Definitions, Modules, engine, located};
use super::mention::{Mention, mentions};
use super::pool::Pool;
use super::rego::{Blueprint, Decisions};
use super::source::{Place, PolicyError, PolicySource, Refusal, Text};
use super::syntax::{self, Call, DataPath, Definition};
use super::{Rego, builtins, data, nesting};
use crate::origin::Origin;
use crate::value::Map;

const STACK_BYTES: usize = 64 << 20;
/// The compiler passes at most this many arguments and drops the rest.
const MAX_ARGUMENTS: usize = 8;

/// See [`super::Policy::load`].
pub(super) fn load(source: &PolicySource) -> Result<Rego, Vec<PolicyError>> {
    let Prepared { blueprint, summary, mentions } = on_big_stack(|| prepare(source))?;
    let discovers = blueprint.decisions.discover.is_some();
    let pool = Pool::start(blueprint).map_err(|error| vec![PolicyError::Threads(error)])?;
    let files = source.modules.iter().chain(&source.data);
    let origins = files.map(|file| Origin::of(&file.path, file.text.as_bytes())).collect();
    Ok(Rego { pool, discovers, summary, origins, mentions })
}

/// A policy that may run.
pub(super) struct Prepared {
    pub blueprint: Blueprint,
    pub summary: String,
    pub mentions: Vec<Mention>,
}

/// A module that parsed.
pub(super) struct Parsed<'a> {
    pub text: &'a Text,
    pub module: Ref<Module>,
}

pub(super) fn on_big_stack<T: Send>(
    work: impl FnOnce() -> Result<T, Vec<PolicyError>> + Send,
) -> Result<T, Vec<PolicyError>> {
    thread::scope(|scope| {
        let builder = thread::Builder::new().name("policy-load".into()).stack_size(STACK_BYTES);
        let thread = builder.spawn_scoped(scope, work).map_err(|error| vec![PolicyError::Threads(error)])?;
        thread.join().unwrap_or_else(|_| Err(vec![PolicyError::Compile("the compiler panicked".into())]))
    })
}

pub(super) fn prepare(source: &PolicySource) -> Result<Prepared, Vec<PolicyError>> {
    if source.modules.is_empty() {
        return Err(vec![PolicyError::NoModule]);
    }
    let modules = collect(source.modules.iter().map(parse))?;
    let definitions: Vec<Definition> =
        modules.iter().flat_map(|parsed| syntax::definitions(&parsed.text.path, &parsed.module)).collect();
    let rules = definitions.len();
    let mentions = modules.iter().flat_map(mentions).collect();
    let is_misread = definitions.iter().any(|definition| definition.is_misread);
    let mut errors: Vec<PolicyError> = definitions.iter().filter_map(computed_default).collect();
    errors.extend(repeated_defaults(&definitions));
    let definitions: Definitions =
        definitions.into_iter().rev().map(|definition| (definition.path.clone(), definition)).collect();

    errors.extend(source.danger_builtins.iter().filter_map(|name| {
        let refusal = builtins::admit_danger(name).err()?;
        Some(PolicyError::DangerBuiltin { at: source.at("danger_builtins"), name: name.clone(), refusal })
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
            let (texts, danger) = (texts.as_slice(), source.danger_builtins.as_slice());
            let modules = Modules { texts, decisions: &decisions, definitions: &definitions, is_misread, danger };
            let machine = compile::compile(&modules, &data)?;
            let (blueprint, summary) = (Blueprint { machine, decisions }, summary(source, rules));
            Ok(Prepared { blueprint, summary, mentions })
        }
        Some(_) | None => Err(errors),
    }
}

pub(super) fn parse(text: &Text) -> Result<Parsed<'_>, PolicyError> {
    nesting::check(&text.text)
        .map_err(|fault| PolicyError::TooDeep { place: Place::at(&text.path, fault.line), what: fault.what })?;
    let mut engine = engine();
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

/// Of several defaults of one rule the engine would keep one, by the order of the files.
pub(super) fn repeated_defaults(definitions: &[Definition]) -> Vec<PolicyError> {
    let mut first_of: BTreeMap<&DataPath, &Place> = BTreeMap::new();
    let mut errors = Vec::new();
    for Definition { path, place, .. } in definitions.iter().filter(|definition| definition.is_default) {
        match first_of.entry(path) {
            Entry::Vacant(entry) => drop(entry.insert(place)),
            Entry::Occupied(first) => errors.push(PolicyError::DefaultTwice {
                place: place.clone(),
                name: syntax::canonical(path),
                first: (*first.get()).clone(),
            }),
        }
    }
    errors
}

/// Checks every call of a module, and gives its text with `print` statements erased.
pub(super) fn check_calls(
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
        let checked = decision(source.at(key), reference, definitions);
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

fn decision(at: String, reference: &str, definitions: &Definitions) -> Result<String, PolicyError> {
    let reference = reference.to_owned();
    let Some(path) = syntax::ground(&reference) else {
        return Err(PolicyError::NotGround { at, reference });
    };
    match definitions.get(&path) {
        Some(definition) if definition.is_function => Err(PolicyError::Function { at, reference }),
        Some(_) => Ok(syntax::canonical(&path)),
        None => {
            let same_rule = |known: &&DataPath| known.last() == path.last();
            let nearest = definitions.keys().find(same_rule).map(|known| syntax::canonical(known));
            Err(PolicyError::Undefined { at, reference, nearest })
        }
    }
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
pub(super) fn collect<T>(results: impl Iterator<Item = Result<T, PolicyError>>) -> Result<Vec<T>, Vec<PolicyError>> {
    let (mut values, mut errors) = (Vec::new(), Vec::new());
    for result in results {
        match result {
            Ok(value) => values.push(value),
            Err(error) => errors.push(error),
        }
    }
    if errors.is_empty() { Ok(values) } else { Err(errors) }
}
