//! A plugin that offers one name twice.
#![forbid(unsafe_code)]

use codemode_plugin_api::prelude::*;

struct Duplicate;

impl Plugin for Duplicate {
    type Settings = NoSettings;

    fn start(_: NoSettings, _: &Host) -> Result<Self, StartError> {
        Ok(Self)
    }

    fn capabilities(c: &mut Capabilities<Self>) {
        c.add("duplicate.name", number).summary("One.");
        c.add("duplicate.name", number).summary("Two.");
    }
}

fn number(_: &Duplicate, _: &Call, _: NoArguments) -> Result<u8, CapabilityError> {
    Ok(1)
}

export!(Duplicate);
