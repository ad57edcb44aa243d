//! Which alternative of a choice a value takes, and which one's fault to report where it takes none.

use std::borrow::Cow;

use super::Compiled;
use super::bind::{Binder, comparing};
use super::diagnostic::{Diagnostic, Problem, Step};
use super::node::{Choice, Node, NodeId, Types};
use super::number::equal;
use super::shape;
use crate::value::{Map, Value};

/// What leaving members out, and defaults, make of a value must fit as the value itself does: only what is its own
/// canonical form is bound.
pub(super) fn bind(binder: &Binder<'_>, choice: &Choice, value: &Value) -> Result<Value, Diagnostic> {
    let mut bound = take(binder, choice, value)?;
    let mut given = Cow::Borrowed(value);
    while bound != *given {
        given = Cow::Owned(bound);
        bound = take(binder, choice, &given)?;
    }
    Ok(bound)
}

/// The value as the alternative has it that it takes.
fn take(binder: &Binder<'_>, choice: &Choice, value: &Value) -> Result<Value, Diagnostic> {
    let mut bound = None;
    let mut faults = Vec::new();
    for variant in &choice.variants {
        let allowed = &binder.schema.node(*variant).values;
        binder.spend(allowed.as_ref().map_or(0, |allowed| comparing(allowed)))?;
        if !may_fit(binder, *variant, value) {
            continue;
        }
        match binder.bind(*variant, value) {
            Ok(_) if bound.is_some() => {
                let alternatives = alternatives(binder, choice);
                return Err(binder.fault(Problem::Ambiguous { alternatives }));
            }
            Ok(fitting) if choice.exactly_one => bound = Some(fitting),
            Ok(fitting) => return Ok(fitting),
            Err(fault) if *fault.problem() == Problem::TooComplex => return Err(fault),
            Err(fault) => {
                // Reporting from deep inside costs more than the checking did.
                binder.spend(fault.depth() as u64)?;
                faults.push(fault);
            }
        }
    }
    match (bound, faults.len()) {
        (Some(bound), _) => Ok(bound),
        // All but one were ruled out at a glance, so its fault is the one to mend.
        (None, 1) => Err(faults.remove(0)),
        (None, _) => Err(no_fit(binder, choice, value, faults)),
    }
}

/// A glance that rules most alternatives out: the type, the members that must be there, and those with fixed values.
fn may_fit(binder: &Binder<'_>, id: NodeId, value: &Value) -> bool {
    let node = binder.schema.node(id);
    if node.choice.is_some() {
        return true;
    }
    if !node.types.has(Types::of(value)) {
        return false;
    }
    if node.values.as_ref().is_some_and(|allowed| !allowed.iter().any(|allowed| equal(allowed, value))) {
        return false;
    }
    let Value::Map(members) = value else { return true };
    node.map.properties.iter().all(|(name, property)| match members.get(name) {
        None => !property.required,
        Some(Value::Null) if !property.required => true,
        Some(member) => {
            let allowed = &binder.schema.node(property.node).values;
            allowed.as_ref().is_none_or(|allowed| allowed.iter().any(|allowed| equal(allowed, member)))
        }
    })
}

fn no_fit(binder: &Binder<'_>, choice: &Choice, value: &Value, faults: Vec<Diagnostic>) -> Diagnostic {
    let leaves = leaves(binder.schema, choice);
    let of_kind: Vec<_> = leaves.iter().filter(|(_, node)| node.types.has(Types::of(value))).collect();
    if of_kind.is_empty() {
        let types = leaves.iter().fold(Types::NONE, |types, (_, node)| types.or(node.types));
        return binder.fault(Problem::Type { expected: types.in_words() });
    }
    if let [(id, _)] = of_kind.as_slice() {
        return match binder.bind(*id, value) {
            Err(fault) => fault,
            Ok(_) => binder.fault(Problem::Forbidden),
        };
    }
    if let Value::Map(members) = value {
        let nodes: Vec<_> = of_kind.iter().map(|(id, node)| (*id, *node)).collect();
        if let Some(fault) = tagged(binder, &nodes, members).or_else(|| missing(binder, &nodes, members)) {
            return fault;
        }
    }
    // The alternative that got furthest is most likely the one that was meant.
    let deepest = faults.into_iter().filter(|fault| fault.depth() > 1).max_by_key(Diagnostic::depth);
    deepest.unwrap_or_else(|| binder.fault(Problem::Must(format!("match one of {}", alternatives(binder, choice)))))
}

/// The fault of a member that is missing whichever alternative was meant.
fn missing(binder: &Binder<'_>, variants: &[(NodeId, &Node)], members: &Map) -> Option<Diagnostic> {
    let (_, first) = variants.first()?;
    let is_required = |node: &Node, name: &str| node.map.properties.get(name).is_some_and(|found| found.required);
    let mut names = first.map.properties.keys().filter(|name| !members.contains_key(*name));
    let name = names.find(|name| variants.iter().all(|(_, node)| is_required(node, name)))?;
    Some(binder.fault(Problem::Missing).inside(Step::Name(name.clone())))
}

/// The fault of alternatives that tell themselves apart by the value of one member.
fn tagged(binder: &Binder<'_>, variants: &[(NodeId, &Node)], members: &Map) -> Option<Diagnostic> {
    let values_of = |node: &Node, name: &str| {
        let property = node.map.properties.get(name).filter(|property| property.required)?;
        binder.schema.node(property.node).values.clone()
    };
    let (_, first) = variants.first()?;
    let tag =
        first.map.properties.keys().find(|name| variants.iter().all(|(_, node)| values_of(node, name).is_some()))?;
    let step = Step::Name(tag.clone());
    let Some(given) = members.get(tag) else { return Some(binder.fault(Problem::Missing).inside(step)) };
    let meant: Vec<_> = variants
        .iter()
        .filter(|(_, node)| values_of(node, tag).is_some_and(|values| values.iter().any(|value| equal(value, given))))
        .collect();
    match meant.as_slice() {
        [] => {
            let mut values: Vec<_> = variants.iter().filter_map(|(_, node)| values_of(node, tag)).flatten().collect();
            values.dedup();
            let expected = values.iter().map(shape::literal).collect();
            Some(binder.fault(Problem::Type { expected }).inside(step))
        }
        [(id, _)] => binder.bind(*id, &Value::Map(members.clone())).err(),
        _ => None,
    }
}

/// The alternatives without further choices in them.
pub(super) fn leaves<'s>(schema: &'s Compiled, choice: &Choice) -> Vec<(NodeId, &'s Node)> {
    let mut leaves = Vec::new();
    let mut pending: Vec<_> = choice.variants.iter().rev().copied().collect();
    while let Some(id) = pending.pop() {
        let node = schema.node(id);
        match &node.choice {
            Some(inner) => pending.extend(inner.variants.iter().rev()),
            None if node.is_never() => {}
            None => leaves.push((id, node)),
        }
    }
    leaves
}

fn alternatives(binder: &Binder<'_>, choice: &Choice) -> String {
    let style = match binder.side {
        super::diagnostic::Side::Input => shape::Style::Input,
        super::diagnostic::Side::Output => shape::Style::Output,
    };
    shape::of_choice(binder.schema, choice).notation(style)
}
