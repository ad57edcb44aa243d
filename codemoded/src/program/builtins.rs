//! The free functions that the interpreter's own library lacks, or gets wrong.

use num_bigint::BigInt;
use num_traits::{Signed, ToPrimitive};
use starlark::environment::GlobalsBuilder;
use starlark::starlark_module;
use starlark::values::typing::StarlarkIter;
use starlark::values::{Heap, Value, ValueOfUnchecked};

/// What `<<` is rewritten to, for the interpreter's own wraps at 32 bits.
pub(super) const SHIFT_LEFT: &str = "__shift_left__";

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

#[starlark_module]
pub(super) fn functions(builder: &mut GlobalsBuilder) {
    fn sum<'v>(
        #[starlark(require = pos)] iterable: ValueOfUnchecked<'v, StarlarkIter<Value<'v>>>,
        #[starlark(default = 0)] start: Value<'v>,
        heap: Heap<'v>,
    ) -> starlark::Result<Value<'v>> {
        let mut total = start;
        for item in iterable.get().iterate(heap)? {
            total = total.add(item, heap)?;
        }
        Ok(total)
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
}

fn integer(value: Value<'_>) -> Option<BigInt> {
    use starlark::values::UnpackValue;
    BigInt::unpack_value(value).ok().flatten()
}
