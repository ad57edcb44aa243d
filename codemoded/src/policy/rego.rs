//! One evaluator: lives on one thread, shares nothing that changes, answers one question at a time.

use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::{Duration, Instant};

use regorus::rvm::program::Program;
use regorus::rvm::vm::{RegoVM, VmError};
use regorus::utils::limits::ExecutionTimerConfig;
use regorus::{Engine, LimitError, Value};

use super::{Asked, Decision, PolicyFailure, Question, builtins, input};
use crate::identity::Subject;
use crate::text::{MAX_PUBLISHED_BYTES, printable};

/// A backstop behind the deadline: some tenths of a second of work.
const MAX_INSTRUCTIONS: usize = 5_000_000;
/// Instructions between two looks at the clock.
const CHECK_INTERVAL: NonZeroU32 = NonZeroU32::new(256).unwrap();

/// What evaluators are made from. Immutable; each evaluator has its own machine.
#[derive(Debug)]
pub(super) struct Blueprint {
    pub machine: MachineKind,
    pub decisions: Decisions,
}

/// The configured references, in the engine's spelling.
#[derive(Clone, Debug)]
pub(super) struct Decisions {
    pub execute: String,
    pub discover: Option<String>,
    pub reason: Option<String>,
}

#[derive(Debug)]
pub(super) enum MachineKind {
    Register {
        program: Arc<Program>,
        data: Value,
    },
    /// Prepared: modules and data are in it.
    Interpreter(Box<Engine>),
}

/// See the module.
#[derive(Debug)]
pub(super) struct Evaluator {
    machine: Machine,
    decisions: Decisions,
}

#[derive(Debug)]
enum Machine {
    Register(Box<RegoVM>),
    Interpreter(Box<Engine>),
}

impl Blueprint {
    pub(super) fn evaluator(&self) -> Evaluator {
        let machine = match &self.machine {
            MachineKind::Register { program, data } => Machine::Register(Box::new(register_machine(program, data))),
            MachineKind::Interpreter(engine) => Machine::Interpreter(engine.clone()),
        };
        Evaluator { machine, decisions: self.decisions.clone() }
    }
}

impl Evaluator {
    pub(super) fn decide(&mut self, question: &Question, deadline: Instant) -> Decision {
        let input = input::of_call(question);
        self.machine.set_input(input);
        match self.machine.evaluate(&self.decisions.execute, deadline).and_then(boolean) {
            Ok(true) => Decision::Allow,
            Ok(false) => Decision::Deny { reason: self.reason(deadline) },
            Err(failure) => Decision::Failure(failure),
        }
    }

    /// Which capabilities show, and the first failure on the way.
    pub(super) fn visible(
        &mut self,
        subject: &Subject,
        capabilities: &[Asked],
        deadline: Instant,
    ) -> (Vec<bool>, Option<PolicyFailure>) {
        let Some(discover) = &self.decisions.discover else { return (vec![true; capabilities.len()], None) };
        let subject = input::subject(subject);
        let mut failure = None;
        let mut shows = |asked: &Asked| {
            self.machine.set_input(input::of_discovery(subject.clone(), asked));
            let answer = match Instant::now() < deadline {
                true => self.machine.evaluate(discover, deadline).and_then(boolean),
                false => Err(PolicyFailure::TimedOut),
            };
            answer.unwrap_or_else(|cause| {
                failure.get_or_insert(cause);
                false
            })
        };
        let shown = capabilities.iter().map(&mut shows).collect();
        (shown, failure)
    }

    /// What any rule says, of a call where one is given.
    pub(super) fn value(
        &mut self,
        rule: &str,
        question: Option<&Question>,
        deadline: Instant,
    ) -> Result<Value, PolicyFailure> {
        self.machine.set_input(question.map_or(Value::Undefined, input::of_call));
        self.machine.evaluate(rule, deadline)
    }

    /// What a denied caller may be told; a policy without a text for this call publishes none.
    fn reason(&mut self, deadline: Instant) -> Option<String> {
        let reason = self.decisions.reason.as_ref()?;
        match self.machine.evaluate(reason, deadline) {
            Ok(Value::String(text)) => Some(printable(&text, MAX_PUBLISHED_BYTES)),
            Ok(Value::Undefined) => None,
            Ok(other) => {
                tracing::warn!(kind = kind(&other), "the policy's reason is no string; none is given");
                None
            }
            Err(failure) => {
                tracing::warn!(%failure, "the policy's reason failed; none is given");
                None
            }
        }
    }
}

impl Machine {
    fn set_input(&mut self, input: Value) {
        match self {
            Self::Register(machine) => machine.set_input(input),
            Self::Interpreter(engine) => engine.set_input(input),
        }
    }

    fn evaluate(&mut self, decision: &str, deadline: Instant) -> Result<Value, PolicyFailure> {
        let limit = time_limit(deadline)?;
        let timer = ExecutionTimerConfig { limit, check_interval: CHECK_INTERVAL };
        builtins::take_fault();
        match self {
            Self::Register(machine) => {
                machine.set_execution_timer_config(Some(timer));
                machine.execute_entry_point_by_name(decision).map_err(register_failure)
            }
            Self::Interpreter(engine) => {
                engine.set_execution_timer_config(timer);
                engine.eval_rule(decision.to_owned()).map_err(|error| match error.downcast_ref::<LimitError>() {
                    Some(LimitError::TimeLimitExceeded { .. }) => PolicyFailure::TimedOut,
                    _ => PolicyFailure::Evaluation(builtins::gist(&error.to_string()).to_owned()),
                })
            }
        }
    }
}

fn register_machine(program: &Arc<Program>, data: &Value) -> RegoVM {
    let mut machine = RegoVM::new();
    machine.load_program(program.clone());
    machine.set_max_instructions(MAX_INSTRUCTIONS);
    // Its strictness would drop a comparison of two kinds where Rego orders them; what must be fatal is guarded.
    machine.set_strict_builtin_errors(false);
    if let Err(error) = machine.set_data(data.clone()) {
        tracing::error!(%error, "the policy's data conflicts with its rules");
    }
    machine
}

/// What is left, a little short of it: the evaluation's own end should come before its caller gives up on it.
fn time_limit(deadline: Instant) -> Result<Duration, PolicyFailure> {
    let left = deadline.saturating_duration_since(Instant::now());
    let limit = left - (left / 10).min(Duration::from_millis(5));
    if limit.is_zero() { Err(PolicyFailure::TimedOut) } else { Ok(limit) }
}

fn register_failure(error: VmError) -> PolicyFailure {
    match (builtins::take_fault(), error) {
        (Some(cause), _) => PolicyFailure::Evaluation(cause),
        (None, VmError::TimeLimitExceeded { .. }) => PolicyFailure::TimedOut,
        (None, VmError::InstructionLimitExceeded { limit, .. }) => PolicyFailure::Instructions { limit },
        (None, error) => PolicyFailure::Evaluation(error.to_string()),
    }
}

fn boolean(value: Value) -> Result<bool, PolicyFailure> {
    match value {
        Value::Bool(value) => Ok(value),
        Value::Undefined => Err(PolicyFailure::Undefined),
        other => Err(PolicyFailure::NotBoolean(kind(&other))),
    }
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Set(_) => "a set",
        Value::Object(_) => "an object",
        Value::Undefined => "undefined",
    }
}
