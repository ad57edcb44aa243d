//! A plugin of as many capabilities as a catalog may have.
#![forbid(unsafe_code)]

#[path = "cloud/capabilities.rs"]
mod cloud;
#[path = "untyped/offer.rs"]
mod untyped;

use codemode_plugin_api::prelude::*;

struct Many;

impl Plugin for Many {
    type Settings = NoSettings;

    fn start(_: NoSettings, _: &Host) -> Result<Self, StartError> {
        Ok(Self)
    }

    fn capabilities(c: &mut Capabilities<Self>) {
        cloud::offer(c, cloud::MOST);
    }
}

export!(Many);
