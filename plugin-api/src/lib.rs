#![doc = include_str!("../README.md")]

pub mod abi;
pub mod descriptor;
pub mod document;

mod call;
mod capabilities;
mod error;
#[doc(hidden)]
pub mod export;
mod instance;
mod json;
mod plugin;
mod schema;

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
