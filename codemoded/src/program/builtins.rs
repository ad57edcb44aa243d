//! The free functions that the interpreter's own library lacks, or gets wrong.

use num_bigint::BigInt;
use num_traits::{Signed, ToPrimitive};
use starlark::ErrorKind;
use starlark::collections::SmallMap;
use starlark::environment::GlobalsBuilder;
use starlark::eval::Evaluator;
use starlark::starlark_module;
use starlark::values::none::NoneType;
use starlark::values::string::StarlarkStr;
use starlark::values::tuple::UnpackTuple;
use starlark::values::typing::{StarlarkIter, StarlarkNever};
use starlark::values::{Heap, UnpackValue, Value, ValueOfUnchecked};

use super::context::Context;
use super::division::{nearest, quotient};
use super::format::interpolate;
use super::methods::mended;
use super::spec::{Spec, SpecFailure};
use super::text::{repr_of, str_of};

/// What `<<` is rewritten to, for the interpreter's own wraps at 32 bits.
pub(super) const SHIFT_LEFT: &str = "__shift_left__";
/// What `%` is rewritten to, for the interpreter's own prints floats inexactly.
pub(super) const PERCENT: &str = "__percent__";
/// What `/` is rewritten to, for the interpreter's own makes floats of integers first.
pub(super) const DIVIDE: &str = "__divide__";
/// Wraps what an f-string prints, for the same reason.
pub(super) const SHOWN: &str = "__shown__";
/// The same for what an f-string prints with `!r`.
pub(super) const SHOWN_AS_WRITTEN: &str = "__shown_as_written__";
/// Wraps what an f-string prints in a format of its own; the second argument is the format's number in the source.
pub(super) const FORMATTED: &str = "__formatted__";
/// What the methods are rewritten to that the interpreter gets wrong.
pub(super) const ATTRIBUTE: &str = "__attribute__";

/// The widest shift; the interpreter's own bound.
const MAX_SHIFT: u32 = 100_000;

/// A shift that has no value.
#[derive(Debug, thiserror::Error)]
enum ShiftFailure {
    #[error("<< needs two integers")]
    Type,
    #[error("<< by a negative count")]
    Negative,
    #[error("<< by more than {MAX_SHIFT}")]
    TooWide,
}

/// What a program said with `fail`.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct Failed(String);

#[starlark_module]
pub(super) fn functions(builder: &mut GlobalsBuilder) {
    fn sum<'v>(
        #[starlark(require = pos)] iterable: ValueOfUnchecked<'v, StarlarkIter<Value<'v>>>,
        start: Option<Value<'v>>,
        heap: Heap<'v>,
    ) -> starlark::Result<Value<'v>> {
        let mut total = start.unwrap_or_else(|| heap.alloc(0));
        for item in iterable.get().iterate(heap)? {
            total = total.add(item, heap)?;
        }
        Ok(total)
    }

    #[starlark(as_type = StarlarkStr)]
    fn str<'v>(#[starlark(require = pos)] x: Value<'v>, heap: Heap<'v>) -> starlark::Result<String> {
        Ok(str_of(x, heap))
    }

    fn repr<'v>(#[starlark(require = pos)] x: Value<'v>, heap: Heap<'v>) -> starlark::Result<String> {
        Ok(repr_of(x, heap))
    }

    fn fail<'v>(#[starlark(args)] args: UnpackTuple<Value<'v>>, heap: Heap<'v>) -> starlark::Result<StarlarkNever> {
        let words: Vec<_> = args.items.into_iter().map(|word| str_of(word, heap)).collect();
        Err(starlark::Error::new_kind(ErrorKind::Fail(Failed(format!(" {}", words.join(" "))).into())))
    }

    /// Accepted and discarded, with whatever Python's takes.
    fn print<'v>(
        #[starlark(args)] args: UnpackTuple<Value<'v>>,
        #[starlark(kwargs)] options: SmallMap<String, Value<'v>>,
    ) -> starlark::Result<NoneType> {
        let _ = (args, options);
        Ok(NoneType)
    }

    fn __shift_left__<'v>(
        #[starlark(require = pos)] left: Value<'v>,
        #[starlark(require = pos)] right: Value<'v>,
        heap: Heap<'v>,
    ) -> starlark::Result<Value<'v>> {
        let fail = |failure| Err(starlark::Error::new_value(failure));
        let (Some(value), Some(count)) = (integer(left), integer(right)) else { return fail(ShiftFailure::Type) };
        if count.is_negative() {
            return fail(ShiftFailure::Negative);
        }
        match count.to_u32() {
            Some(count) if count <= MAX_SHIFT => Ok(heap.alloc(value << count)),
            Some(_) | None => fail(ShiftFailure::TooWide),
        }
    }

    fn __divide__<'v>(
        #[starlark(require = pos)] left: Value<'v>,
        #[starlark(require = pos)] right: Value<'v>,
        heap: Heap<'v>,
    ) -> starlark::Result<Value<'v>> {
        if left.unpack_i32().is_some() && right.unpack_i32().is_some() {
            return left.div(right, heap);
        }
        let quotient = match (integer(left), integer(right)) {
            (Some(left), Some(right)) => quotient(&left, &right),
            // A float takes part as it is, and an integer as the nearest float.
            (Some(integer), None) | (None, Some(integer)) => nearest(&integer).map(|_| None),
            (None, None) => Ok(None),
        };
        match quotient.map_err(starlark::Error::new_value)? {
            Some(quotient) => Ok(heap.alloc(quotient)),
            None => left.div(right, heap),
        }
    }

    fn __percent__<'v>(
        #[starlark(require = pos)] left: Value<'v>,
        #[starlark(require = pos)] right: Value<'v>,
        heap: Heap<'v>,
    ) -> starlark::Result<Value<'v>> {
        match left.unpack_str() {
            Some(format) => Ok(heap.alloc(interpolate(format, right, heap).map_err(starlark::Error::new_value)?)),
            None => left.percent(right, heap),
        }
    }

    fn __shown__<'v>(#[starlark(require = pos)] x: Value<'v>, heap: Heap<'v>) -> starlark::Result<String> {
        Ok(str_of(x, heap))
    }

    fn __shown_as_written__<'v>(#[starlark(require = pos)] x: Value<'v>, heap: Heap<'v>) -> starlark::Result<String> {
        Ok(repr_of(x, heap))
    }

    fn __formatted__<'v>(
        #[starlark(require = pos)] x: Value<'v>,
        #[starlark(require = pos)] number: u32,
        evaluator: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<String> {
        let written = Context::of(evaluator)?.spec(number as usize);
        let written = written.ok_or_else(|| SpecFailure::Unreadable(number.to_string()));
        let formatted = written.and_then(|written| Spec::read(written)?.apply(x, written, evaluator.heap()));
        formatted.map_err(starlark::Error::new_value)
    }

    fn __attribute__<'v>(
        #[starlark(require = pos)] of: Value<'v>,
        #[starlark(require = pos)] name: &str,
        heap: Heap<'v>,
    ) -> starlark::Result<Value<'v>> {
        mended(of, name, heap).map_or_else(|| of.get_attr_error(name, heap), Ok)
    }

    fn hasattr<'v>(
        #[starlark(require = pos)] x: Value<'v>,
        #[starlark(require = pos)] name: &str,
        heap: Heap<'v>,
    ) -> starlark::Result<bool> {
        Ok(mended(x, name, heap).is_some() || x.has_attr(name, heap))
    }

    /// `None` for the function keeps what is true, as in Python.
    fn filter<'v>(
        #[starlark(require = pos)] function: Value<'v>,
        #[starlark(require = pos)] items: ValueOfUnchecked<'v, StarlarkIter<Value<'v>>>,
        evaluator: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<Vec<Value<'v>>> {
        let mut kept = Vec::new();
        for item in items.get().iterate(evaluator.heap())? {
            let is_kept = match function.is_none() {
                true => item.to_bool(),
                false => evaluator.eval_function(function, &[item], &[])?.to_bool(),
            };
            if is_kept {
                kept.push(item);
            }
        }
        Ok(kept)
    }

    fn getattr<'v>(
        #[starlark(require = pos)] x: Value<'v>,
        #[starlark(require = pos)] name: &str,
        #[starlark(require = pos)] default: Option<Value<'v>>,
        heap: Heap<'v>,
    ) -> starlark::Result<Value<'v>> {
        match (mended(x, name, heap), default) {
            (Some(found), _) => Ok(found),
            (None, Some(default)) => Ok(x.get_attr(name, heap)?.unwrap_or(default)),
            (None, None) => x.get_attr_error(name, heap),
        }
    }
}

fn integer(value: Value<'_>) -> Option<BigInt> {
    BigInt::unpack_value(value).ok().flatten()
}
