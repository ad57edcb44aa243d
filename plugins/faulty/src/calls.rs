//! Calls that end, but not well.

use std::process::Command;

use codemode_plugin_api::prelude::*;
use schemars::{Schema, SchemaGenerator, json_schema};

use crate::Faulty;

pub(crate) fn offer(c: &mut Capabilities<Faulty>) {
    c.add("faulty.echo", echo).summary("Give back the value it was given.").read_only().idempotent();
    c.add_async("faulty.echo_async", echo_async).summary("Give back the value from an async handler.").read_only();
    c.add("faulty.panic", panic).summary("Panic in a blocking handler.").read_only();
    c.add_async("faulty.panic_async", panic_async).summary("Panic in an async handler.").read_only();
    c.add("faulty.crash", crash).summary("Abort the process.").destructive(true);
    c.add("faulty.publish", publish).summary("Fail with a message for the caller.").read_only();
    c.add("faulty.fail", fail).summary("Fail with a message for the log only.").read_only();
    c.add("faulty.wrong_type", wrong_type).summary("Give a result that its schema forbids.").read_only();
    c.add("faulty.huge", huge).summary("Give a text of any size.").read_only();
    c.add("faulty.deep", deep).summary("Give a value of any depth.").read_only();
    c.add("faulty.print", print).summary("Write a line to standard output.").read_only();
    c.add("faulty.marker", marker).summary("Give the marker of the settings.").read_only();
    c.add("faulty.environment", environment).summary("Name the variables that a child process finds.").read_only();
    c.add("faulty.raw", raw).summary("Give the JSON that a text spells, whatever it is.").read_only();
}

#[derive(Deserialize, JsonSchema)]
struct Echo {
    /// Any value.
    value: Json,
}

fn echo(_: &Faulty, _: &Call, input: Echo) -> Result<Json, CapabilityError> {
    Ok(input.value)
}

async fn echo_async(_: &Faulty, _: &Call, input: Echo) -> Result<Json, CapabilityError> {
    tokio::task::yield_now().await;
    Ok(input.value)
}

#[expect(clippy::panic, reason = "on request")]
fn panic(_: &Faulty, _: &Call, _: NoArguments) -> Result<(), CapabilityError> {
    panic!("asked to panic")
}

#[expect(clippy::panic, reason = "on request")]
async fn panic_async(_: &Faulty, _: &Call, _: NoArguments) -> Result<(), CapabilityError> {
    tokio::task::yield_now().await;
    panic!("asked to panic")
}

fn crash(_: &Faulty, _: &Call, _: NoArguments) -> Result<(), CapabilityError> {
    std::process::abort()
}

#[derive(Deserialize, JsonSchema)]
struct Message {
    /// The text.
    message: String,
}

fn publish(_: &Faulty, _: &Call, input: Message) -> Result<(), CapabilityError> {
    Err(CapabilityError::published(input.message))
}

fn fail(_: &Faulty, _: &Call, input: Message) -> Result<(), CapabilityError> {
    Err(CapabilityError::private(input.message))
}

/// Claims to be an integer and is a text.
#[derive(Serialize)]
struct NoInteger(&'static str);

impl JsonSchema for NoInteger {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "NoInteger".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": "integer"})
    }
}

#[derive(Serialize, JsonSchema)]
struct WrongType {
    count: NoInteger,
}

fn wrong_type(_: &Faulty, _: &Call, _: NoArguments) -> Result<WrongType, CapabilityError> {
    Ok(WrongType { count: NoInteger("three") })
}

#[derive(Deserialize, JsonSchema)]
struct Size {
    /// Letters in the text.
    #[schemars(range(min = 0, max = 1_000_000_000))]
    letters: usize,
}

fn huge(_: &Faulty, _: &Call, input: Size) -> Result<String, CapabilityError> {
    Ok("x".repeat(input.letters))
}

#[derive(Deserialize, JsonSchema)]
struct Depth {
    /// Lists inside each other.
    #[schemars(range(min = 1, max = 1_000_000))]
    levels: usize,
}

fn deep(_: &Faulty, _: &Call, input: Depth) -> Result<Json, CapabilityError> {
    Ok(["[".repeat(input.levels), "]".repeat(input.levels)].concat().parse()?)
}

#[derive(Deserialize, JsonSchema)]
struct Raw {
    /// The JSON text.
    json: String,
}

fn raw(_: &Faulty, _: &Call, input: Raw) -> Result<Json, CapabilityError> {
    Ok(input.json.parse()?)
}

fn marker(plugin: &Faulty, _: &Call, _: NoArguments) -> Result<String, CapabilityError> {
    Ok(plugin.marker.clone())
}

/// What a plugin's own children inherit, which is not what this process was started with.
fn environment(_: &Faulty, _: &Call, _: NoArguments) -> Result<Vec<String>, CapabilityError> {
    let listed = Command::new("env").output().map_err(|error| CapabilityError::private(error.to_string()))?;
    let listed = String::from_utf8_lossy(&listed.stdout).into_owned();
    Ok(listed.lines().filter_map(|line| Some(line.split_once('=')?.0.to_owned())).collect())
}

fn print(_: &Faulty, _: &Call, input: Message) -> Result<(), CapabilityError> {
    println!("{}", input.message);
    Ok(())
}
