//! One Starlark program, evaluated inside a worker process and nowhere else: the parser itself can be made to
//! overflow the stack.

mod builtins;
mod check;
mod context;
mod dialect;
mod fault;
mod format;
mod globals;
mod hints;
mod json;
mod math;
mod methods;
mod namespace;
mod native;
mod rewrite;
mod text;
mod value;

pub use context::{Context, Evaluation};
pub use globals::Language;

use starlark::environment::Module;
use starlark::eval::Evaluator;
use starlark::values::ValueLike;

use crate::worker::protocol::{Claim, WorkerLimit};
use check::Checked;
use context::Phase;

/// Frames of a program's own calls, recursion included.
const MAX_CALL_STACK: usize = 1_000;

/// Runs one program: its top level, then `main`, then its result as JSON text.
pub fn run(language: &Language, context: &Context, source: &str) -> Result<String, Claim> {
    let Checked { ast, source, main: defined } = check::parse(source, &|name| language.is_root(name))?;
    context.read(source);
    Module::with_temp_heap(|module| {
        let mut evaluator = Evaluator::new(&module);
        evaluator.extra = Some(context);
        let budgets = context.budgets();
        let prepared = evaluator
            .set_max_callstack_size(MAX_CALL_STACK)
            .and_then(|()| evaluator.set_max_tick_count(budgets.max_execution_steps));
        if prepared.is_err() {
            return Err(Claim::Limit(WorkerLimit::ExecutionSteps));
        }

        context.enter(Phase::TopLevel);
        let loaded = evaluator.eval_module(ast, language.globals());
        loaded.map_err(|error| context.claim(&evaluator, error))?;
        let main = module.get("main").ok_or_else(fault::no_main)?;

        context.enter(Phase::Main);
        let returned = evaluator.eval_function(main, &[], &[]);
        let returned = returned.map_err(|error| context.claim(&evaluator, error))?;
        value::result(returned.to_value(), budgets, defined)
    })
}
