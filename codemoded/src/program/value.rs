//! Values between the interpreter and the boundary.

use std::fmt;

use num_bigint::BigInt;
use starlark::values::dict::{AllocDict, DictRef};
use starlark::values::float::StarlarkFloat;
use starlark::values::list::{AllocList, ListRef};
use starlark::values::structs::StructRef;
use starlark::values::tuple::TupleRef;
use starlark::values::{Heap, UnpackValue, Value, ValueLike};

use super::fault::invalid_program;
use crate::position::Position;
use crate::value::{self, Bounds, Float, Int, Map};
use crate::worker::protocol::{Budgets, Claim, WorkerLimit};

/// Levels that `json.encode` follows; a value that contains itself ends here.
pub(super) const MAX_LEVELS: usize = 10_000;

/// Steps of a path that a message tells.
const MAX_TOLD_STEPS: usize = 32;

/// A value that cannot cross, and where in it the trouble lies.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Unsupported {
    /// From the outermost container inwards.
    path: Vec<Step>,
    fault: Fault,
}

#[derive(Debug, PartialEq, Eq)]
enum Step {
    Index(usize),
    Key(String),
}

#[derive(Debug, PartialEq, Eq)]
enum Fault {
    /// A type that JSON has no form for.
    Type(&'static str),
    NotFinite,
    Keys,
    TooManyDigits,
    TooDeep,
    TooLong,
}

/// The result of `main` as JSON text, within the budgets.
pub(super) fn result(returned: Value<'_>, budgets: &Budgets, main: Position) -> Result<String, Claim> {
    let max_bytes = budgets.max_result_bytes.min(budgets.max_value_bytes);
    let converted = convert(returned, bounds(budgets, max_bytes)).map_err(|unsupported| match unsupported.fault {
        Fault::TooDeep => Claim::Limit(WorkerLimit::ValueDepth),
        Fault::TooLong if budgets.max_result_bytes <= budgets.max_value_bytes => Claim::Limit(WorkerLimit::ResultBytes),
        Fault::TooLong => Claim::Limit(WorkerLimit::ValueBytes),
        Fault::Type(_) | Fault::NotFinite | Fault::Keys | Fault::TooManyDigits => {
            invalid_program(main, &unsupported.in_result())
        }
    })?;
    Ok(converted.to_json())
}

/// One argument of a native call.
pub(super) fn argument(given: Value<'_>, budgets: &Budgets, name: &str) -> Result<value::Value, Unsupported> {
    convert(given, bounds(budgets, budgets.max_value_bytes)).map_err(|mut unsupported| {
        unsupported.path.insert(0, Step::Key(name.to_owned()));
        unsupported
    })
}

/// The bound arguments as JSON text, within the budgets.
pub(super) fn arguments(bound: Map, budgets: &Budgets) -> Result<String, Unsupported> {
    let bound = value::Value::Map(bound);
    let fail = |fault| Err(Unsupported { path: Vec::new(), fault });
    if !bound.depth_within(budgets.max_value_depth as usize) {
        return fail(Fault::TooDeep);
    }
    let json = bound.to_json();
    if json.len() as u64 > budgets.max_value_bytes { fail(Fault::TooLong) } else { Ok(json) }
}

/// The interpreter's value of an answer's JSON text.
pub(super) fn answer<'v>(json: &[u8], heap: Heap<'v>) -> Result<Value<'v>, Claim> {
    let bounds = Bounds { max_bytes: usize::MAX, max_depth: MAX_LEVELS };
    match value::read(json, bounds) {
        Ok(read) => Ok(alloc(&read, heap)),
        // The daemon has read this text before it sent it.
        Err(error) => Err(invalid_program(Position::START, &error.to_string())),
    }
}

/// A value of the interpreter's from one of the boundary's.
pub(super) fn alloc<'v>(given: &value::Value, heap: Heap<'v>) -> Value<'v> {
    match given {
        value::Value::Null => Value::new_none(),
        value::Value::Bool(flag) => Value::new_bool(*flag),
        value::Value::Int(int) => match int.to_i64() {
            Some(small) => heap.alloc(small),
            None => heap.alloc(int.to_big()),
        },
        value::Value::Float(float) => heap.alloc(float.get()),
        value::Value::Str(text) => heap.alloc(text.as_str()),
        value::Value::List(items) => heap.alloc(AllocList(items.iter().map(|item| alloc(item, heap)))),
        value::Value::Map(members) => {
            heap.alloc(AllocDict(members.iter().map(|(key, member)| (key.as_str(), alloc(member, heap)))))
        }
    }
}

/// A value of the boundary's from one of the interpreter's.
pub(super) fn convert(given: Value<'_>, bounds: Bounds) -> Result<value::Value, Unsupported> {
    let mut converter = Converter { bytes_left: bounds.max_bytes };
    converter.convert(given, bounds.max_depth)
}

fn bounds(budgets: &Budgets, max_bytes: u64) -> Bounds {
    Bounds { max_bytes: usize::try_from(max_bytes).unwrap_or(usize::MAX), max_depth: budgets.max_value_depth as usize }
}

struct Converter {
    bytes_left: usize,
}

impl Converter {
    fn convert(&mut self, given: Value<'_>, levels_left: usize) -> Result<value::Value, Unsupported> {
        let fail = |fault| Err(Unsupported { path: Vec::new(), fault });
        if levels_left == 0 {
            return fail(Fault::TooDeep);
        }
        if let Some(list) = ListRef::from_value(given) {
            return self.sequence(list.content(), levels_left);
        }
        if let Some(tuple) = TupleRef::from_value(given) {
            return self.sequence(tuple.content(), levels_left);
        }
        if let Some(dict) = DictRef::from_value(given) {
            return self.members(dict.iter(), levels_left);
        }
        if let Some(fields) = StructRef::from_value(given) {
            return self.members(fields.iter().map(|(name, field)| (name.to_value(), field)), levels_left);
        }
        let scalar = if given.is_none() {
            value::Value::Null
        } else if let Some(flag) = given.unpack_bool() {
            value::Value::Bool(flag)
        } else if let Some(small) = given.unpack_i32() {
            value::Value::Int(Int::from(i64::from(small)))
        } else if let Some(text) = given.unpack_str() {
            value::Value::Str(text.to_owned())
        } else if let Some(float) = given.downcast_ref::<StarlarkFloat>() {
            match Float::new(float.0) {
                Some(float) => value::Value::Float(float),
                None => return fail(Fault::NotFinite),
            }
        } else if let Ok(Some(big)) = BigInt::unpack_value(given) {
            match Int::try_from(big) {
                Ok(int) => value::Value::Int(int),
                Err(_) => return fail(Fault::TooManyDigits),
            }
        } else {
            return fail(Fault::Type(given.get_type()));
        };
        self.spend(scalar.json_size())?;
        Ok(scalar)
    }

    fn sequence(&mut self, items: &[Value<'_>], levels_left: usize) -> Result<value::Value, Unsupported> {
        self.spend(2 + items.len().saturating_sub(1))?;
        let converted = items.iter().enumerate().map(|(index, item)| {
            self.convert(*item, levels_left - 1).map_err(|unsupported| unsupported.under(Step::Index(index)))
        });
        Ok(value::Value::List(converted.collect::<Result<_, _>>()?))
    }

    fn members<'v>(
        &mut self,
        given: impl ExactSizeIterator<Item = (Value<'v>, Value<'v>)>,
        levels_left: usize,
    ) -> Result<value::Value, Unsupported> {
        self.spend(2 + given.len().saturating_sub(1))?;
        let mut members = Map::with_capacity(given.len());
        for (key, member) in given {
            let Some(key) = key.unpack_str() else {
                return Err(Unsupported { path: Vec::new(), fault: Fault::Keys });
            };
            self.spend(value::Value::from(key).json_size() + 1)?;
            let converted = self.convert(member, levels_left - 1);
            let converted = converted.map_err(|unsupported| unsupported.under(Step::Key(key.to_owned())))?;
            members.insert(key.to_owned(), converted);
        }
        Ok(value::Value::Map(members))
    }

    fn spend(&mut self, bytes: usize) -> Result<(), Unsupported> {
        match self.bytes_left.checked_sub(bytes) {
            Some(left) => {
                self.bytes_left = left;
                Ok(())
            }
            None => Err(Unsupported { path: Vec::new(), fault: Fault::TooLong }),
        }
    }
}

impl Unsupported {
    /// A value of a type that JSON has no form for.
    pub(super) fn of_type(kind: &'static str) -> Self {
        Self { path: Vec::new(), fault: Fault::Type(kind) }
    }

    /// A dict with a key that is no string.
    pub(super) fn of_keys() -> Self {
        Self { path: Vec::new(), fault: Fault::Keys }
    }

    /// The same of a list that has it at this place.
    pub(super) fn at_index(self, index: usize) -> Self {
        self.under(Step::Index(index))
    }

    /// The same of a dict, or of arguments, that have it under this name.
    pub(super) fn at_key(self, key: &str) -> Self {
        self.under(Step::Key(key.to_owned()))
    }

    /// Whether it is not the value itself that cannot cross, but something in it.
    pub(super) fn is_inside(&self) -> bool {
        !self.path.is_empty()
    }

    fn under(mut self, step: Step) -> Self {
        self.path.insert(0, step);
        self
    }

    /// The claim of a call whose argument this is.
    pub(super) fn claim(self, refuse: &impl Fn(&dyn fmt::Display) -> Claim) -> Claim {
        match self.fault {
            Fault::TooDeep => Claim::Limit(WorkerLimit::ValueDepth),
            Fault::TooLong => Claim::Limit(WorkerLimit::ValueBytes),
            Fault::Type(_) | Fault::NotFinite | Fault::Keys | Fault::TooManyDigits => {
                refuse(&format_args!("argument \"{}\" {}", self.argument_path(), self.fault))
            }
        }
    }

    /// The sentence for a value that `json.encode` cannot write.
    pub(super) fn in_json(&self) -> String {
        format!("json.encode: the value{} {}", self.inner_path(), self.fault)
    }

    fn in_result(&self) -> String {
        format!("main's result{} {}", self.inner_path(), self.fault)
    }

    /// Where in the value; a path that is as long as the trouble is deep helps nobody.
    fn inner_path(&self) -> String {
        match self.path.len() {
            ..=MAX_TOLD_STEPS => self.path.iter().map(Step::to_string).collect(),
            _ => String::new(),
        }
    }

    fn argument_path(&self) -> String {
        let mut steps = self.path.iter();
        let first = match steps.next() {
            Some(Step::Key(name)) => name.clone(),
            Some(Step::Index(index)) => index.to_string(),
            None => String::new(),
        };
        steps.fold(first, |path, step| path + &step.to_string())
    }
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Index(index) => write!(f, "[{index}]"),
            Self::Key(key) => write!(f, "['{key}']"),
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Type("range") => f.write_str("is a range; use list(…)"),
            Self::Type("set") => f.write_str("is a set; use sorted(…) or list(…)"),
            Self::Type("function") => f.write_str("is a function; call it"),
            Self::Type(other) => write!(f, "is of type {other}, which is no JSON value"),
            Self::NotFinite => f.write_str("is not finite"),
            Self::Keys => f.write_str("keys must be strings"),
            Self::TooManyDigits => f.write_str("has more than 1,000 digits"),
            Self::TooDeep => f.write_str("is nested too deeply"),
            Self::TooLong => f.write_str("is too large"),
        }
    }
}
