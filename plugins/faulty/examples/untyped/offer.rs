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

/// Makes a schema when it is asked for, which an instance that only serves calls never does.
pub(crate) type Making = Box<dyn FnOnce() -> Value>;

#[derive(Default)]
struct Schemas {
    input: Option<Making>,
    output: Option<Making>,
}

fn made(making: Option<Making>) -> Schema {
    making.and_then(|make| Schema::try_from(make()).ok()).unwrap_or_default()
}

thread_local! {
    static CURRENT: RefCell<Schemas> = RefCell::default();
}

impl JsonSchema for Arguments {
    fn schema_name() -> Cow<'static, str> {
        "Arguments".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        made(CURRENT.with_borrow_mut(|schemas| schemas.input.take()))
    }
}

impl JsonSchema for Outcome {
    fn schema_name() -> Cow<'static, str> {
        "Outcome".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        made(CURRENT.with_borrow_mut(|schemas| schemas.output.take()))
    }
}

/// Offers one capability that takes and gives what these schemas say.
pub(crate) fn offer<'c, P: Send + Sync + 'static>(
    c: &'c mut Capabilities<P>,
    name: &str,
    (input, output): (Making, Making),
    answer: impl Fn(&P, Members) -> Result<Value, CapabilityError> + Send + Sync + 'static,
) -> &'c mut Offered<P> {
    CURRENT.set(Schemas { input: Some(input), output: Some(output) });
    c.add(name, move |plugin: &P, _: &Call, given: Arguments| answer(plugin, given.0).map(Outcome))
}
