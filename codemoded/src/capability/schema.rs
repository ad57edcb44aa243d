//! JSON Schema as the type language between plugins, catalog and programs.
//!
//! A schema's text is compiled once, into nodes that bind: check a value and build its canonical form. The worker
//! and its parent compile the same text and bind alike. What programs' authors read (signatures, fields, examples)
//! and what the static check walks is the [`Shape`], drawn from the same nodes.

mod arguments;
mod bind;
mod choice;
mod compile;
mod diagnostic;
mod effort;
mod example;
mod fault;
mod field;
mod keyword;
mod node;
mod number;
mod object;
mod partial;
mod reference;
mod residue;
mod rules;
mod scan;
mod shape;
mod spelling;
mod text;

#[cfg(test)]
mod tests;

use std::sync::OnceLock;

use serde_json::Value as Text;

pub(in crate::capability) use diagnostic::is_identifier;
pub use diagnostic::{Diagnostic, Guess, Problem, Side, Step};
pub use fault::SchemaFault;
pub use field::Field;
pub use node::Types;
pub use partial::{Members, Partial};
pub(in crate::capability) use shape::literal;
pub use shape::{Member, Shape, Style};
pub use text::PatternError;

use crate::value::{Map, Value};
use arguments::Arguments;
use bind::{Binder, MAX_DEFAULT_STEPS};
use compile::Compiler;
use node::{Node, NodeId};
use residue::Residues;
use scan::Scan;

/// What a capability takes: an object, whose members are its parameters.
#[derive(Debug)]
pub struct Input {
    text: Box<str>,
    schema: OnceLock<Box<Arguments>>,
}

/// What a capability gives.
#[derive(Debug)]
pub struct Output {
    text: Box<str>,
    schema: OnceLock<Box<Compiled>>,
}

/// A compiled schema.
#[derive(Debug)]
struct Compiled {
    nodes: Vec<Node>,
    root: NodeId,
    residues: Residues,
    /// Every default has been bound and stands in its property.
    defaults_are_bound: bool,
    /// What a number without node means.
    never: Node,
}

/// Whether the text has been checked before, by another process of the same build.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Trust {
    Unchecked,
    Checked,
}

impl Input {
    /// Compiles a capability's input from its text.
    pub fn read(text: Box<str>) -> Result<Self, Vec<SchemaFault>> {
        let arguments = Arguments::compile(&parse(&text)?, Trust::Unchecked)?;
        Ok(Self { text, schema: OnceLock::from(Box::new(arguments)) })
    }

    /// Compiles a capability's input, and says everything that is wrong with it.
    pub fn compile(source: &Text) -> Result<Self, Vec<SchemaFault>> {
        let arguments = Arguments::compile(source, Trust::Unchecked)?;
        Ok(Self { text: source.to_string().into(), schema: OnceLock::from(Box::new(arguments)) })
    }

    /// Takes the text of an input that was compiled before, in this process or another. Compiled again when used.
    pub fn from_checked(text: &str) -> Self {
        Self { text: text.into(), schema: OnceLock::new() }
    }

    /// Forgets everything but the text until the input is used again, for a catalog with more than are ever used.
    pub fn rest(&mut self) {
        self.schema = OnceLock::new();
    }

    /// The JSON text that it was compiled from.
    pub fn source(&self) -> &str {
        &self.text
    }

    /// The canonical arguments, exactly as policy and the handler see them.
    pub fn bind(&self, arguments: Map) -> Result<Map, Diagnostic> {
        self.arguments().bind(arguments)
    }

    /// The fault that arguments known in part have whatever the rest of them is.
    pub fn certain_fault(&self, given: Members) -> Option<Diagnostic> {
        self.arguments().certain_fault(given)
    }

    /// Whether binding takes no longer than reading the arguments did.
    pub fn is_light(&self) -> bool {
        self.schema.get().is_some_and(|arguments| arguments.schema.is_light())
    }

    /// The parameters, in the order of the schema.
    pub fn parameters(&self) -> Vec<Member> {
        self.arguments().parameters().into_iter().map(|(member, _)| member).collect()
    }

    /// What it takes under names that are no parameters; nothing where it takes none.
    pub fn others(&self) -> Option<Shape> {
        self.arguments().others()
    }

    pub fn fields(&self) -> Vec<Field> {
        let schema = &self.arguments().schema;
        let field = |(member, id): (Member, NodeId)| field::of_member(schema, &member, id, Style::Input);
        self.arguments().parameters().into_iter().map(field).collect()
    }

    /// Arguments that bind, where some can be made up.
    pub fn example(&self) -> Option<Map> {
        let example = example::arguments(&self.arguments().schema)?;
        self.bind(example.clone()).is_ok().then_some(example)
    }

    fn arguments(&self) -> &Arguments {
        self.schema.get_or_init(|| {
            let compiled = parse(&self.text).and_then(|source| Arguments::compile(&source, Trust::Checked));
            // A text that cannot be compiled was never checked, and nothing binds to it.
            Box::new(compiled.unwrap_or_else(|_| Arguments::impossible()))
        })
    }
}

impl Output {
    /// Compiles a capability's output from its text.
    pub fn read(text: Box<str>) -> Result<Self, Vec<SchemaFault>> {
        let source = parse(&text)?;
        let schema = Compiled::build(&source, scan(&source, Trust::Unchecked)?, None)?;
        Ok(Self { text, schema: OnceLock::from(Box::new(schema)) })
    }

    /// Compiles a capability's output, and says everything that is wrong with it.
    pub fn compile(source: &Text) -> Result<Self, Vec<SchemaFault>> {
        let schema = Compiled::build(source, scan(source, Trust::Unchecked)?, None)?;
        Ok(Self { text: source.to_string().into(), schema: OnceLock::from(Box::new(schema)) })
    }

    /// Takes the text of an output that was compiled before. Compiled again when used.
    pub fn from_checked(text: &str) -> Self {
        Self { text: text.into(), schema: OnceLock::new() }
    }

    /// Forgets everything but the text until the output is used again.
    pub fn rest(&mut self) {
        self.schema = OnceLock::new();
    }

    /// The JSON text that it was compiled from.
    pub fn source(&self) -> &str {
        &self.text
    }

    /// The value as programs see it: integers of float fields are floats, all else is as the handler gave it.
    pub fn check(&self, value: Value) -> Result<Value, Diagnostic> {
        let schema = self.schema();
        Binder::new(schema, Side::Output).bind(schema.root, &value)
    }

    /// Whether checking takes no longer than reading the value did.
    pub fn is_light(&self) -> bool {
        self.schema.get().is_some_and(|schema| schema.is_light())
    }

    pub fn shape(&self) -> Shape {
        shape::of_node(self.schema(), self.schema().root)
    }

    pub fn fields(&self) -> Vec<Field> {
        let schema = self.schema();
        let root = schema.node(schema.root);
        let field = |(member, id): (Member, NodeId)| field::of_member(schema, &member, id, Style::Output);
        if let (None, Shape::Object(_)) = (&root.choice, self.shape()) {
            return shape::parameters(schema, &[root]).into_iter().map(field).collect();
        }
        let whole = Member { name: "result".to_owned(), shape: self.shape(), required: true };
        vec![field((whole, schema.root))]
    }

    fn schema(&self) -> &Compiled {
        self.schema.get_or_init(|| {
            let compiled =
                parse(&self.text).and_then(|source| Compiled::build(&source, scan(&source, Trust::Checked)?, None));
            Box::new(compiled.unwrap_or_else(|_| Compiled::impossible()))
        })
    }
}

impl Compiled {
    fn build(source: &Text, scan: Scan<'_>, also: Option<compile::Member>) -> Result<Self, Vec<SchemaFault>> {
        let mut compiler = Compiler::new(scan);
        let (nodes, root) = compiler.run(also).map_err(|fault| vec![fault])?;
        let residues = Residues::build(source, &compiler.scan, &compiler.residues).map_err(|fault| vec![fault])?;
        Ok(Self { nodes, root, residues, defaults_are_bound: false, never: Node::never() })
    }

    /// The schema that nothing meets.
    fn impossible() -> Self {
        let residues = Residues::default();
        Self { nodes: Vec::new(), root: NodeId(0), residues, defaults_are_bound: true, never: Node::never() }
    }

    fn node(&self, id: NodeId) -> &Node {
        self.nodes.get(id.0 as usize).unwrap_or(&self.never)
    }

    /// Alternatives can multiply, and the JSON Schema library takes its time.
    fn is_light(&self) -> bool {
        self.residues.is_empty() && self.nodes.iter().all(|node| node.choice.is_none())
    }

    fn admits_null(&self, id: NodeId) -> bool {
        Binder::with_steps(self, Side::Output, 1_000).bind(id, &Value::Null).is_ok()
    }

    /// The forms that the root may take.
    fn leaves(&self) -> Vec<&Node> {
        let root = self.node(self.root);
        match &root.choice {
            Some(choice) => choice::leaves(self, choice).into_iter().map(|(_, leaf)| leaf).collect(),
            None if root.is_never() || !root.types.has(Types::MAP) => Vec::new(),
            None => vec![root],
        }
    }

    /// Binds every default once, so that a call only copies it and a wrong one never starts.
    fn bind_defaults(&mut self) -> Result<(), SchemaFault> {
        let binder = Binder::with_steps(self, Side::Input, MAX_DEFAULT_STEPS);
        let mut bound = Vec::new();
        for (index, node) in self.nodes.iter().enumerate() {
            for (place, (name, property)) in node.map.properties.iter().enumerate() {
                if !property.declared || property.required {
                    continue;
                }
                let default = binder
                    .default_of(property)
                    .map_err(|diagnostic| SchemaFault::Default { field: name.clone(), diagnostic })?;
                bound.extend(default.map(|default| (index, place, default)));
            }
        }
        for (index, place, default) in bound {
            let node = self.nodes.get_mut(index);
            if let Some((_, property)) = node.and_then(|node| node.map.properties.get_index_mut(place)) {
                property.default = Some(default);
            }
        }
        self.defaults_are_bound = true;
        Ok(())
    }
}

fn parse(text: &str) -> Result<Text, Vec<SchemaFault>> {
    serde_json::from_str(text).map_err(|error| vec![SchemaFault::Unreadable(error.to_string())])
}

fn scan(source: &Text, trust: Trust) -> Result<Scan<'_>, Vec<SchemaFault>> {
    let scan = Scan::new(source, trust == Trust::Unchecked);
    if scan.faults.is_empty() { Ok(scan) } else { Err(scan.faults) }
}
