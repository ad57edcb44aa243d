//! A plugin that panics while it is asked what it offers.
#![forbid(unsafe_code)]

use codemode_plugin_api::prelude::*;

struct Speechless;

impl Plugin for Speechless {
    type Settings = NoSettings;

    fn start(_: NoSettings, _: &Host) -> Result<Self, StartError> {
        Ok(Self)
    }

    #[expect(clippy::panic, reason = "on request")]
    fn capabilities(_: &mut Capabilities<Self>) {
        panic!("asked to panic in the description");
    }
}

export!(Speechless);
