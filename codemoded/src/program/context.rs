#![expect(unsafe_code, reason = "the interpreter's derive implements its own marker trait")]
//! What one run carries through the interpreter: its channel to the daemon, its budgets, and why it failed.

use std::cell::{Cell, OnceCell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;

use starlark::any::ProvidesStaticType;
use starlark::codemap::FileSpan;
use starlark::eval::Evaluator;

use super::fault;
use super::hints::{explained, explained_at};
use super::rewrite::Source;
use crate::capability::schema::Input;
use crate::position::Position;
use crate::worker::channel::Channel;
use crate::worker::manifest::Entry;
use crate::worker::protocol::{Answer, Budgets, Claim, FromWorker, Numbers, ToWorker, WorkerLimit};

/// The evaluator of a program.
pub type Evaluation<'v, 'a, 'e> = Evaluator<'v, 'a, 'e>;

/// Which part of the program is running.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    /// Definitions: native calls are refused.
    TopLevel,
    Main,
}

/// One run's state. Single-threaded, like the interpreter.
#[derive(Debug, ProvidesStaticType)]
pub struct Context {
    channel: RefCell<Channel>,
    budgets: Budgets,
    phase: Cell<Phase>,
    /// Calls attempted so far, the ones that did not bind included.
    attempted: Cell<u64>,
    /// The number of the next call frame.
    next_call: Cell<u32>,
    /// Set by whatever ends the run on purpose; the interpreter's own error is then only the way out.
    failure: RefCell<Option<Claim>>,
    inputs: RefCell<HashMap<u32, Rc<Input>>>,
    source: OnceCell<Source>,
}

/// Carries a failure, kept in the [`Context`], out of the interpreter.
#[derive(Debug, thiserror::Error)]
#[error("the run ended")]
struct Ended;

impl Context {
    pub fn new(channel: Channel, budgets: Budgets) -> Self {
        Self {
            channel: RefCell::new(channel),
            budgets,
            phase: Cell::new(Phase::TopLevel),
            attempted: Cell::new(0),
            next_call: Cell::new(0),
            failure: RefCell::new(None),
            inputs: RefCell::default(),
            source: OnceCell::new(),
        }
    }

    /// The context of the program that this evaluator runs.
    pub(super) fn of<'a>(evaluator: &Evaluator<'_, 'a, '_>) -> starlark::Result<&'a Self> {
        let context = evaluator.extra.and_then(|extra| extra.downcast_ref());
        context.ok_or_else(|| starlark::Error::new_other(Ended))
    }

    pub(super) fn budgets(&self) -> &Budgets {
        &self.budgets
    }

    pub(super) fn enter(&self, phase: Phase) {
        self.phase.set(phase);
    }

    /// Remembers the source, to say where in it something went wrong.
    pub(super) fn read(&self, source: Source) {
        // A context serves one program, so there is nothing to replace.
        let _ = self.source.set(source);
    }

    /// The format specification that an f-string of the program knows by this number.
    pub(super) fn spec(&self, number: usize) -> Option<&str> {
        self.source.get()?.spec(number)
    }

    pub(super) fn place(&self, span: Option<&FileSpan>) -> Position {
        span.zip(self.source.get()).map_or(Position::START, |(span, source)| source.place(span.span))
    }

    /// Ends the run with this failure.
    pub(super) fn end(&self, failure: Claim) -> starlark::Error {
        self.failure.borrow_mut().get_or_insert(failure);
        starlark::Error::new_other(Ended)
    }

    /// Counts one attempted call, or says why none may be made now.
    pub(super) fn begin_call(&self, place: Position) -> Result<(), Claim> {
        if self.phase.get() == Phase::TopLevel {
            return Err(fault::invalid_program(place, "capabilities can be called only while main() runs"));
        }
        let attempted = self.attempted.get() + 1;
        if attempted > self.budgets.max_native_calls {
            return Err(Claim::Limit(WorkerLimit::NativeCalls));
        }
        self.attempted.set(attempted);
        Ok(())
    }

    /// The compiled input of a capability; the schema is the daemon's own and has compiled there.
    pub(super) fn input(&self, entry: &Entry<'_>) -> Rc<Input> {
        if let Some(input) = self.inputs.borrow().get(&entry.number) {
            return Rc::clone(input);
        }
        let input = Rc::new(Input::from_checked(entry.schema));
        self.inputs.borrow_mut().insert(entry.number, Rc::clone(&input));
        input
    }

    /// Sends one call and returns its number.
    pub(super) fn send_call(&self, capability: u32, caught: bool, arguments: String) -> u32 {
        let arguments = arguments.into_bytes();
        let call = self.next_call.get();
        self.next_call.set(call.wrapping_add(1));
        self.channel.borrow_mut().send(&FromWorker::Call { call, capability, caught, arguments });
        call
    }

    /// Waits for the next answer.
    pub(super) fn receive_answer(&self) -> (u32, Answer) {
        match self.channel.borrow_mut().receive() {
            ToWorker::Answer { call, answer } => (call, answer),
            ToWorker::Prepare(_) | ToWorker::Program(_) | ToWorker::Shown(_) => Channel::hang_up(),
        }
    }

    /// Asks which of the capabilities are there for this run's subject.
    pub(super) fn ask(&self, numbers: Vec<Numbers>) -> Vec<bool> {
        let mut channel = self.channel.borrow_mut();
        channel.send(&FromWorker::Ask(numbers));
        match channel.receive() {
            ToWorker::Shown(shown) => shown,
            ToWorker::Prepare(_) | ToWorker::Program(_) | ToWorker::Answer { .. } => Channel::hang_up(),
        }
    }

    /// Sends the outcome, the last frame of the run.
    pub fn finish(&self, outcome: Result<String, Claim>) {
        self.channel.borrow_mut().send(&match outcome {
            Ok(json) => FromWorker::Returned(json.into_bytes()),
            Err(claim) => FromWorker::Failed(claim),
        });
    }

    /// Waits for the daemon to end this process; ends it where the daemon hangs up or says more. Tearing down a program's
    /// heap is wasted work, and a deeply nested value would overflow the stack doing it.
    pub fn wait_for_end(&self) -> ! {
        self.channel.borrow_mut().receive();
        Channel::hang_up()
    }

    /// Why the evaluation failed.
    pub(super) fn claim(&self, evaluator: &Evaluator<'_, '_, '_>, error: starlark::Error) -> Claim {
        if let Some(failure) = self.failure.borrow_mut().take() {
            return failure;
        }
        if evaluator.get_total_tick_count() > self.budgets.max_execution_steps {
            return Claim::Limit(WorkerLimit::ExecutionSteps);
        }
        let span = error.span().cloned().or_else(|| evaluator.call_stack_top_location());
        let message = error.without_diagnostic().to_string();
        match span.as_ref().zip(self.source.get()) {
            Some((span, source)) => {
                let (before, at) = source.around(span.span);
                fault::invalid_program(source.place(span.span), &explained_at(&message, before, at))
            }
            None => fault::invalid_program(Position::START, &explained(&message)),
        }
    }
}
