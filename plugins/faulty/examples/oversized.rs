//! A plugin whose only capability has more of everything than a capability may have.
#![forbid(unsafe_code)]

use codemode_plugin_api::prelude::*;

struct Oversized;

impl Plugin for Oversized {
    type Settings = NoSettings;

    fn start(_: NoSettings, _: &Host) -> Result<Self, StartError> {
        Ok(Self)
    }

    fn capabilities(c: &mut Capabilities<Self>) {
        c.add("oversized.all", number)
            .summary(&"long ".repeat(300))
            .description(&"long ".repeat(4_000))
            .terms((0..17).map(|number| format!("{number}-{}", "x".repeat(80))));
    }
}

fn number(_: &Oversized, _: &Call, _: NoArguments) -> Result<u8, CapabilityError> {
    Ok(1)
}

export!(Oversized);
