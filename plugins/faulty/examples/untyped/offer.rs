//! Offers capabilities whose schemas are data. An author's types have one schema each; here one pair of types stands
//! for all capabilities, and says the schema of the one that is being offered.

use std::borrow::Cow;
use std::cell::RefCell;

use codemode_plugin_api::Offered;
use codemode_plugin_api::prelude::*;
use schemars::{Schema, SchemaGenerator};
use serde_json::Value;

/// The members of an object.
pub(crate) type Members = serde_json::Map<String, Value>;

/// Any arguments; the daemon has checked them.
#[derive(Deserialize)]
#[serde(transparent)]
struct Arguments(Members);

/// Any result.
#[derive(Serialize)]
#[serde(transparent)]
struct Outcome(Value);

#[derive(Default)]
struct Schemas {
    input: Value,
    output: Value,
}

thread_local! {
    static CURRENT: RefCell<Schemas> = RefCell::default();
}

impl JsonSchema for Arguments {
    fn schema_name() -> Cow<'static, str> {
        "Arguments".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        CURRENT.with_borrow_mut(|schemas| Schema::try_from(schemas.input.take()).unwrap_or_default())
    }
}

impl JsonSchema for Outcome {
    fn schema_name() -> Cow<'static, str> {
        "Outcome".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        CURRENT.with_borrow_mut(|schemas| Schema::try_from(schemas.output.take()).unwrap_or_default())
    }
}

/// Offers one capability that takes and gives what these schemas say.
pub(crate) fn offer<'c, P: Send + Sync + 'static>(
    c: &'c mut Capabilities<P>,
    name: &str,
    (input, output): (Value, Value),
    answer: impl Fn(&P, Members) -> Result<Value, CapabilityError> + Send + Sync + 'static,
) -> &'c mut Offered<P> {
    CURRENT.set(Schemas { input, output });
    c.add(name, move |plugin: &P, _: &Call, given: Arguments| answer(plugin, given.0).map(Outcome))
}
