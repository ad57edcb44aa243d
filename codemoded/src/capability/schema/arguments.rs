//! A capability's input: its compiled schema, and the names that a call may use.
//!
//! JSON Schema lets an object have members that nobody declared. A call is different: a name that the schema
//! mentions nowhere is a slip, unless the schema says that it takes others.

use std::collections::HashSet;

use indexmap::IndexSet;
use serde_json::Value as Text;

use super::bind::Binder;
use super::diagnostic::{Diagnostic, Guess, Problem, Side, Step};
use super::fault::SchemaFault;
use super::node::NodeId;
use super::partial::{Members, Partial};
use super::scan::{Dialect, Scan, SourceId};
use super::shape::{self, Member, Shape};
use super::{Compiled, Trust, compile, scan};
use crate::value::{Map, Value};

/// A compiled input.
#[derive(Debug)]
pub(super) struct Arguments {
    pub(super) schema: Compiled,
    names: Names,
}

/// Every argument name that a schema mentions, whatever it demands of it.
#[derive(Debug, Default)]
struct Names {
    known: IndexSet<String>,
    /// Says itself that it takes others.
    open: bool,
}

impl Arguments {
    pub(super) fn compile(source: &Text, trust: Trust) -> Result<Self, Vec<SchemaFault>> {
        let scan = scan(source, trust)?;
        let names = Names::of(&scan);
        let mut schema = Compiled::build(source, scan, Some(compile::Member::Object))?;
        if schema.leaves().is_empty() {
            return Err(vec![SchemaFault::NoObject]);
        }
        schema.bind_defaults().map_err(|fault| vec![fault])?;
        Ok(Self { schema, names })
    }

    /// The input that no arguments meet.
    pub(super) fn impossible() -> Self {
        Self { schema: Compiled::impossible(), names: Names { open: true, ..Names::default() } }
    }

    pub(super) fn bind(&self, arguments: Map) -> Result<Map, Diagnostic> {
        self.names.check(arguments.keys())?;
        match Binder::new(&self.schema, Side::Input).bind(self.schema.root, &Value::Map(arguments))? {
            Value::Map(bound) => Ok(bound),
            // The root is joined with `object`.
            _ => Err(Diagnostic::argument(Problem::Forbidden)),
        }
    }

    /// The fault that these arguments have whatever their unknown parts are.
    pub(super) fn certain_fault(&self, given: Members) -> Option<Diagnostic> {
        if let Some(whole) = given.whole() {
            return self.bind(whole).err();
        }
        let names = self.names.check(given.known.iter().map(|(name, _)| name));
        names
            .err()
            .or_else(|| Binder::new(&self.schema, Side::Input).certain_fault(self.schema.root, &Partial::Map(given)))
    }

    pub(super) fn parameters(&self) -> Vec<(Member, NodeId)> {
        shape::parameters(&self.schema, &self.schema.leaves())
    }

    /// What it takes under names that are no parameters.
    pub(super) fn others(&self) -> Option<Shape> {
        let others = self.names.open.then(|| shape::others(&self.schema, &self.schema.leaves()));
        others.filter(|others| *others != Shape::Never)
    }
}

impl Names {
    fn of(scan: &Scan<'_>) -> Self {
        let mut names = Self::default();
        let mut seen = HashSet::new();
        let mut pending = vec![Scan::ROOT];
        while let Some(id) = pending.pop() {
            if !seen.insert(id) {
                continue;
            }
            let Some(source) = scan.source(id) else { continue };
            pending.extend(source.target);
            let stands_alone = scan.dialect == Dialect::Draft7 && source.target.is_some();
            if let (Text::Object(members), false) = (source.schema, stands_alone) {
                for (keyword, value) in members {
                    names.note(keyword, value);
                    pending.extend(in_place(scan, keyword, value));
                }
            }
        }
        names
    }

    /// Refuses a name that the schema does not know.
    fn check<'a>(&self, mut names: impl Iterator<Item = &'a String>) -> Result<(), Diagnostic> {
        match names.find(|name| !self.open && !self.known.contains(*name)) {
            None => Ok(()),
            Some(name) => {
                let guess = Guess::at(name, self.known.iter().map(String::as_str));
                Err(Diagnostic::argument(Problem::Unknown(guess)).inside(Step::Name(name.clone())))
            }
        }
    }

    fn note(&mut self, keyword: &str, value: &Text) {
        match (keyword, value) {
            ("properties", Text::Object(properties)) => self.known.extend(properties.keys().cloned()),
            ("required", Text::Array(names)) => {
                self.known.extend(names.iter().filter_map(Text::as_str).map(str::to_owned));
            }
            ("dependentRequired", Text::Object(lists)) => {
                let names = lists.values().filter_map(Text::as_array).flatten().filter_map(Text::as_str);
                self.known.extend(names.map(str::to_owned));
            }
            ("additionalProperties" | "unevaluatedProperties", value) => self.open |= *value != Text::Bool(false),
            ("patternProperties", Text::Object(patterns)) => self.open |= !patterns.is_empty(),
            _ => {}
        }
    }
}

/// The subschemas under the keyword that speak about the same object.
fn in_place(scan: &Scan<'_>, keyword: &str, value: &Text) -> Vec<SourceId> {
    let schemas: Vec<&Text> = match (keyword, value) {
        ("allOf" | "anyOf" | "oneOf", Text::Array(schemas)) => schemas.iter().collect(),
        ("dependentSchemas" | "dependencies", Text::Object(schemas)) => schemas.values().collect(),
        ("if" | "then" | "else", schema) => vec![schema],
        _ => Vec::new(),
    };
    schemas.into_iter().filter_map(|schema| scan.at_address(schema)).collect()
}
