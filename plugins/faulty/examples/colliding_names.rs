//! A plugin whose names collide: with a built-in of the language, with a namespace, and with the form of a name.
#![forbid(unsafe_code)]

use codemode_plugin_api::prelude::*;

struct Colliding;

impl Plugin for Colliding {
    type Settings = NoSettings;

    fn start(_: NoSettings, _: &Host) -> Result<Self, StartError> {
        Ok(Self)
    }

    fn capabilities(c: &mut Capabilities<Self>) {
        c.add("json.parse", number).summary("Collides with a free name of every program.");
        c.add("colliding.name", number).summary("Is also a namespace.");
        c.add("colliding.name.inner", number).summary("Is inside a capability.");
        c.add("alone", number).summary("Has one segment.");
        c.add("colliding.while", number).summary("Has a reserved word.");
    }
}

fn number(_: &Colliding, _: &Call, _: NoArguments) -> Result<u8, CapabilityError> {
    Ok(1)
}

export!(Colliding);
