//! A well-behaved plugin whose inputs are of every shape; each call gives its canonical arguments back.
#![forbid(unsafe_code)]

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::marker::PhantomData;

use codemode_plugin_api::prelude::*;
use schemars::{Schema, SchemaGenerator};

/// The arguments of the type `T`, as the value that came.
#[derive(Deserialize)]
#[serde(transparent)]
struct Exactly<T> {
    value: Json,
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

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "only its schema counts")]
struct Book {
    /// Which room.
    #[schemars(length(min = 1, max = 40))]
    room: String,
    #[schemars(range(min = 1, max = 12))]
    seats: u8,
    window: Option<Window>,
    #[serde(default)]
    #[schemars(length(max = 3))]
    tags: Vec<String>,
    labels: Option<BTreeMap<String, String>>,
    rate: Option<f64>,
    #[serde(default)]
    mode: Mode,
    confirmed: Option<bool>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "only its schema counts")]
struct Window {
    start: String,
    end: String,
    zone: Option<String>,
}

#[derive(Default, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Mode {
    #[default]
    Open,
    Held,
}

#[derive(Deserialize, JsonSchema)]
#[expect(dead_code, reason = "only its schema counts")]
struct Pay {
    method: Method,
    amount: f64,
}

#[derive(Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
#[expect(dead_code, reason = "only its schema counts")]
enum Method {
    Card { number: String },
    Transfer { account: String, urgent: Option<bool> },
}

#[derive(Deserialize, JsonSchema)]
#[expect(dead_code, reason = "only its schema counts")]
struct Find {
    text: Text,
    filter: Option<Filter>,
    limit: Option<u32>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(untagged)]
#[expect(dead_code, reason = "only its schema counts")]
enum Text {
    One(String),
    Any(Vec<String>),
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "only its schema counts")]
struct Filter {
    owner: Option<String>,
    ids: Option<Vec<i64>>,
}

/// Any names, each with a number.
#[derive(Deserialize, JsonSchema)]
#[serde(transparent)]
#[expect(dead_code, reason = "only its schema counts")]
struct Counts(BTreeMap<String, i64>);

#[derive(Deserialize, JsonSchema)]
#[expect(dead_code, reason = "only its schema counts")]
struct Echo {
    value: Json,
}

struct Desk;

impl Plugin for Desk {
    type Settings = NoSettings;

    fn start(_: NoSettings, _: &Host) -> Result<Self, StartError> {
        Ok(Self)
    }

    fn capabilities(c: &mut Capabilities<Self>) {
        c.add("desk.book", same::<Book>).summary("Book seats in a room.");
        c.add("desk.pay", same::<Pay>).summary("Pay an amount.");
        c.add("desk.find", same::<Find>).summary("Find bookings.");
        c.add("desk.counts", same::<Counts>).summary("Set counts by name.");
        c.add("desk.echo", same::<Echo>).summary("Give any value back.");
        c.add("desk.status", |_: &Self, _: &Call, _: NoArguments| Ok("open")).summary("Whether the desk is open.");
        c.add("desk.admin.purge", same::<Echo>).summary("Purge a value.");
    }
}

fn same<T: JsonSchema>(_: &Desk, _: &Call, given: Exactly<T>) -> Result<Json, CapabilityError> {
    Ok(given.value)
}

export!(Desk);
