//! One walk over a schema's text before anything is compiled: finds every subschema and what it refers to, and
//! refuses what is malformed, cannot be honoured, or is too large. Iterative, so that no nesting costs native stack.

use std::collections::{HashMap, HashSet};

use serde_json::{Map, Value};

use super::fault::SchemaFault;
use super::keyword::{self, Grammar, grammar};
use super::reference::Resources;
use super::text::{Cost, Pattern};

/// How deep subschemas may be nested, not counting what references add.
pub(super) const MAX_DEPTH: usize = 64;
/// JSON values of one schema, enums and defaults included.
pub(super) const MAX_VALUES: usize = 100_000;
/// How deep its values may be nested, defaults included: just less than a parser follows.
pub(super) const MAX_NESTING: usize = 120;
/// Distinct patterns of one schema: building the automata is what takes long.
pub(super) const MAX_PATTERNS: usize = 200;
/// The same of those whose automata are large.
pub(super) const MAX_DEAR_PATTERNS: usize = 16;
/// Faults reported of one schema.
const MAX_FAULTS: usize = 20;

/// A subschema's number, in the order of the walk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct SourceId(pub(super) u32);

/// Which rules of reading apply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Dialect {
    /// `$ref` stands alone: what is beside it does not count.
    Draft7,
    /// 2019-09, 2020-12 and OpenAPI, whose differences are accepted side by side.
    Modern,
}

/// A subschema and where it stands.
#[derive(Debug)]
pub(super) struct Source<'s> {
    pub(super) schema: &'s Value,
    parent: Parent<'s>,
    depth: usize,
    pub(super) resource: usize,
    /// What its `$ref` names.
    pub(super) target: Option<SourceId>,
}

#[derive(Debug)]
enum Parent<'s> {
    Root,
    Keyword(SourceId, &'s str),
    Member(SourceId, &'s str, &'s str),
    Item(SourceId, &'s str, usize),
    /// Reached only by a reference, at this pointer.
    Pointer(String),
}

/// Every subschema of one schema.
#[derive(Debug)]
pub(super) struct Scan<'s> {
    pub(super) dialect: Dialect,
    sources: Vec<Source<'s>>,
    by_address: HashMap<usize, SourceId>,
    pub(super) resources: Resources<'s>,
    pub(super) faults: Vec<SchemaFault>,
    /// Check patterns too, which is the dear part; whoever checked the same text before need not.
    check_patterns: bool,
    patterns: HashSet<String>,
    dear_patterns: usize,
}

impl<'s> Scan<'s> {
    pub(super) const ROOT: SourceId = SourceId(0);

    pub(super) fn new(root: &'s Value, check_patterns: bool) -> Self {
        let mut scan = Self {
            dialect: Dialect::Modern,
            sources: Vec::new(),
            by_address: HashMap::new(),
            resources: Resources::new(root),
            faults: Vec::new(),
            check_patterns,
            patterns: HashSet::new(),
            dear_patterns: 0,
        };
        if !is_within(root) {
            scan.faults.push(SchemaFault::TooLarge);
            return scan;
        }
        scan.dialect = scan.dialect_of(root);
        let root = scan.add(root, Parent::Root, 0, 0);
        scan.walk_from(root);
        scan.resolve_references();
        scan
    }

    pub(super) fn source(&self, id: SourceId) -> Option<&Source<'s>> {
        self.sources.get(id.0 as usize)
    }

    /// The subschema at this address, where the walk has seen it.
    pub(super) fn at_address(&self, schema: &Value) -> Option<SourceId> {
        self.by_address.get(&address(schema)).copied()
    }

    /// The subschema's JSON pointer.
    pub(super) fn pointer(&self, id: SourceId) -> String {
        let mut parts = Vec::new();
        let mut current = Some(id);
        while let Some(source) = current.and_then(|id| self.source(id)) {
            current = match &source.parent {
                Parent::Root => None,
                Parent::Pointer(pointer) => {
                    parts.push(pointer.clone());
                    None
                }
                Parent::Keyword(parent, keyword) => {
                    parts.push(format!("/{keyword}"));
                    Some(*parent)
                }
                Parent::Member(parent, keyword, name) => {
                    parts.push(format!("/{keyword}/{}", name.replace('~', "~0").replace('/', "~1")));
                    Some(*parent)
                }
                Parent::Item(parent, keyword, index) => {
                    parts.push(format!("/{keyword}/{index}"));
                    Some(*parent)
                }
            };
        }
        parts.reverse();
        parts.concat()
    }

    fn dialect_of(&mut self, root: &Value) -> Dialect {
        let Some(name) = root.get("$schema").and_then(Value::as_str) else { return Dialect::Modern };
        dialect_named(name).unwrap_or_else(|| {
            self.fault(SchemaFault::Dialect { at: String::new(), dialect: name.to_owned() });
            Dialect::Modern
        })
    }

    fn fault(&mut self, fault: SchemaFault) {
        if self.faults.len() < MAX_FAULTS {
            self.faults.push(fault);
        }
    }

    fn add(&mut self, schema: &'s Value, parent: Parent<'s>, depth: usize, resource: usize) -> SourceId {
        if let Some(known) = self.at_address(schema) {
            return known;
        }
        // `MAX_VALUES` bounds the count far below 32 bits.
        let id = SourceId(u32::try_from(self.sources.len()).unwrap_or(u32::MAX));
        self.sources.push(Source { schema, parent, depth, resource, target: None });
        self.by_address.insert(address(schema), id);
        id
    }

    fn walk_from(&mut self, start: SourceId) {
        let mut pending = vec![start];
        while let Some(id) = pending.pop() {
            let Some(source) = self.source(id) else { continue };
            let (schema, depth) = (source.schema, source.depth);
            match schema {
                Value::Bool(_) => {}
                Value::Object(_) if depth > MAX_DEPTH => {
                    let at = self.pointer(id);
                    self.fault(SchemaFault::TooDeep { at });
                }
                Value::Object(members) => self.visit(id, members, &mut pending),
                Value::Null | Value::Number(_) | Value::String(_) | Value::Array(_) => {
                    let at = self.pointer(id);
                    self.fault(SchemaFault::NoSchema { at });
                }
            }
        }
    }

    fn visit(&mut self, id: SourceId, members: &'s Map<String, Value>, pending: &mut Vec<SourceId>) {
        let reference_alone = self.dialect == Dialect::Draft7 && members.contains_key("$ref");
        if !reference_alone {
            self.enter_resource(id, members);
        }
        for (keyword, value) in members {
            let grammar = grammar(keyword);
            if reference_alone && keyword != "$ref" && grammar != Grammar::SchemaMap {
                continue;
            }
            if grammar == Grammar::Refused {
                let at = self.pointer(id);
                self.fault(SchemaFault::Unsupported { at, keyword: keyword.clone() });
            } else if let Some(expected) = keyword::mistake(grammar, value) {
                let at = self.pointer(id);
                self.fault(SchemaFault::Malformed { at, keyword: keyword.clone(), expected });
            } else {
                self.check_texts(id, keyword, grammar, value);
                self.enter(id, keyword, grammar, value, pending);
            }
        }
    }

    fn enter(
        &mut self,
        id: SourceId,
        keyword: &'s str,
        grammar: Grammar,
        value: &'s Value,
        pending: &mut Vec<SourceId>,
    ) {
        let Some((depth, resource)) = self.source(id).map(|source| (source.depth + 1, source.resource)) else { return };
        let mut push = |scan: &mut Self, schema, parent| pending.push(scan.add(schema, parent, depth, resource));
        match (grammar, value) {
            (Grammar::Schemas | Grammar::SchemaOrSchemas, Value::Array(schemas)) => {
                for (index, schema) in schemas.iter().enumerate() {
                    push(self, schema, Parent::Item(id, keyword, index));
                }
            }
            (Grammar::Schema | Grammar::SchemaOrSchemas, schema) => push(self, schema, Parent::Keyword(id, keyword)),
            (Grammar::SchemaMap | Grammar::PatternMap | Grammar::Dependencies, Value::Object(schemas)) => {
                for (name, schema) in schemas {
                    if grammar != Grammar::Dependencies || !schema.is_array() {
                        push(self, schema, Parent::Member(id, keyword, name));
                    }
                }
            }
            _ => {}
        }
    }

    fn check_texts(&mut self, id: SourceId, keyword: &str, grammar: Grammar, value: &Value) {
        match (grammar, value) {
            (Grammar::Pattern, Value::String(pattern)) => self.check_pattern(id, pattern),
            (Grammar::PatternMap, Value::Object(patterns)) => {
                for pattern in patterns.keys() {
                    self.check_pattern(id, pattern);
                }
            }
            (Grammar::Text, Value::String(name))
                if keyword == "$schema" && id != Self::ROOT && dialect_named(name) != Some(self.dialect) =>
            {
                let at = self.pointer(id);
                self.fault(SchemaFault::Dialect { at, dialect: name.clone() });
            }
            _ => {}
        }
    }

    fn check_pattern(&mut self, id: SourceId, pattern: &str) {
        if !self.check_patterns || !self.patterns.insert(pattern.to_owned()) {
            return;
        }
        let checked = Pattern::check(pattern);
        self.dear_patterns += usize::from(!matches!(checked, Ok(Cost::Cheap)));
        if let Err(reason) = checked {
            let at = self.pointer(id);
            self.fault(SchemaFault::Pattern { at, pattern: pattern.to_owned(), reason });
        }
        if self.patterns.len() > MAX_PATTERNS || self.dear_patterns > MAX_DEAR_PATTERNS {
            self.check_patterns = false;
            self.fault(SchemaFault::TooManyPatterns);
        }
    }

    fn enter_resource(&mut self, id: SourceId, members: &'s Map<String, Value>) {
        let Some((schema, outer)) = self.source(id).map(|source| (source.schema, source.resource)) else { return };
        let resource = self.resources.enter(outer, schema, members);
        if let Some(source) = self.sources.get_mut(id.0 as usize) {
            source.resource = resource;
        }
    }

    /// References may lead to places that no keyword does, and those hold references in turn.
    fn resolve_references(&mut self) {
        let mut next = 0;
        while let Some(source) = self.sources.get(next) {
            let id = SourceId(u32::try_from(next).unwrap_or(u32::MAX));
            let (schema, resource) = (source.schema, source.resource);
            next += 1;
            let Some(reference) = schema.get("$ref").and_then(Value::as_str) else { continue };
            let target = self.resources.resolve(resource, reference).map(|found| match self.at_address(found.schema) {
                Some(known) => known,
                None => {
                    let near = found.nearest(|schema| self.at_address(schema)).and_then(|id| self.source(id));
                    let resource = near.map_or(found.resource, |near| near.resource);
                    let added = self.add(found.schema, Parent::Pointer(found.pointer), 0, resource);
                    self.walk_from(added);
                    added
                }
            });
            if target.is_none() {
                let at = self.pointer(id);
                self.fault(SchemaFault::Reference { at, reference: reference.to_owned() });
            }
            if let Some(source) = self.sources.get_mut(id.0 as usize) {
                source.target = target;
            }
        }
    }
}

fn dialect_named(uri: &str) -> Option<Dialect> {
    let name = uri.trim_end_matches('#').trim_start_matches("https://").trim_start_matches("http://");
    Some(match name {
        "json-schema.org/draft-04/schema" | "json-schema.org/draft-06/schema" | "json-schema.org/draft-07/schema" => {
            Dialect::Draft7
        }
        "json-schema.org/draft/2019-09/schema" | "json-schema.org/draft/2020-12/schema" | "json-schema.org/schema" => {
            Dialect::Modern
        }
        name if name.starts_with("spec.openapis.org/oas/3.") => Dialect::Modern,
        _ => return None,
    })
}

fn address(schema: &Value) -> usize {
    std::ptr::from_ref(schema).addr()
}

/// Whether the document is small and flat enough to be read with recursion, counted without.
fn is_within(root: &Value) -> bool {
    let mut pending = vec![(root, 1)];
    let mut count = 0;
    while let Some((value, depth)) = pending.pop() {
        count += 1;
        if count + pending.len() > MAX_VALUES || depth > MAX_NESTING {
            return false;
        }
        match value {
            Value::Array(items) => pending.extend(items.iter().map(|item| (item, depth + 1))),
            Value::Object(members) => pending.extend(members.values().map(|member| (member, depth + 1))),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }
    true
}
