//! Joins what several subschemas say about an object's members.

use std::collections::HashSet;

use indexmap::IndexMap;
use serde_json::{Map as Json, Value};

use super::compile::Compiler;
use super::node::{Extra, MapRules, Property};
use super::text::Pattern;

type Members<'s> = &'s Json<String, Value>;

/// What one subschema says about names that it does not declare.
struct Open<'s> {
    patterns: Vec<(Pattern, &'s Value)>,
    rest: Option<&'s Value>,
}

pub(super) fn join<'s>(compiler: &mut Compiler<'s>, rules: &mut MapRules, objects: &[Members<'s>]) {
    let opens: Vec<_> = objects.iter().map(|members| open_of(members)).collect();
    let patterns: usize = opens.iter().map(|open| open.patterns.len()).sum();
    let required: HashSet<_> = objects.iter().flat_map(|members| required(members)).collect();
    for (name, declared) in names(objects) {
        let required = required.contains(name.as_str());
        let schemas: Vec<_> =
            objects.iter().zip(&opens).flat_map(|(members, open)| schemas_of(members, open, &name)).collect();
        compiler.spend(objects.len() + patterns);
        let node = compiler.node_of(&schemas);
        rules.properties.insert(name, Property { node, required, declared, default: None });
    }
    for open in opens {
        if open.patterns.is_empty() && open.rest.is_none() {
            continue;
        }
        let patterns =
            open.patterns.into_iter().map(|(pattern, schema)| (pattern, compiler.node_of(&[schema]))).collect();
        let rest = open.rest.map(|schema| compiler.node_of(&[schema]));
        rules.extras.push(Extra { patterns, rest });
    }
    for members in objects {
        if let Some(schema) = members.get("propertyNames") {
            rules.names.push(compiler.node_of(&[schema]));
        }
    }
}

/// Every name that is declared or required, in the order of the text, and whether it is declared.
fn names(objects: &[Members<'_>]) -> IndexMap<String, bool> {
    let mut names = IndexMap::new();
    for members in objects {
        let declared = members.get("properties").and_then(Value::as_object);
        names.extend(declared.into_iter().flat_map(Json::keys).map(|name| (name.clone(), true)));
    }
    for members in objects {
        for name in required(members) {
            names.entry(name.to_owned()).or_insert(false);
        }
    }
    names
}

fn required<'s>(members: Members<'s>) -> impl Iterator<Item = &'s str> {
    members.get("required").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str)
}

fn open_of<'s>(members: Members<'s>) -> Open<'s> {
    let patterns = members.get("patternProperties").and_then(Value::as_object).into_iter().flatten();
    Open {
        patterns: patterns.map(|(pattern, schema)| (Pattern::new(pattern), schema)).collect(),
        rest: members.get("additionalProperties"),
    }
}

/// What one subschema demands of the member of this name.
fn schemas_of<'s>(members: Members<'s>, open: &Open<'s>, name: &str) -> Vec<&'s Value> {
    let declared = members.get("properties").and_then(|properties| properties.get(name));
    let matched = open.patterns.iter().filter(|(pattern, _)| pattern.matches(name)).map(|(_, schema)| *schema);
    let mut schemas: Vec<_> = declared.into_iter().chain(matched).collect();
    if schemas.is_empty() {
        schemas.extend(open.rest);
    }
    schemas
}
