#![expect(unsafe_code, clippy::panic, reason = "what the interpreter's derives write")]
//! Errors as values, and calls in parallel: `attempt`, `call` and `parallel`.
//!
//! Every call made here is bound, authorized, counted and dispatched as if made alone; only what becomes of a failure
//! differs. Limits and cancellation still end the run.

use std::collections::HashMap;
use std::fmt;

use allocative::Allocative;
use starlark::any::ProvidesStaticType;
use starlark::collections::SmallMap;
use starlark::environment::GlobalsBuilder;
use starlark::eval::Evaluator;
use starlark::values::list::AllocList;
use starlark::values::structs::AllocStruct;
use starlark::values::tuple::UnpackTuple;
use starlark::values::{Heap, NoSerialize, StarlarkPagablePanic, StarlarkValue, Value, ValueLike, starlark_value};
use starlark::{starlark_module, starlark_simple_value};

use super::context::Context;
use super::namespace::Callable;
use super::value;
use crate::position::Position;
use crate::worker::channel::Channel;
use crate::worker::manifest::Entry;
use crate::worker::protocol::{Answer, CallFailure, Claim, FailureCode};

/// A call that has not been made: what `call` gives and `parallel` takes.
#[derive(Debug, ProvidesStaticType, NoSerialize, StarlarkPagablePanic, Allocative)]
struct Prepared {
    #[allocative(skip)]
    entry: Entry<'static>,
    /// JSON text of the bound arguments, or why they do not bind.
    #[allocative(skip)]
    bound: Result<String, CallFailure>,
}

starlark_simple_value!(Prepared);

#[starlark_value(type = "call")]
impl<'v> StarlarkValue<'v> for Prepared {}

/// `attempt`, `call` or `parallel` was given something else than it takes.
#[derive(Debug, thiserror::Error)]
enum Misuse {
    #[error(
        "{function} takes a capability and its arguments by keyword, as in `{function}(records.lookup, key = \"a\")`"
    )]
    NoCapability { function: &'static str },
    #[error("parallel takes a list of calls, as in `parallel([call(records.lookup, key = k) for k in keys])`")]
    NoCall,
}

#[starlark_module]
pub(super) fn functions(builder: &mut GlobalsBuilder) {
    fn attempt<'v>(
        #[starlark(args)] capability: UnpackTuple<Value<'v>>,
        #[starlark(kwargs)] arguments: SmallMap<String, Value<'v>>,
        evaluator: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<Value<'v>> {
        let context = Context::of(evaluator)?;
        let place = context.place(evaluator.call_stack_top_location().as_ref());
        let prepared = prepare("attempt", context, place, &capability.items, &arguments)?;
        let mut slots = make(context, place, &[&prepared], evaluator.heap())?;
        slots.pop().ok_or_else(|| starlark::Error::new_value(Misuse::NoCall))
    }

    fn call<'v>(
        #[starlark(args)] capability: UnpackTuple<Value<'v>>,
        #[starlark(kwargs)] arguments: SmallMap<String, Value<'v>>,
        evaluator: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<Value<'v>> {
        let context = Context::of(evaluator)?;
        let place = context.place(evaluator.call_stack_top_location().as_ref());
        let prepared = prepare("call", context, place, &capability.items, &arguments)?;
        Ok(evaluator.heap().alloc(prepared))
    }

    fn parallel<'v>(
        #[starlark(args)] calls: UnpackTuple<Value<'v>>,
        evaluator: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<Value<'v>> {
        let context = Context::of(evaluator)?;
        let place = context.place(evaluator.call_stack_top_location().as_ref());
        let [calls] = calls.items.as_slice() else { return Err(starlark::Error::new_value(Misuse::NoCall)) };
        let items: Vec<_> =
            calls.iterate(evaluator.heap()).map_err(|_| starlark::Error::new_value(Misuse::NoCall))?.collect();
        let prepared: Option<Vec<_>> = items.iter().map(|item| item.downcast_ref::<Prepared>()).collect();
        let prepared = prepared.ok_or_else(|| starlark::Error::new_value(Misuse::NoCall))?;
        let slots = make(context, place, &prepared, evaluator.heap())?;
        Ok(evaluator.heap().alloc(AllocList(slots)))
    }
}

fn prepare<'v>(
    function: &'static str,
    context: &Context,
    place: Position,
    capability: &[Value<'v>],
    arguments: &SmallMap<String, Value<'v>>,
) -> starlark::Result<Prepared> {
    let callable = match capability {
        [single] => single.downcast_ref::<Callable>(),
        _ => None,
    };
    let callable = callable.ok_or_else(|| starlark::Error::new_value(Misuse::NoCapability { function }))?;
    let named: Vec<_> = arguments.iter().map(|(name, value)| (name.as_str(), *value)).collect();
    let bound = match callable.bind(context, place, &named) {
        Ok(json) => Ok(json),
        Err(Claim::InvalidArguments(message)) => {
            Err(CallFailure { code: FailureCode::InvalidArguments, retryable: false, message })
        }
        Err(claim @ (Claim::InvalidProgram(_) | Claim::Limit(_))) => return Err(context.end(claim)),
    };
    Ok(Prepared { entry: callable.entry, bound })
}

/// Makes the calls, a bounded number at once, and gives one slot for each, in order.
fn make<'v>(
    context: &Context,
    place: Position,
    calls: &[&Prepared],
    heap: Heap<'v>,
) -> starlark::Result<Vec<Value<'v>>> {
    let most = (context.budgets().max_parallel_calls as usize).max(1);
    let mut slots: Vec<Option<Value<'v>>> = vec![None; calls.len()];
    let mut in_flight = HashMap::new();
    let mut waiting = calls.iter().enumerate();
    loop {
        while in_flight.len() < most {
            let Some((index, call)) = waiting.next() else { break };
            context.begin_call(place).map_err(|claim| context.end(claim))?;
            match &call.bound {
                Ok(json) => {
                    in_flight.insert(context.send_call(call.entry.number, true, json.clone()), index);
                }
                Err(failure) => fill(&mut slots, index, failed(failure, heap)),
            }
        }
        if in_flight.is_empty() {
            return Ok(slots.into_iter().flatten().collect());
        }
        let (number, answer) = context.receive_answer();
        let Some(index) = in_flight.remove(&number) else { Channel::hang_up() };
        fill(
            &mut slots,
            index,
            match answer {
                Answer::Value(json) => succeeded(value::answer(&json, heap).map_err(|claim| context.end(claim))?, heap),
                Answer::Failed(failure) => failed(&failure, heap),
            },
        );
    }
}

fn fill<'v>(slots: &mut [Option<Value<'v>>], index: usize, value: Value<'v>) {
    if let Some(slot) = slots.get_mut(index) {
        *slot = Some(value);
    }
}

fn succeeded<'v>(value: Value<'v>, heap: Heap<'v>) -> Value<'v> {
    heap.alloc(AllocStruct([("ok", Value::new_bool(true)), ("value", value), ("error", Value::new_none())]))
}

fn failed<'v>(failure: &CallFailure, heap: Heap<'v>) -> Value<'v> {
    let code = match failure.code {
        FailureCode::InvalidArguments => "invalid_arguments",
        FailureCode::PermissionDenied => "permission_denied",
        FailureCode::CapabilityFailed => "capability_failed",
    };
    let error = heap.alloc(AllocStruct([
        ("code", heap.alloc(code)),
        ("message", heap.alloc(failure.message.as_str())),
        ("retryable", Value::new_bool(failure.retryable)),
    ]));
    heap.alloc(AllocStruct([("ok", Value::new_bool(false)), ("value", Value::new_none()), ("error", error)]))
}

impl fmt::Display for Prepared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "<call of {}>", self.entry.name)
    }
}
