//! The policy's input, built member by member: no text is parsed, so no text can be taken for something else.

use std::sync::LazyLock;

use num_traits::ToPrimitive;
use regorus::Value as Rego;
use regorus::value::Object;

use super::{Asked, Question};
use crate::identity::Subject;
use crate::value::{Int, Map, Value};

/// The fixed member names, made once: each decision's input shares them.
static KEYS: LazyLock<Keys> = LazyLock::new(|| Keys {
    subject: "subject".into(),
    capability: "capability".into(),
    arguments: "arguments".into(),
    id: "id".into(),
    claims: "claims".into(),
    name: "name".into(),
    hints: "hints".into(),
    read_only: "read_only".into(),
    destructive: "destructive".into(),
    idempotent: "idempotent".into(),
    open_world: "open_world".into(),
});

struct Keys {
    subject: Rego,
    capability: Rego,
    arguments: Rego,
    id: Rego,
    claims: Rego,
    name: Rego,
    hints: Rego,
    read_only: Rego,
    destructive: Rego,
    idempotent: Rego,
    open_world: Rego,
}

/// The input of a decision on a call.
pub(super) fn of_call(question: &Question) -> Rego {
    object([
        (KEYS.subject.clone(), subject(&question.subject)),
        (KEYS.capability.clone(), capability(&question.capability)),
        (KEYS.arguments.clone(), map(&question.arguments)),
    ])
}

/// The input of a decision on visibility: the same without arguments. The subject is given converted, for one
/// request asks about many capabilities.
pub(super) fn of_discovery(subject: Rego, asked: &Asked) -> Rego {
    object([(KEYS.subject.clone(), subject), (KEYS.capability.clone(), capability(asked))])
}

pub(super) fn subject(subject: &Subject) -> Rego {
    object([(KEYS.id.clone(), subject.id.as_str().into()), (KEYS.claims.clone(), map(&subject.claims))])
}

/// Any map of ours.
pub(super) fn map(members: &Map) -> Rego {
    object(members.iter().map(|(key, member)| (key.as_str().into(), value(member))))
}

fn capability(asked: &Asked) -> Rego {
    let hints = [
        (&KEYS.read_only, asked.hints.read_only),
        (&KEYS.destructive, asked.hints.destructive),
        (&KEYS.idempotent, asked.hints.idempotent),
        (&KEYS.open_world, asked.hints.open_world),
    ];
    let hints = hints.into_iter().filter_map(|(key, hint)| Some((key.clone(), hint?.into())));
    object([
        (KEYS.id.clone(), asked.id.as_str().into()),
        (KEYS.name.clone(), asked.name.as_str().into()),
        (KEYS.hints.clone(), object(hints)),
    ])
}

fn value(value: &Value) -> Rego {
    match value {
        Value::Null => Rego::Null,
        Value::Bool(value) => Rego::Bool(*value),
        Value::Int(value) => int(value),
        Value::Float(value) => value.get().into(),
        Value::Str(text) => text.as_str().into(),
        Value::List(items) => items.iter().map(self::value).collect::<Vec<Rego>>().into(),
        Value::Map(members) => map(members),
    }
}

/// Exact: through 64 or 128 bits where they hold it, else through its decimal digits, which are bounded.
fn int(value: &Int) -> Rego {
    if let Some(small) = value.to_i64() {
        return small.into();
    }
    match value.to_big().to_i128() {
        Some(wide) => wide.into(),
        // Digits alone always parse; were they not to, the policy must not see another number in their place.
        None => Rego::from_numeric_string(&value.to_string()).unwrap_or(Rego::Undefined),
    }
}

fn object(members: impl IntoIterator<Item = (Rego, Rego)>) -> Rego {
    members.into_iter().collect::<Object>().into()
}
