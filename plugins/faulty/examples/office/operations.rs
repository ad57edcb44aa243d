//! What one operation of the office does, told from its name.

use codemode_plugin_api::prelude::*;
use serde_json::{Value, json};

use super::records::{Fields, Kind, Office, object};
use crate::untyped::Members;

/// What an operation does to the records of its kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Deed {
    /// Gives those that fit.
    Find,
    Read,
    Make,
    Change,
    Remove,
}

#[derive(Clone)]
pub(crate) struct Operation {
    name: String,
    deed: Deed,
    kind: String,
    /// The argument that says which record.
    key: String,
}

impl Operation {
    pub(crate) fn of(name: &str, office: &Office) -> Option<Self> {
        let kind = office.kind_of(name)?.to_owned();
        Some(Self { name: name.to_owned(), deed: Deed::of(name), key: format!("{kind}_id"), kind })
    }

    pub(crate) fn reads(&self) -> bool {
        matches!(self.deed, Deed::Find | Deed::Read)
    }

    pub(crate) fn removes(&self) -> bool {
        self.deed == Deed::Remove
    }

    pub(crate) fn schemas(&self, office: &Office) -> Option<(Value, Value)> {
        if let Some(fixed) = office.fixed.get(&self.name) {
            return Some((fixed.input.schema(&fixed.needs), shape(&fixed.output)));
        }
        let kind = office.kinds.get(&self.kind)?;
        let output = match self.deed {
            Deed::Find => json!({"type": "object", "properties": {
                "items": {"type": "array", "items": kind.record()},
                "total": {"type": "integer", "description": "How many fit, those beyond `limit` included."},
            }, "required": ["items", "total"]}),
            Deed::Read | Deed::Make | Deed::Change | Deed::Remove => kind.record(),
        };
        let input = match office.inputs.get(&self.name) {
            Some(taken) => taken.fields.schema(&taken.needs),
            None => self.input(kind, office.effects.contains_key(&self.name)),
        };
        Some((input, output))
    }

    fn input(&self, kind: &Kind, has_effect: bool) -> Value {
        let which = || json!({"type": "string", "description": format!("The ID of the {}.", self.kind)});
        let only_key = || json!({"type": "object", "properties": {&*self.key: which()}, "required": [self.key]});
        match self.deed {
            Deed::Find => {
                let mut properties = Fields(kind.fields.plain()).properties();
                properties.insert("query".to_owned(), json!({"type": "string", "description": "A word in any text."}));
                properties.insert(
                    "limit".to_owned(),
                    json!({"type": "integer", "minimum": 1, "maximum": 100, "default": 20}),
                );
                object(properties, &[])
            }
            Deed::Make => kind.fields.schema(&kind.needs),
            Deed::Read | Deed::Remove => only_key(),
            Deed::Change if has_effect => only_key(),
            Deed::Change => {
                let mut properties = Members::from_iter([(self.key.clone(), which())]);
                properties.extend(kind.fields.properties());
                object(properties, std::slice::from_ref(&self.key))
            }
        }
    }

    /// Does it.
    pub(crate) fn perform(&self, office: &mut Office, mut given: Members) -> Result<Value, CapabilityError> {
        if let Some(fixed) = office.fixed.get(&self.name) {
            return Ok(fixed.output.clone());
        }
        let effect = office.effects.get(&self.name).cloned();
        let nothing = || CapabilityError::published(format!("there is no {} of that ID", self.kind));
        let records = &mut office.kinds.get_mut(&self.kind).ok_or_else(nothing)?.records;
        let number = records.len() + 1;
        let key = given.get(&self.key).cloned();
        let place = records.iter().position(|record| record.get("id") == key.as_ref());
        match self.deed {
            Deed::Find => Ok(find(records, given)),
            Deed::Make => {
                given.insert("id".to_owned(), json!(format!("{}-{number}", self.kind)));
                records.push(given.clone());
                Ok(Value::Object(given))
            }
            Deed::Read => place.and_then(|place| records.get(place)).cloned().map(Value::Object).ok_or_else(nothing),
            Deed::Remove => place.map(|place| Value::Object(records.remove(place))).ok_or_else(nothing),
            Deed::Change => {
                given.remove(&self.key);
                let record = place.and_then(|place| records.get_mut(place)).ok_or_else(nothing)?;
                record.extend(given.into_iter().chain(effect.into_iter().flatten()));
                Ok(Value::Object(record.clone()))
            }
        }
    }
}

impl Deed {
    fn of(name: &str) -> Self {
        match name.rsplit('.').next().unwrap_or_default() {
            "list" | "search" | "find" | "recent" | "sign_ins" | "reports" | "members" => Self::Find,
            "get" | "export" | "download" | "preview" | "outline" | "compare" | "manager" | "photo" | "attendance"
            | "status" | "progress" | "word_count" | "render" | "summary" => Self::Read,
            "create"
            | "create_recurring"
            | "create_from_template"
            | "create_link"
            | "upload"
            | "post"
            | "request"
            | "start"
            | "import_csv"
            | "import_file" => Self::Make,
            "send" if matches!(name, "mail.send" | "chat.message.send" | "signature.send") => Self::Make,
            "schedule" | "reply" | "reply_all" | "forward" => Self::Make,
            "add"
                if matches!(
                    name,
                    "mail.attachment.add" | "drive.share.add" | "drive.comment.add" | "admin.domain.add"
                ) =>
            {
                Self::Make
            }
            "delete" | "delete_forever" | "revoke" | "end" if !name.starts_with("drive.file.delete") => Self::Remove,
            "cancel" if name == "calendar.event.cancel" => Self::Remove,
            _ => Self::Change,
        }
    }
}

fn find(records: &[Members], mut given: Members) -> Value {
    let limit = given.remove("limit").and_then(|limit| limit.as_u64()).unwrap_or(20);
    let query = given.remove("query").and_then(|query| Some(query.as_str()?.to_lowercase()));
    let has = |record: &Members| {
        let mentions = |query: &String| Value::Object(record.clone()).to_string().to_lowercase().contains(query);
        given.iter().all(|(name, wanted)| record.get(name) == Some(wanted)) && query.as_ref().is_none_or(mentions)
    };
    let found: Vec<_> = records.iter().filter(|record| has(record)).collect();
    let items: Vec<_> = found.iter().take(usize::try_from(limit).unwrap_or(usize::MAX)).collect();
    json!({"items": items, "total": found.len()})
}

/// A schema that a value fits.
fn shape(value: &Value) -> Value {
    match value {
        Value::Null => json!({}),
        Value::Bool(_) => json!({"type": "boolean"}),
        Value::Number(number) if number.is_f64() => json!({"type": "number"}),
        Value::Number(_) => json!({"type": "integer"}),
        Value::String(_) => json!({"type": "string"}),
        Value::Array(items) => {
            let first = items.first().map(shape);
            let alike = first.filter(|first| items.iter().all(|item| shape(item) == *first));
            json!({"type": "array", "items": alike.unwrap_or_else(|| json!({}))})
        }
        Value::Object(members) => {
            let properties: Members = members.iter().map(|(name, value)| (name.clone(), shape(value))).collect();
            json!({"type": "object", "properties": properties, "required": members.keys().collect::<Vec<_>>()})
        }
    }
}
