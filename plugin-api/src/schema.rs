//! The JSON Schema of an author's type, as tight as the type.
//!
//! `schemars` leaves an object open unless its type says `deny_unknown_fields`, which an author forgets; a misspelt
//! optional argument would then be dropped without a word. So what is read is closed here, wherever an object's members
//! are all listed in one place.

use std::collections::HashSet;

use schemars::JsonSchema;
use schemars::generate::{SchemaGenerator, SchemaSettings};
use serde_json::{Map, Value};

/// The schema of what the type reads; objects are closed.
pub(crate) fn read_by<T: JsonSchema>() -> Value {
    let mut schema = generate::<T>(SchemaSettings::draft2020_12().for_deserialize());
    let mut extended = HashSet::new();
    find_extended(&schema, &mut extended);
    close(&mut schema, &extended);
    schema
}

/// The schema of what the type writes.
pub(crate) fn written_by<T: JsonSchema>() -> Value {
    generate::<T>(SchemaSettings::draft2020_12().for_serialize())
}

fn generate<T: JsonSchema>(settings: SchemaSettings) -> Value {
    let settings = settings.with(|settings| settings.meta_schema = None);
    let mut schema = SchemaGenerator::new(settings).into_root_schema_for::<T>().to_value();
    // The name of a Rust type tells an agent nothing.
    if let Value::Object(members) = &mut schema {
        members.remove("title");
    }
    schema
}

/// The keywords that bring in members of the same object from elsewhere.
const EXTENSIONS: [&str; 4] = ["$ref", "allOf", "anyOf", "oneOf"];

/// Keywords whose value is one schema, a list of schemas, or named schemas.
const SINGLE: [&str; 3] = ["items", "additionalProperties", "not"];
const LISTS: [&str; 4] = ["prefixItems", "allOf", "anyOf", "oneOf"];
const NAMED: [&str; 3] = ["properties", "patternProperties", "$defs"];

/// Collects the definitions that some place extends with members of its own: closing them would refuse those members.
fn find_extended(schema: &Value, extended: &mut HashSet<String>) {
    let Value::Object(members) = schema else { return };
    if members.contains_key("properties")
        && let Some(Value::String(reference)) = members.get("$ref")
    {
        extended.insert(reference.clone());
    }
    for part in subschemas(members) {
        find_extended(part, extended);
    }
}

fn subschemas(members: &Map<String, Value>) -> impl Iterator<Item = &Value> {
    let single = SINGLE.iter().filter_map(|key| members.get(*key));
    let lists = LISTS.iter().filter_map(|key| members.get(*key)?.as_array()).flatten();
    let named = NAMED.iter().filter_map(|key| members.get(*key)?.as_object()).flat_map(Map::values);
    single.chain(lists).chain(named)
}

fn close(schema: &mut Value, extended: &HashSet<String>) {
    let Value::Object(members) = schema else { return };
    let is_object = members.contains_key("properties") || members.get("type").is_some_and(|name| name == "object");
    let listed_here = !EXTENSIONS.iter().any(|key| members.contains_key(*key));
    let says_itself = ["additionalProperties", "unevaluatedProperties", "patternProperties"];
    if is_object && listed_here && !says_itself.iter().any(|key| members.contains_key(*key)) {
        members.insert("additionalProperties".to_owned(), Value::Bool(false));
    }
    // The parts of an object that lists members beside them describe that object and must stay open.
    let parts_are_whole = listed_here || !members.contains_key("properties");
    for key in SINGLE {
        if let Some(part) = members.get_mut(key) {
            close(part, extended);
        }
    }
    for key in LISTS {
        let whole = key == "prefixItems" || (parts_are_whole && key != "allOf");
        if let Some(parts) = members.get_mut(key).and_then(Value::as_array_mut).filter(|_| whole) {
            parts.iter_mut().for_each(|part| close(part, extended));
        }
    }
    for key in NAMED {
        let Some(parts) = members.get_mut(key).and_then(Value::as_object_mut) else { continue };
        for (name, part) in parts {
            if key != "$defs" || !extended.contains(&format!("#/$defs/{name}")) {
                close(part, extended);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde::{Deserialize, Serialize};
    use serde_json::json;

    use super::*;
    use crate::Json;

    #[track_caller]
    fn check_read<T: JsonSchema>(expected: Value) {
        assert_eq!(read_by::<T>(), expected);
    }

    #[test]
    fn an_input_is_closed_and_keeps_texts_and_order() {
        #[derive(Deserialize, JsonSchema)]
        #[expect(dead_code, reason = "only its schema counts")]
        struct Input {
            /// The key.
            key: String,
            /// Anything.
            any: Json,
            limit: Option<u8>,
            #[serde(default)]
            all: bool,
            window: Window,
        }
        #[derive(Deserialize, JsonSchema)]
        #[expect(dead_code, reason = "only its schema counts")]
        struct Window {
            end: f64,
        }
        check_read::<Input>(json!({
            "type": "object",
            "properties": {
                "key": {"description": "The key.", "type": "string"},
                "any": {"description": "Anything."},
                "limit": {"type": ["integer", "null"], "format": "uint8", "minimum": 0, "maximum": 255},
                "all": {"type": "boolean", "default": false},
                "window": {"$ref": "#/$defs/Window"},
            },
            "required": ["key", "any", "window"],
            "additionalProperties": false,
            "$defs": {
                "Window": {
                    "type": "object",
                    "properties": {"end": {"type": "number", "format": "double"}},
                    "required": ["end"],
                    "additionalProperties": false,
                },
            },
        }));
        let text = read_by::<Input>()["properties"].to_string();
        assert!(text.find("\"key\"") < text.find("\"any\""), "declaration order: {text}");
    }

    #[test]
    fn a_map_stays_open() {
        check_read::<std::collections::BTreeMap<String, u8>>(json!({
            "type": "object",
            "additionalProperties": {"type": "integer", "format": "uint8", "minimum": 0, "maximum": 255},
        }));
    }

    #[test]
    fn a_tagged_variant_accepts_its_tag() {
        #[derive(Deserialize, JsonSchema)]
        #[serde(tag = "kind")]
        #[expect(dead_code, reason = "only its schema counts")]
        enum Tagged {
            Inline { a: u8 },
            Named(Body),
        }
        #[derive(Deserialize, JsonSchema)]
        #[expect(dead_code, reason = "only its schema counts")]
        struct Body {
            b: u8,
        }
        let schema = read_by::<Tagged>();
        assert_eq!(schema["oneOf"][0]["additionalProperties"], json!(false), "{schema}");
        assert!(schema["oneOf"][1].get("additionalProperties").is_none(), "{schema}");
        assert!(schema["$defs"]["Body"].get("additionalProperties").is_none(), "{schema}");
    }

    #[test]
    fn an_output_requires_what_is_always_written() {
        #[derive(Serialize, JsonSchema)]
        struct Output {
            a: Option<String>,
            #[serde(skip_serializing_if = "Option::is_none")]
            b: Option<u64>,
        }
        let schema = written_by::<Output>();
        assert_eq!(schema["required"], json!(["a"]), "{schema}");
    }
}
