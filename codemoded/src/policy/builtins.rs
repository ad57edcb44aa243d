//! Which built-ins a policy may use, and how a failing one ends the decision.
//!
//! A built-in runs to its end whatever the deadline says, so the allow-list holds those whose time and size are
//! linear (up to a logarithm) in their input, numbers being bounded. Some are so only while one argument is fixed: a
//! regular expression, a text to search for, a format. For these that argument must be a literal of the policy.
//!
//! Left out, though they look harmless: `to_number`, `units.parse`, `json.unmarshal`, `json.filter` and their kin
//! read a number from text, and `1e100000000` is nine bytes and a hundred million digits; `numbers.range`,
//! `net.cidr_expand`, `bits.lsh` and `graph.reachable_paths` give more than they take; `product` multiplies digits;
//! `object.subset`, `object.union_n` and `strings.any_prefix_match` compare everything with everything; and the
//! engine's `strings.count` counts overlapping matches and panics on an empty text.

use std::cell::Cell;

use regorus::LimitError;
use regorus::Value;
use regorus::unstable::{BUILTINS, Expr, Ref, Span};

use super::source::Refusal;

/// The signature that the engine calls a built-in by.
pub(super) type Function = fn(&Span, &[Ref<Expr>], &[Value], bool) -> anyhow::Result<Value>;

/// One built-in of the engine.
#[derive(Debug)]
pub(super) struct Builtin {
    pub name: &'static str,
    cost: Cost,
    /// The built-in itself, made fatal on error.
    pub guarded: Function,
}

#[derive(Clone, Copy, Debug)]
enum Cost {
    Linear,
    /// Linear while these arguments, counted from 0, are literals.
    LinearWith(&'static [usize]),
    Worse,
    /// Depends on more than its input.
    Never,
}

use Cost::{Linear, LinearWith, Never, Worse};

macro_rules! builtins {
    ($($name:literal: $cost:expr,)*) => {
        &[$(Builtin {
            name: $name,
            cost: $cost,
            guarded: {
                fn guarded(span: &Span, params: &[Ref<Expr>], args: &[Value], _: bool) -> anyhow::Result<Value> {
                    call($name, span, params, args)
                }
                guarded
            },
        }),*]
    };
}

/// In the order of their names, for binary search.
const TABLE: &[Builtin] = builtins! {
    "__builtin_sets.intersection": Linear,
    "__builtin_sets.union": Linear,
    "abs": Linear,
    "array.concat": Linear,
    "array.reverse": Linear,
    "array.slice": Linear,
    "base64.decode": Linear,
    "base64.encode": Linear,
    "base64.is_valid": Linear,
    "base64url.decode": Linear,
    "base64url.encode": Linear,
    "base64url.encode_no_pad": Linear,
    "bits.and": Linear,
    "bits.lsh": Worse,
    "bits.negate": Linear,
    "bits.or": Linear,
    "bits.rsh": Linear,
    "bits.xor": Linear,
    "ceil": Linear,
    "concat": LinearWith(&[0]),
    "contains": Linear,
    "count": Linear,
    "endswith": Linear,
    "floor": Linear,
    "format_int": Linear,
    "glob.match": LinearWith(&[0, 1]),
    "glob.quote_meta": Linear,
    "graph.reachable": Linear,
    "graph.reachable_paths": Worse,
    "hex.decode": Linear,
    "hex.encode": Linear,
    "http.send": Never,
    "indexof": LinearWith(&[1]),
    "indexof_n": LinearWith(&[1]),
    "intersection": Linear,
    "is_array": Linear,
    "is_boolean": Linear,
    "is_null": Linear,
    "is_number": Linear,
    "is_object": Linear,
    "is_set": Linear,
    "is_string": Linear,
    "json.filter": Worse,
    "json.is_valid": Worse,
    "json.marshal": Linear,
    "json.marshal_with_options": Worse,
    "json.remove": Worse,
    "json.unmarshal": Worse,
    "lower": Linear,
    "max": Linear,
    "min": Linear,
    "net.cidr_contains": Linear,
    "net.cidr_expand": Worse,
    "net.cidr_is_valid": Linear,
    "net.lookup_ip_addr": Never,
    "numbers.range": Worse,
    "numbers.range_step": Worse,
    "object.filter": Linear,
    "object.get": Linear,
    "object.keys": Linear,
    "object.remove": Linear,
    "object.subset": Worse,
    "object.union": Linear,
    "object.union_n": Worse,
    "opa.runtime": Never,
    "product": Worse,
    "rand.intn": Never,
    "regex.find_n": LinearWith(&[0]),
    "regex.globs_match": Worse,
    "regex.is_valid": LinearWith(&[0]),
    "regex.match": LinearWith(&[0]),
    "regex.replace": LinearWith(&[1, 2]),
    "regex.split": LinearWith(&[0]),
    "regex.template_match": Worse,
    "replace": LinearWith(&[1, 2]),
    "round": Linear,
    "semver.compare": Linear,
    "semver.is_valid": Linear,
    "sort": Linear,
    "split": Linear,
    "sprintf": LinearWith(&[0]),
    "startswith": Linear,
    "strings.any_prefix_match": Worse,
    "strings.any_suffix_match": Worse,
    "strings.count": Worse,
    "strings.replace_n": LinearWith(&[0]),
    "strings.reverse": Linear,
    "substring": Linear,
    "sum": Linear,
    "time.add_date": Linear,
    "time.clock": Linear,
    "time.date": Linear,
    "time.diff": Linear,
    "time.format": Linear,
    "time.now_ns": Never,
    "time.parse_duration_ns": Linear,
    "time.parse_ns": Linear,
    "time.parse_rfc3339_ns": Linear,
    "time.weekday": Linear,
    "to_number": Worse,
    "trace": Linear,
    "trim": LinearWith(&[1]),
    "trim_left": LinearWith(&[1]),
    "trim_prefix": Linear,
    "trim_right": LinearWith(&[1]),
    "trim_space": Linear,
    "trim_suffix": Linear,
    "type_name": Linear,
    "union": Linear,
    "units.parse": Worse,
    "units.parse_bytes": Worse,
    "upper": Linear,
    "uuid.rfc4122": Never,
    "walk": Linear,
};

thread_local! {
    /// Why a built-in failed on this thread: what it raises to the engine carries no text.
    static FAULT: Cell<Option<String>> = const { Cell::new(None) };
}

/// The built-in of this name.
pub(super) fn find(name: &str) -> Option<&'static Builtin> {
    let at = TABLE.binary_search_by(|builtin| builtin.name.cmp(name)).ok()?;
    TABLE.get(at)
}

/// Whether a call may stand in a policy. `is_literal` tells of each argument whether it is a literal.
pub(super) fn admit(name: &str, danger: &[String], is_literal: impl Fn(usize) -> bool) -> Result<(), Refusal> {
    let cost = find(name).ok_or(Refusal::Unknown)?.cost;
    let refusal = match cost {
        Linear => return Ok(()),
        LinearWith(arguments) => match arguments.iter().find(|&&argument| !is_literal(argument)) {
            Some(argument) => Refusal::NotLiteral(argument + 1),
            None => return Ok(()),
        },
        Worse => Refusal::NotLinear,
        Never => return Err(Refusal::Never),
    };
    if danger.iter().any(|named| named == name) { Ok(()) } else { Err(refusal) }
}

/// Whether the configuration may name this built-in as dangerous.
pub(super) fn admit_danger(name: &str) -> Result<(), Refusal> {
    match find(name).ok_or(Refusal::Unknown)?.cost {
        Never => Err(Refusal::Never),
        Linear | LinearWith(_) | Worse => Ok(()),
    }
}

/// Ends the evaluation with this cause. The engine passes over ordinary errors, as if the failing rule had merely
/// not matched, and `not` turns that into a grant; a limit it never passes over.
pub(super) fn fatal(cause: String) -> anyhow::Error {
    FAULT.set(Some(cause));
    LimitError::RegexSizeLimitExceeded { limit: 0 }.into()
}

/// The cause of the last fatal error on this thread, once.
pub(super) fn take_fault() -> Option<String> {
    FAULT.take()
}

/// The part of the engine's error text that says what is wrong: the rest quotes a source that is not the policy's.
pub(super) fn gist(text: &str) -> &str {
    text.rsplit("error: ").next().unwrap_or(text).trim()
}

fn call(name: &str, span: &Span, params: &[Ref<Expr>], args: &[Value]) -> anyhow::Result<Value> {
    let Some((function, _)) = BUILTINS.get(name) else {
        return Err(fatal(format!("`{name}` is not available")));
    };
    function(span, params, args, true).map_err(|error| fatal(format!("{name}: {}", gist(&error.to_string()))))
}
