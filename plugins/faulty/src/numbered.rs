//! Any number of capabilities that do next to nothing, for measuring what the size of a catalog costs.

use codemode_plugin_api::prelude::*;

use crate::Faulty;

/// How many there are, instead of everything else; a library describes itself before it has any settings.
const VARIABLE: &str = "CODEMODE_FAULTY_NUMBERED";

/// The wanted number of them; nothing where the variable is not set.
pub(crate) fn wanted() -> Option<u32> {
    std::env::var(VARIABLE).ok()?.parse().ok()
}

pub(crate) fn offer(c: &mut Capabilities<Faulty>, count: u32) {
    for number in 0..count {
        c.add(&format!("faulty.numbered.n{number}"), same)
            .summary(&format!("Give back the number, as capability {number} of many."))
            .read_only();
    }
}

#[derive(Deserialize, JsonSchema)]
struct Number {
    /// The number to give back.
    value: i64,
}

fn same(_: &Faulty, _: &Call, input: Number) -> Result<i64, CapabilityError> {
    Ok(input.value)
}
