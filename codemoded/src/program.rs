//! One Starlark program, evaluated inside a worker process and nowhere else: the parser itself can be made to
//! overflow the stack.

mod brackets;
mod builtins;
mod certain;
mod check;
mod context;
mod dialect;
mod division;
mod fault;
mod format;
mod fstring;
mod globals;
mod hints;
mod json;
mod math;
mod methods;
mod namespace;
mod native;
mod rewrite;
mod sight;
mod spec;
mod text;
mod value;

pub use context::{Context, Evaluation};
pub use globals::Language;

use starlark::ErrorKind;
use starlark::environment::Module;
use starlark::eval::Evaluator;
use starlark::values::ValueLike;

use crate::worker::protocol::{Claim, WorkerLimit};
use check::{Checked, Parsed};
use context::Phase;
use globals::Names;

/// Frames of a program's own calls, recursion included.
const MAX_CALL_STACK: usize = 1_000;

/// Why a program has no result.
struct Failure {
    claim: Claim,
    /// It names something that is not there, and nothing of it has run.
    is_unresolved: bool,
}

impl From<Claim> for Failure {
    fn from(claim: Claim) -> Self {
        Self { claim, is_unresolved: false }
    }
}

/// Runs one program: its top level, then `main`, then its result as JSON text.
pub fn run(language: &Language, context: &Context, source: &str) -> Result<String, Claim> {
    let parsed = check::parse(source)?;
    let names = language.names(parsed.ast.statement(), context);
    if let Some(failure) = certain::failure(parsed.ast.statement(), &parsed.source, names.sight, context) {
        return Err(failure);
    }
    let outcome = match evaluate(parsed, &names, context) {
        // The interpreter's guess at what was meant is among all names.
        Err(failure) if failure.is_unresolved => match names.all(context) {
            Some(all) => evaluate(check::parse(source)?, &all, context),
            None => Err(failure),
        },
        outcome => outcome,
    };
    outcome.map_err(|failure| failure.claim)
}

fn evaluate(parsed: Parsed, names: &Names, context: &Context) -> Result<String, Failure> {
    let Checked { ast, source, main: defined } = parsed.rewrite()?;
    context.read(source);
    Module::with_temp_heap(|module| {
        let mut evaluator = Evaluator::new(&module);
        evaluator.extra = Some(context);
        let budgets = context.budgets();
        let prepared = evaluator
            .set_max_callstack_size(MAX_CALL_STACK)
            .and_then(|()| evaluator.set_max_tick_count(budgets.max_execution_steps));
        if prepared.is_err() {
            return Err(Claim::Limit(WorkerLimit::ExecutionSteps).into());
        }

        context.enter(Phase::TopLevel);
        let loaded = evaluator.eval_module(ast, &names.globals);
        loaded.map_err(|error| {
            let is_unresolved = matches!(error.kind(), ErrorKind::Scope(_));
            Failure { claim: context.claim(&evaluator, error), is_unresolved }
        })?;
        let main = module.get("main").ok_or_else(fault::no_main)?;

        context.enter(Phase::Main);
        let returned = evaluator.eval_function(main, &[], &[]);
        let returned = returned.map_err(|error| context.claim(&evaluator, error))?;
        Ok(value::result(returned.to_value(), budgets, defined)?)
    })
}
