//! How deep a value may be for the JSON Schema library to check it in time.
//!
//! The library follows every alternative on every level and cannot be stopped, so its effort may double with each
//! level of the value. Here that growth is reckoned from the schema, before any value arrives, and from above:
//! members of different names count as if the dearest were always there.

use std::collections::HashMap;

use serde_json::Value as Text;

use super::fault::SchemaFault;
use super::keyword::{Grammar, grammar};
use super::scan::{Scan, SourceId};

/// Subschemas that checking one place and all below it may visit; some tens of nanoseconds each.
const MAX_VISITS: u64 = 10_000_000;
/// Beyond this depth nothing that doubles can still be below the limit.
const MAX_DEPTH: usize = 64;

/// What a subschema applies, and to what.
#[derive(Debug, Default)]
struct Edges {
    /// To the same value.
    same: Vec<SourceId>,
    /// To members of different names, or items of different places.
    apart: Vec<SourceId>,
    /// To the same members or items as others do.
    together: Vec<SourceId>,
}

/// For each of the subschemas, the depth (a scalar is 1) beyond which a value is too much.
pub(super) fn depths(scan: &Scan<'_>, roots: &[SourceId]) -> Result<Vec<usize>, SchemaFault> {
    let edges = reachable(scan, roots);
    let order = innermost_first(scan, &edges)?;
    let mut depths = vec![usize::MAX; roots.len()];
    let mut below: HashMap<SourceId, u64> = HashMap::new();
    for depth in 1..=MAX_DEPTH {
        let mut visits: HashMap<SourceId, u64> = HashMap::with_capacity(order.len());
        for id in &order {
            let Some(edges) = edges.get(id) else { continue };
            let of = |known: &HashMap<SourceId, u64>, id: &SourceId| known.get(id).copied().unwrap_or(0);
            let sum = |known: &HashMap<SourceId, u64>, ids: &[SourceId]| {
                ids.iter().map(|id| of(known, id)).fold(0, u64::saturating_add)
            };
            let apart = edges.apart.iter().map(|id| of(&below, id)).max().unwrap_or(0);
            let inner = apart.saturating_add(sum(&below, &edges.together));
            visits.insert(*id, sum(&visits, &edges.same).saturating_add(inner).saturating_add(1));
        }
        for (root, limit) in roots.iter().zip(&mut depths) {
            if *limit == usize::MAX && visits.get(root).is_some_and(|visits| *visits > MAX_VISITS) {
                *limit = depth - 1;
            }
        }
        below = visits;
    }
    Ok(depths)
}

fn reachable(scan: &Scan<'_>, roots: &[SourceId]) -> HashMap<SourceId, Edges> {
    let mut found = HashMap::new();
    let mut pending = roots.to_vec();
    while let Some(id) = pending.pop() {
        if found.contains_key(&id) {
            continue;
        }
        let edges = edges_of(scan, id);
        pending.extend(edges.same.iter().chain(&edges.apart).chain(&edges.together));
        found.insert(id, edges);
    }
    found
}

fn edges_of(scan: &Scan<'_>, id: SourceId) -> Edges {
    let mut edges = Edges::default();
    let Some(source) = scan.source(id) else { return edges };
    edges.same.extend(source.target);
    for (keyword, value) in source.schema.as_object().into_iter().flatten() {
        let schemas: Vec<&Text> = match (grammar(keyword), value) {
            (Grammar::Schemas | Grammar::SchemaOrSchemas, Text::Array(schemas)) => schemas.iter().collect(),
            (Grammar::Schema | Grammar::SchemaOrSchemas, schema) => vec![schema],
            (Grammar::SchemaMap | Grammar::PatternMap | Grammar::Dependencies, Text::Object(map)) => {
                map.values().collect()
            }
            _ => continue,
        };
        let place = match keyword.as_str() {
            "$defs" | "definitions" => continue,
            "properties" | "prefixItems" => &mut edges.apart,
            "items" if value.is_array() => &mut edges.apart,
            "additionalItems"
            | "additionalProperties"
            | "contains"
            | "items"
            | "patternProperties"
            | "propertyNames"
            | "unevaluatedItems"
            | "unevaluatedProperties" => &mut edges.together,
            _ => &mut edges.same,
        };
        place.extend(schemas.into_iter().filter_map(|schema| scan.at_address(schema)));
    }
    edges
}

/// The subschemas, each after those that it applies to the same value; there must be an end to those.
fn innermost_first(scan: &Scan<'_>, edges: &HashMap<SourceId, Edges>) -> Result<Vec<SourceId>, SchemaFault> {
    #[derive(PartialEq)]
    enum State {
        Open,
        Done,
    }
    let mut states: HashMap<SourceId, State> = HashMap::new();
    let mut order = Vec::with_capacity(edges.len());
    for start in edges.keys() {
        // Each subschema is met twice: on the way in, and once everything in it is done.
        let mut pending = vec![(*start, false)];
        while let Some((id, is_leaving)) = pending.pop() {
            if is_leaving {
                states.insert(id, State::Done);
                order.push(id);
                continue;
            }
            match states.get(&id) {
                Some(State::Done) => continue,
                Some(State::Open) => return Err(SchemaFault::Endless { at: scan.pointer(id) }),
                None => {}
            }
            states.insert(id, State::Open);
            pending.push((id, true));
            let inner = edges.get(&id).map(|edges| edges.same.as_slice()).unwrap_or_default();
            pending.extend(inner.iter().filter(|inner| states.get(inner) != Some(&State::Done)).map(|id| (*id, false)));
        }
    }
    Ok(order)
}
