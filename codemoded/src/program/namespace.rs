#![expect(unsafe_code, clippy::panic, reason = "what the interpreter's derives write")]
//! Capabilities as a program sees them: `records.lookup(key = "a")`.
//!
//! A namespace holds only its prefix. Attributes are found in the catalog's map when they are asked for, so the
//! size of the catalog costs a run nothing.

use std::fmt;
use std::hash::Hash as _;

use allocative::Allocative;
use starlark::any::ProvidesStaticType;
use starlark::collections::StarlarkHasher;
use starlark::eval::{Arguments, Evaluator};
use starlark::values::{Heap, NoSerialize, StarlarkPagablePanic, StarlarkValue, Value, ValueLike as _, starlark_value};
use starlark::{environment::GlobalsBuilder, starlark_simple_value};

use super::context::Context;
use super::fault::invalid_arguments;
use super::sight::Sight;
use super::value;
use crate::position::Position;
use crate::value::Map;
use crate::worker::channel::Channel;
use crate::worker::manifest::Entry;
use crate::worker::protocol::{Answer, Claim};

/// A dotted prefix of capability names.
#[derive(Debug, ProvidesStaticType, NoSerialize, StarlarkPagablePanic, Allocative)]
struct Namespace {
    #[allocative(skip)]
    sight: &'static Sight,
    prefix: String,
}

/// One callable capability.
#[derive(Debug, ProvidesStaticType, NoSerialize, StarlarkPagablePanic, Allocative)]
pub(super) struct Callable {
    #[allocative(skip)]
    pub(super) entry: Entry<'static>,
}

starlark_simple_value!(Namespace);
starlark_simple_value!(Callable);

/// Adds the roots that are there to the free names.
pub(super) fn add_roots(globals: &mut GlobalsBuilder, sight: &'static Sight) {
    for root in sight.segments("") {
        globals.set(root, Namespace { sight, prefix: root.to_owned() });
    }
}

#[starlark_value(type = "namespace")]
impl<'v> StarlarkValue<'v> for Namespace {
    fn get_attr(&self, attribute: &str, heap: Heap<'v>) -> Option<Value<'v>> {
        let name = format!("{}.{attribute}", self.prefix);
        match self.sight.find(&name) {
            Some(entry) => Some(heap.alloc(Callable { entry })),
            None if self.sight.is_namespace(&name) => Some(heap.alloc(Self { sight: self.sight, prefix: name })),
            None => None,
        }
    }

    fn dir_attr(&self) -> Vec<String> {
        self.sight.segments(&self.prefix).into_iter().map(str::to_owned).collect()
    }
}

#[starlark_value(type = "function")]
impl<'v> StarlarkValue<'v> for Callable {
    fn equals(&self, other: Value<'v>) -> starlark::Result<bool> {
        Ok(other.downcast_ref::<Self>().is_some_and(|other| other.entry.number == self.entry.number))
    }

    fn write_hash(&self, hasher: &mut StarlarkHasher) -> starlark::Result<()> {
        self.entry.number.hash(hasher);
        Ok(())
    }

    fn invoke(
        &self,
        _me: Value<'v>,
        arguments: &Arguments<'v, '_>,
        evaluator: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<Value<'v>> {
        let context = Context::of(evaluator)?;
        let place = context.place(evaluator.call_stack_top_location().as_ref());
        let bound = arguments
            .no_positional_args(evaluator.heap())
            .map_err(|_| self.refuse(place, &"arguments are passed by keyword only"))
            .and_then(|()| arguments.names_map().map_err(|error| self.refuse(place, &error.without_diagnostic())))
            .and_then(|named| {
                let named: Vec<_> = named.iter().map(|(name, value)| (name.as_str(), *value)).collect();
                self.bind(context, place, &named)
            });
        let called = bound.and_then(|bound| {
            context.begin_call(place)?;
            Ok(context.send_call(self.entry.number, false, bound))
        });
        let call = called.map_err(|claim| context.end(claim))?;
        match context.receive_answer() {
            (answered, Answer::Value(json)) if answered == call => {
                value::answer(&json, evaluator.heap()).map_err(|claim| context.end(claim))
            }
            (_, Answer::Value(_) | Answer::Failed(_)) => Channel::hang_up(),
        }
    }
}

impl Callable {
    /// The bound arguments as JSON text.
    pub(super) fn bind<'v>(
        &self,
        context: &Context,
        place: Position,
        named: &[(&str, Value<'v>)],
    ) -> Result<String, Claim> {
        let refuse = |message: &dyn fmt::Display| self.refuse(place, message);
        let mut given = Map::new();
        for &(name, argument) in named {
            let converted = value::argument(argument, context.budgets(), name);
            given.insert(name.to_owned(), converted.map_err(|unsupported| unsupported.claim(&refuse))?);
        }
        let bound = context.input(&self.entry).bind(given).map_err(|diagnostic| refuse(&diagnostic))?;
        value::arguments(bound, context.budgets()).map_err(|unsupported| unsupported.claim(&refuse))
    }

    fn refuse(&self, place: Position, message: &dyn fmt::Display) -> Claim {
        invalid_arguments(place, &format!("{}: {message}", self.entry.name))
    }
}

impl fmt::Display for Namespace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "<namespace {}>", self.prefix)
    }
}

impl fmt::Display for Callable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "<capability {}>", self.entry.name)
    }
}
