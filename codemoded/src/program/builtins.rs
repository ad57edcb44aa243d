//! The free functions that the interpreter's own library lacks, or gets wrong.

use num_bigint::BigInt;
use num_traits::{Signed, ToPrimitive};
use starlark::ErrorKind;
use starlark::collections::SmallMap;
use starlark::environment::GlobalsBuilder;
use starlark::starlark_module;
use starlark::values::dict::{AllocDict, DictRef};
use starlark::values::list::AllocList;
use starlark::values::none::NoneType;
use starlark::values::string::StarlarkStr;
use starlark::values::tuple::{AllocTuple, UnpackTuple};
use starlark::values::typing::{StarlarkIter, StarlarkNever};
use starlark::values::{Heap, UnpackValue, Value, ValueOfUnchecked};

use super::shown::Shown;
use super::text::{interpolate, is_ours, repr_of, str_of};

/// What `<<` is rewritten to, for the interpreter's own wraps at 32 bits.
pub(super) const SHIFT_LEFT: &str = "__shift_left__";
/// What `%` is rewritten to, for the interpreter's own prints floats inexactly.
pub(super) const PERCENT: &str = "__percent__";
/// Wraps what an f-string or `format` prints, for the same reason.
pub(super) const SHOWN: &str = "__shown__";
/// Wraps `*args` and `**kwargs` of `format`.
pub(super) const SHOWN_EACH: &str = "__shown_each__";

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
    fn str<'v>(#[starlark(require = pos)] x: Value<'v>) -> starlark::Result<String> {
        Ok(str_of(x))
    }

    fn repr<'v>(#[starlark(require = pos)] x: Value<'v>) -> starlark::Result<String> {
        Ok(repr_of(x))
    }

    fn fail<'v>(#[starlark(args)] args: UnpackTuple<Value<'v>>) -> starlark::Result<StarlarkNever> {
        let words: Vec<_> = args.items.into_iter().map(str_of).collect();
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

    fn __percent__<'v>(
        #[starlark(require = pos)] left: Value<'v>,
        #[starlark(require = pos)] right: Value<'v>,
        heap: Heap<'v>,
    ) -> starlark::Result<Value<'v>> {
        match left.unpack_str() {
            Some(format) => Ok(heap.alloc(interpolate(format, right).map_err(starlark::Error::new_value)?)),
            None => left.percent(right, heap),
        }
    }

    fn __shown__<'v>(#[starlark(args)] args: UnpackTuple<Value<'v>>, heap: Heap<'v>) -> starlark::Result<Value<'v>> {
        // `f"{1, 2}"` prints a tuple.
        Ok(match args.items.as_slice() {
            [single] => shown(*single, heap),
            several => shown(heap.alloc(AllocTuple(several.iter().copied())), heap),
        })
    }

    fn __shown_each__<'v>(#[starlark(require = pos)] given: Value<'v>, heap: Heap<'v>) -> starlark::Result<Value<'v>> {
        if let Some(named) = DictRef::from_value(given) {
            return Ok(heap.alloc(AllocDict(named.iter().map(|(name, value)| (name, shown(value, heap))))));
        }
        let items: Vec<_> = given.iterate(heap)?.map(|item| shown(item, heap)).collect();
        Ok(heap.alloc(AllocList(items)))
    }
}

fn shown<'v>(value: Value<'v>, heap: Heap<'v>) -> Value<'v> {
    match is_ours(value) {
        true => heap.alloc(Shown::new(repr_of(value))),
        false => value,
    }
}

fn integer(value: Value<'_>) -> Option<BigInt> {
    BigInt::unpack_value(value).ok().flatten()
}
