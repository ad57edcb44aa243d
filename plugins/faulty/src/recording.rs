//! Calls that leave a trace, so that a test can say what reached a handler and what did not.

use std::borrow::Cow;
use std::fs::OpenOptions;
use std::io::{self, Write};
use std::marker::PhantomData;
use std::path::Path;
use std::sync::PoisonError;

use codemode_plugin_api::prelude::*;
use schemars::{Schema, SchemaGenerator};

use crate::Faulty;

pub(crate) fn offer(c: &mut Capabilities<Faulty>) {
    c.add("faulty.record", record)
        .id("faulty.record.write")
        .summary("Append this call to the record.")
        .description("Writes one line of JSON: the capability, the arguments, the subject and the run.")
        .terms(["trace", "log"])
        .destructive(false);
    c.add("faulty.note", note).summary("Append a note to the record, and change nothing else.").read_only();
}

#[derive(Deserialize, JsonSchema)]
#[expect(dead_code, reason = "only its schema counts")]
struct Record {
    /// Any value.
    value: Json,
    /// A list of texts.
    #[serde(default)]
    tags: Vec<String>,
    /// A number that may be absent.
    count: Option<u8>,
    /// A number that may have a fraction.
    ratio: Option<f64>,
}

#[derive(Deserialize, JsonSchema)]
#[expect(dead_code, reason = "only its schema counts")]
struct Note {
    /// The text of the note.
    text: String,
}

#[derive(Serialize, JsonSchema)]
struct Recorded {
    /// Who called.
    subject: String,
    /// The run's ID.
    run: String,
}

/// The arguments of the type `T`, as the text that came.
#[derive(Deserialize)]
#[serde(transparent)]
struct Exactly<T> {
    text: Json,
    #[serde(skip)]
    kind: PhantomData<T>,
}

impl<T: JsonSchema> JsonSchema for Exactly<T> {
    fn schema_name() -> Cow<'static, str> {
        T::schema_name()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        T::json_schema(generator)
    }
}

fn record(plugin: &Faulty, call: &Call, input: Exactly<Record>) -> Result<Recorded, CapabilityError> {
    append(plugin, call, "faulty.record", &input.text)
}

fn note(plugin: &Faulty, call: &Call, input: Exactly<Note>) -> Result<Recorded, CapabilityError> {
    append(plugin, call, "faulty.note", &input.text)
}

fn append(plugin: &Faulty, call: &Call, capability: &str, arguments: &Json) -> Result<Recorded, CapabilityError> {
    #[derive(Serialize)]
    struct Line<'a> {
        capability: &'a str,
        arguments: &'a Json,
        subject: &'a str,
        run: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        traceparent: Option<&'a str>,
    }

    let Some(path) = &plugin.record else {
        return Err(CapabilityError::private("the settings name no file for the record"));
    };
    let line =
        Line { capability, arguments, subject: call.subject(), run: call.run(), traceparent: call.traceparent() };
    let line = serde_json::to_string(&line)?;
    let _one_at_a_time = plugin.recording.lock().unwrap_or_else(PoisonError::into_inner);
    append_line(path, &line)?;
    Ok(Recorded { subject: call.subject().to_owned(), run: call.run().to_owned() })
}

pub(crate) fn append_line(path: &Path, line: &str) -> io::Result<()> {
    OpenOptions::new().create(true).append(true).open(path)?.write_all(format!("{line}\n").as_bytes())
}
