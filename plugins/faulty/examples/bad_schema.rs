//! A plugin with an input whose schema is no schema.
#![forbid(unsafe_code)]

use std::borrow::Cow;

use codemode_plugin_api::prelude::*;
use schemars::{Schema, SchemaGenerator, json_schema};

#[derive(Deserialize)]
struct Input {}

impl JsonSchema for Input {
    fn schema_name() -> Cow<'static, str> {
        "Input".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": "object", "properties": {"text": {"type": "strnig"}}})
    }
}

struct BadSchema;

impl Plugin for BadSchema {
    type Settings = NoSettings;

    fn start(_: NoSettings, _: &Host) -> Result<Self, StartError> {
        Ok(Self)
    }

    fn capabilities(c: &mut Capabilities<Self>) {
        c.add("bad.schema", |_: &Self, _: &Call, _: Input| Ok(0)).summary("Never called.");
    }
}

export!(BadSchema);
