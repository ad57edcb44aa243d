//! A policy tried by hand: the unit tests beside it, and what each of its rules says of one call.
//!
//! Tests replace the input by `with`, which only the engine's interpreter understands. So tests are interpreted, after
//! the policy has been checked and compiled exactly as for serving.

use std::time::{Duration, Instant};

use regorus::Value;

use super::compile::{Definitions, engine, located};
use super::load::{check_calls, collect, on_big_stack, parse, prepare, repeated_defaults};
use super::rego::{Blueprint, Decisions, Evaluator, MachineKind};
use super::source::{Place, PolicyError, PolicySource, Text};
use super::syntax::{self, Definition};
use super::{PolicyFailure, Question, data, input};

/// For one rule; a test that takes longer has failed.
const RULE_TIME: Duration = Duration::from_secs(10);

/// A policy with its tests, ready to be asked.
#[derive(Debug)]
pub struct Trial {
    evaluator: Evaluator,
    /// In the order of the files; of several definitions of one rule the first.
    rules: Vec<Named>,
}

#[derive(Debug)]
struct Named {
    name: String,
    place: Place,
    is_test: bool,
}

/// How one unit test went.
#[derive(Debug)]
pub struct Tested {
    /// `data.package.test_…`.
    pub name: String,
    pub place: Place,
    /// What the rule said instead of `true`.
    pub fault: Option<String>,
}

impl Trial {
    /// Loads a policy as it would be served, and modules with tests beside it.
    pub fn prepare(source: &PolicySource, tests: &[Text]) -> Result<Self, Vec<PolicyError>> {
        on_big_stack(|| {
            let prepared = prepare(source)?;
            Self::of(source, tests, prepared.blueprint.decisions)
        })
    }

    fn of(source: &PolicySource, tests: &[Text], decisions: Decisions) -> Result<Self, Vec<PolicyError>> {
        let modules = collect(source.modules.iter().chain(tests).map(parse))?;
        let all: Vec<Definition> =
            modules.iter().flat_map(|parsed| syntax::definitions(&parsed.text.path, &parsed.module)).collect();
        let mut rules: Vec<Named> = Vec::new();
        for definition in all.iter().filter(|definition| !definition.is_function) {
            let name = syntax::canonical(&definition.path);
            if !rules.iter().any(|known| known.name == name) {
                let is_test = definition.path.last().is_some_and(|last| last.starts_with("test_"));
                rules.push(Named { name, place: definition.place.clone(), is_test });
            }
        }
        let mut errors = repeated_defaults(&all);
        let definitions: Definitions =
            all.into_iter().map(|definition| (definition.path.clone(), definition)).collect();
        let texts: Vec<Text> = modules
            .iter()
            .map(|parsed| check_calls(parsed, &definitions, &source.danger_builtins, &mut errors))
            .collect();
        let mut engine = engine();
        for text in &texts {
            let added = engine.add_policy(text.path.display().to_string(), text.text.clone());
            errors.extend(added.err().map(|error| located(&text.path, &error.to_string())));
        }
        let documents = data::merge(&source.data)?;
        let added = engine.add_data(input::map(&documents));
        errors.extend(added.err().map(|error| PolicyError::Compile(error.to_string())));
        if !errors.is_empty() {
            return Err(errors);
        }
        let blueprint = Blueprint { machine: MachineKind::Interpreter(Box::new(engine)), decisions };
        Ok(Self { evaluator: blueprint.evaluator(), rules })
    }

    /// Runs every rule whose name begins with `test_`.
    pub fn tests(&mut self) -> Result<Vec<Tested>, Vec<PolicyError>> {
        let Self { evaluator, rules } = self;
        on_big_stack(|| {
            let tests = rules.iter().filter(|rule| rule.is_test);
            Ok(tests
                .map(|rule| {
                    let said = evaluator.value(&rule.name, None, Instant::now() + RULE_TIME);
                    let fault = (said != Ok(Value::Bool(true))).then(|| shown(said));
                    Tested { name: rule.name.clone(), place: rule.place.clone(), fault }
                })
                .collect())
        })
    }

    /// What each rule says of a call: its name and its value, as JSON.
    pub fn rules(&mut self, question: &Question) -> Result<Vec<(String, String)>, Vec<PolicyError>> {
        let Self { evaluator, rules } = self;
        on_big_stack(|| {
            let rules = rules.iter().filter(|rule| !rule.is_test);
            let value = |rule: &Named| evaluator.value(&rule.name, Some(question), Instant::now() + RULE_TIME);
            let mut value = value;
            Ok(rules.map(|rule| (rule.name.clone(), shown(value(rule)))).collect())
        })
    }
}

fn shown(said: Result<Value, PolicyFailure>) -> String {
    match said {
        Ok(Value::Undefined) => "undefined".to_owned(),
        Ok(value) => value.to_json_str().unwrap_or_else(|error| error.to_string()),
        Err(failure) => failure.to_string(),
    }
}
