//! What a plugin and the daemon agree on, and what an author writes.
//!
#![doc = include_str!("../README.md")]
#![warn(missing_docs)]

pub mod abi;
pub mod descriptor;
pub mod document;

mod authenticate;
mod call;
mod capabilities;
mod error;
#[doc(hidden)]
pub mod export;
mod instance;
mod json;
mod plugin;
mod schema;

pub use authenticate::{Caller, Refusal, RequestHead};
pub use call::Call;
pub use capabilities::{AsyncHandler, Capabilities, Offered};
pub use error::CapabilityError;
pub use json::Json;
pub use plugin::{Host, NoArguments, NoSettings, Plugin, StartError};

/// Everything that a plugin's source needs, in one line.
///
/// The derives expand to paths of `serde` and `schemars`, so a plugin's `Cargo.toml` names those two as well.
pub mod prelude {
    pub use crate::export;
    pub use crate::{Call, Capabilities, CapabilityError, Host, Json, NoArguments, NoSettings, Plugin, StartError};
    pub use schemars::JsonSchema;
    pub use serde::{Deserialize, Serialize};
}

#[cfg(test)]
mod tests {
    /// The example is what the daemon's tests load and call.
    #[test]
    fn the_tutorial_shows_the_plugin_that_the_tests_load() {
        let tutorial = include_str!("../README.md");
        let plugin = include_str!("../examples/words.rs");
        assert!(tutorial.contains(&format!("```rust\n{plugin}```\n")), "README.md differs from examples/words.rs");
        assert!(plugin.lines().count() < 40);
    }
}
