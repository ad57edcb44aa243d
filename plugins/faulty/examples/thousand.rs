//! A plugin of a thousand capabilities.
#![forbid(unsafe_code)]

#[path = "cloud/capabilities.rs"]
mod cloud;
#[path = "untyped/offer.rs"]
mod untyped;

use codemode_plugin_api::prelude::*;

struct Thousand;

impl Plugin for Thousand {
    type Settings = NoSettings;

    fn start(_: NoSettings, _: &Host) -> Result<Self, StartError> {
        Ok(Self)
    }

    fn capabilities(c: &mut Capabilities<Self>) {
        cloud::offer(c, 1_000);
    }
}

export!(Thousand);
