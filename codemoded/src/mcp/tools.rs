//! The three tools: what a model reads of them, and how their one argument is read.
//!
//! Clients cut a description at 2,048 characters and every tool costs the model tokens on every turn, so the
//! essentials stand first and the three together stay small; `tools/tests.rs` holds them to it.

use std::sync::Arc;

use rmcp::model::{JsonObject, MetaObject, Tool as Definition, ToolAnnotations};
use serde_json::{Value as Json, json};

use crate::text::{MAX_PUBLISHED_BYTES, printable};

/// One of the three.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tool {
    SearchApi,
    DescribeApi,
    Execute,
}

/// What is wrong with a call's arguments.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ArgumentFault {
    #[error("missing required argument \"{0}\"")]
    Missing(&'static str),
    #[error("argument \"{0}\" must be a string")]
    NotAString(&'static str),
    #[error("unknown argument \"{unknown}\"; the only argument is \"{known}\"")]
    Unknown { unknown: String, known: &'static str },
}

impl Tool {
    /// In the order in which they are listed and meant to be used.
    pub const ALL: [Self; 3] = [Self::SearchApi, Self::DescribeApi, Self::Execute];

    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|tool| tool.name() == name)
    }

    pub fn name(self) -> &'static str {
        match self {
            Self::SearchApi => "search_api",
            Self::DescribeApi => "describe_api",
            Self::Execute => "execute",
        }
    }

    /// The tool's one argument, a string.
    pub fn argument(self) -> &'static str {
        match self {
            Self::SearchApi => "query",
            Self::DescribeApi => "name",
            Self::Execute => "source",
        }
    }

    /// Reads the one argument of a call.
    pub fn read(self, arguments: Option<JsonObject>) -> Result<String, ArgumentFault> {
        let known = self.argument();
        let mut arguments = arguments.unwrap_or_default();
        let value = arguments.remove(known);
        if let Some((unknown, _)) = arguments.into_iter().next() {
            return Err(ArgumentFault::Unknown { unknown: printable(&unknown, MAX_PUBLISHED_BYTES), known });
        }
        match value {
            Some(Json::String(text)) => Ok(text),
            Some(Json::Null | Json::Bool(_) | Json::Number(_) | Json::Array(_) | Json::Object(_)) => {
                Err(ArgumentFault::NotAString(known))
            }
            None => Err(ArgumentFault::Missing(known)),
        }
    }

    fn title(self) -> &'static str {
        match self {
            Self::SearchApi => "Find capabilities",
            Self::DescribeApi => "Describe a capability",
            Self::Execute => "Run a program",
        }
    }

    fn description(self) -> &'static str {
        match self {
            Self::SearchApi => SEARCH_API,
            Self::DescribeApi => DESCRIBE_API,
            Self::Execute => EXECUTE,
        }
    }

    fn input(self) -> Json {
        let name = self.argument();
        json!({
            "type": "object",
            "properties": { name: { "type": "string" } },
            "required": [name],
            "additionalProperties": false,
        })
    }

    fn output(self) -> Json {
        match self {
            Self::SearchApi => search_output(),
            Self::DescribeApi => describe_output(),
            Self::Execute => json!({ "type": "object", "properties": { "result": {} }, "required": ["result"] }),
        }
    }

    fn annotations(self) -> ToolAnnotations {
        match self {
            Self::SearchApi | Self::DescribeApi => ToolAnnotations::new().read_only(true).open_world(false),
            // A program may do whatever the catalog can.
            Self::Execute => ToolAnnotations::new().read_only(false).destructive(true).open_world(true),
        }
    }
}

/// What `tools/list` answers. A client that cuts results keeps one of up to `max_result_bytes` whole.
pub fn definitions(max_result_bytes: usize) -> Vec<Definition> {
    Tool::ALL.into_iter().map(|tool| definition(tool, max_result_bytes)).collect()
}

fn definition(tool: Tool, max_result_bytes: usize) -> Definition {
    let definition = Definition::new(tool.name(), tool.description(), object(tool.input()))
        .with_title(tool.title())
        .with_raw_output_schema(object(tool.output()))
        .with_annotations(tool.annotations());
    match tool {
        Tool::SearchApi | Tool::DescribeApi => definition,
        Tool::Execute => definition.with_meta(result_size(max_result_bytes)),
    }
}

/// The largest size that Claude Code takes, so that a larger budget does not void the hint.
const MAX_RESULT_CHARS: usize = 500_000;

fn result_size(max_result_bytes: usize) -> MetaObject {
    let envelope = r#"{"result":}"#.len();
    let chars = max_result_bytes.saturating_add(envelope).min(MAX_RESULT_CHARS);
    let mut meta = MetaObject::default();
    meta.0.insert("anthropic/maxResultSizeChars".to_owned(), json!(chars));
    meta
}

fn object(schema: Json) -> Arc<JsonObject> {
    match schema {
        Json::Object(members) => Arc::new(members),
        Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) | Json::Array(_) => Arc::default(),
    }
}

fn search_output() -> Json {
    let text = json!({ "type": "string" });
    json!({
        "type": "object",
        "properties": {
            "results": {
                "type": "array",
                "items": {
                    "type": "object",
                    "properties": { "name": text, "signature": text, "summary": text },
                    "required": ["name", "signature", "summary"],
                },
            },
            "truncated": { "type": "boolean" },
            "total": { "type": "integer" },
        },
        "required": ["results", "truncated", "total"],
    })
}

fn describe_output() -> Json {
    let text = json!({ "type": "string" });
    let fields = json!({ "type": "array", "items": { "$ref": "#/$defs/field" } });
    json!({
        "type": "object",
        "properties": {
            "name": text, "signature": text, "summary": text, "description": text, "example": text,
            "input": fields, "output": fields,
            "hints": { "type": "object" },
        },
        "required": ["name", "signature", "summary", "description", "example", "input", "output", "hints"],
        "$defs": {
            "field": {
                "type": "object",
                "properties": {
                    "name": text, "type": text, "required": { "type": "boolean" },
                    "description": text, "default": {}, "constraints": text,
                },
                "required": ["name", "type", "required"],
            },
        },
    })
}

const SEARCH_API: &str = "\
Find callable capabilities by what they do. `query`: a few plain words, e.g. `find text in files`. \
Answers {name, signature, summary}, best first; `total` says how many matched, `truncated` that some are left out. \
Nothing found: use other words. Then read exact types with `describe_api` and call capabilities inside `execute`.";

const DESCRIBE_API: &str = "\
The exact contract of one capability: typed input and output fields, an example call, hints about its effects. \
`name`: a dotted name from `search_api`, e.g. `records.lookup`.";

const EXECUTE: &str = "\
Run one Starlark program that calls capabilities and combines their results; do a whole task in one program.

- Define `def main():` without parameters. Its return value (None, bool, str, int, float, list, dict with string \
keys) is the only thing that leaves; `print` is discarded, an assignment returns nothing.
- The result budget is small: filter or summarise inside the program.
- Call capabilities with keyword arguments only: `records.lookup(key=\"a\")`. Only `main` and what it calls may do so, \
the top level may not.
- Starlark is a Python subset: no while, import, try, class, `is`, `a < b < c`, power `**`, generator expressions; no \
clock, randomness, files or network but through capabilities. Use `for i in range(n)`, comprehensions, lambda.
- Available beyond the basics: `sum`, `json.decode`, `json.encode`, `math`, f-strings, `set`, `map`, `filter`.
- A failed call ends the run, unless asked for: `r = attempt(records.lookup, key=\"a\")`; several at once: \
`rs = parallel([call(records.lookup, key=k) for k in keys])`. Each has `r.ok`, `r.value`, `r.error.message`.
- Each run starts empty: nothing is kept from an earlier one. An error says which calls had been made, so do not \
repeat those blindly.

Example:
def main():
    hits = records.lookup(key=\"a\")
    return {\"count\": hits[\"count\"]}";

#[cfg(test)]
mod tests;
