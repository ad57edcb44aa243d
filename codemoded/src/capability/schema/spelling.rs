//! Spells OpenAPI's and older drafts' keywords as the JSON Schema library's draft does, for what it must check.

use jsonschema::Draft;
use serde_json::{Map as Json, Value as Text, json};

use super::keyword::{Grammar, grammar};
use super::rules;

/// One rewriting of one schema.
pub(super) struct Spelling {
    draft: Draft,
    /// Pointers of subschemas that now stand one level further in.
    moved: Vec<String>,
}

impl Spelling {
    pub(super) fn of(draft: Draft) -> Self {
        Self { draft, moved: Vec::new() }
    }

    /// Where the subschema at this pointer stands now.
    pub(super) fn moved_to(&self, pointer: &str) -> String {
        let mut out = String::new();
        let mut passed = String::new();
        for token in pointer.split('/').skip(1) {
            if self.moved.contains(&passed) {
                out.push_str("/anyOf/0");
            }
            passed.push('/');
            passed.push_str(token);
            out.push('/');
            out.push_str(token);
        }
        out
    }

    /// Rewrites wherever a schema could stand; the walk has bounded the depth of those, the rest is copied.
    pub(super) fn schema(&mut self, text: &Text, at: &mut String) -> Text {
        let Text::Object(members) = text else { return text.clone() };
        let mut plain = Json::new();
        for (keyword, value) in members {
            let value = self.keyword(keyword, value, at);
            plain.insert(keyword.clone(), value);
        }
        self.respell(&mut plain);
        if members.get("nullable") != Some(&Text::Bool(true)) {
            return Text::Object(plain);
        }
        if rules::is_null_an_alternative(members) {
            self.moved.push(at.clone());
            return json!({"anyOf": [plain, {"type": "null"}]});
        }
        let types = match plain.shift_remove("type") {
            Some(Text::Array(types)) => types,
            Some(name) => vec![name],
            None => Vec::new(),
        };
        plain.insert("type".into(), types.into_iter().filter(|name| name != "null").chain([json!("null")]).collect());
        if let Some(Text::Array(values)) = plain.get_mut("enum") {
            values.push(Text::Null);
        }
        Text::Object(plain)
    }

    fn keyword(&mut self, keyword: &str, value: &Text, at: &mut String) -> Text {
        let length = at.len();
        at.push('/');
        at.push_str(keyword);
        let mut below = |key: &str, value: &Text, at: &mut String| {
            let length = at.len();
            at.push('/');
            at.push_str(&key.replace('~', "~0").replace('/', "~1"));
            let plain = self.schema(value, at);
            at.truncate(length);
            plain
        };
        let plain = match (grammar(keyword), value) {
            (Grammar::Schemas | Grammar::SchemaOrSchemas, Text::Array(list)) => {
                list.iter().enumerate().map(|(index, schema)| below(&index.to_string(), schema, at)).collect()
            }
            (Grammar::Schema | Grammar::SchemaOrSchemas, schema) => self.schema(schema, at),
            (Grammar::SchemaMap | Grammar::PatternMap | Grammar::Dependencies, Text::Object(map)) => {
                Text::Object(map.iter().map(|(name, schema)| (name.clone(), below(name, schema, at))).collect())
            }
            // Where OpenAPI keeps what references name.
            (Grammar::Annotation, Text::Object(map)) if matches!(keyword, "components" | "schemas") => {
                Text::Object(map.iter().map(|(name, schema)| (name.clone(), below(name, schema, at))).collect())
            }
            _ => value.clone(),
        };
        at.truncate(length);
        plain
    }

    fn respell(&self, plain: &mut Json<String, Text>) {
        for keyword in ["nullable", "$schema", "contentEncoding", "contentMediaType"] {
            plain.shift_remove(keyword);
        }
        for (exclusive, bound) in [("exclusiveMinimum", "minimum"), ("exclusiveMaximum", "maximum")] {
            if let Some(Text::Bool(is_exclusive)) = plain.get(exclusive).cloned() {
                plain.shift_remove(exclusive);
                if let Some(limit) = is_exclusive.then(|| plain.shift_remove(bound)).flatten() {
                    plain.insert(exclusive.into(), limit);
                }
            }
        }
        if !names_string(plain.get("type")) {
            plain.shift_remove("format");
        }
        if self.draft == Draft::Draft202012 && plain.get("items").is_some_and(Text::is_array) {
            let rest = plain.shift_remove("additionalItems");
            let prefix = plain.shift_remove("items").unwrap_or_default();
            plain.insert("prefixItems".into(), prefix);
            plain.extend(rest.map(|rest| ("items".to_owned(), rest)));
        }
    }
}

fn names_string(types: Option<&Text>) -> bool {
    match types {
        Some(Text::Array(names)) => names.iter().any(|name| name == "string"),
        Some(name) => name == "string",
        None => false,
    }
}
