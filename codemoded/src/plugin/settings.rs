//! An instance's settings against the schema that its library exports.

use jsonschema::error::ValidationErrorKind;
use jsonschema::paths::LocationSegment;
use jsonschema::{Draft, ValidationError};
use serde_json::Value;

use super::fault::{Reason, Refusal};

/// Every fault, with the path of its key. No value is repeated: it may be a secret.
pub(super) fn check(schema: &Value, settings: &Value) -> Result<(), Vec<Refusal>> {
    let validator = jsonschema::options()
        .with_draft(Draft::Draft202012)
        .offline()
        .build(schema)
        .map_err(|error| vec![Reason::SettingsSchema(error.to_string()).into()])?;
    let refusals: Vec<_> = validator.iter_errors(settings).flat_map(|error| refusals(&error, schema)).collect();
    if refusals.is_empty() { Ok(()) } else { Err(refusals) }
}

fn refusals(error: &ValidationError<'_>, schema: &Value) -> Vec<Refusal> {
    let path = key_path(error);
    let at = |key: &str, text: String| Refusal { key: Some(joined(&path, key)), reason: Reason::Setting(text) };
    match error.kind() {
        ValidationErrorKind::AdditionalProperties { unexpected }
        | ValidationErrorKind::UnevaluatedProperties { unexpected } => {
            unexpected.iter().map(|key| at(key, unknown(schema, path.is_empty()))).collect()
        }
        ValidationErrorKind::Required { property: Value::String(key) } => vec![at(key, "it is missing".to_owned())],
        // Every other kind is told by its own text.
        _ => {
            let reason = Reason::Setting(error.masked().to_string());
            vec![Refusal { key: (!path.is_empty()).then_some(path), reason }]
        }
    }
}

fn unknown(schema: &Value, at_top: bool) -> String {
    let known = schema.get("properties").and_then(Value::as_object).filter(|known| at_top && !known.is_empty());
    match known {
        Some(known) => {
            let names: Vec<_> = known.keys().map(|name| format!("`{name}`")).collect();
            format!("it is unknown; known are {}", names.join(", "))
        }
        None => "it is unknown".to_owned(),
    }
}

fn key_path(error: &ValidationError<'_>) -> String {
    error.instance_path().segments().fold(String::new(), |path, segment| match segment {
        LocationSegment::Property(key) => joined(&path, &key),
        LocationSegment::Index(index) => format!("{path}[{index}]"),
    })
}

/// The path of a key as TOML would spell it.
fn joined(path: &str, key: &str) -> String {
    let is_bare = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
    let key = if !key.is_empty() && key.bytes().all(is_bare) { key.to_owned() } else { format!("{key:?}") };
    if path.is_empty() { key } else { format!("{path}.{key}") }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check_faults(settings: &Value, expected: &[(&str, &str)]) {
        let schema = json!({
            "type": "object",
            "properties": {
                "database": {"type": "string"},
                "tables": {"type": "array", "items": {"type": "object", "properties": {"rows": {"type": "integer"}}}},
            },
            "required": ["database"],
            "additionalProperties": false,
        });
        let refusals = check(&schema, settings).err().unwrap_or_default();
        let found: Vec<_> = refusals
            .iter()
            .map(|refusal| (refusal.key.as_deref().unwrap_or_default(), refusal.reason.to_string()))
            .collect();
        let expected: Vec<_> =
            expected.iter().map(|(key, text)| (*key, format!("does not accept this setting: {text}"))).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn right_settings_pass() {
        check_faults(&json!({"database": "records.db", "tables": [{"rows": 1}]}), &[]);
    }

    #[test]
    fn an_unknown_key_is_named_with_the_known_ones() {
        let known = "it is unknown; known are `database`, `tables`";
        check_faults(&json!({"database": "a", "data base": "b"}), &[("\"data base\"", known)]);
    }

    #[test]
    fn a_missing_key_is_named() {
        check_faults(&json!({}), &[("database", "it is missing")]);
    }

    #[test]
    fn a_wrong_type_is_told_without_the_value() {
        check_faults(&json!({"database": 5}), &[("database", "value is not of type \"string\"")]);
        let nested = json!({"database": "a", "tables": [{"rows": "secret"}]});
        check_faults(&nested, &[("tables[0].rows", "value is not of type \"integer\"")]);
    }
}
