//! A value of any type, kept as its text.

use std::fmt;
use std::str::FromStr;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

/// Any JSON value, exactly: integers of a thousand digits, the order of an object's members, every digit of a float.
///
/// Use it where a capability takes or gives what it does not look into. Its schema accepts everything. It reads from
/// JSON text only: not inside `#[serde(flatten)]`, nor in an untagged or internally tagged enum.
///
/// ```
/// use codemode_plugin_api::Json;
///
/// let big: Json = "100000000000000000000000000000000000001".parse()?;
/// assert_eq!(big.text(), "100000000000000000000000000000000000001");
/// assert_eq!(Json::of(&vec![1, 2])?.read::<Vec<u8>>()?, [1, 2]);
/// # Ok::<(), codemode_plugin_api::CapabilityError>(())
/// ```
#[derive(Clone, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Json(Box<RawValue>);

impl Json {
    /// The value that `value` serialises to; fails as its serialisation does.
    pub fn of(value: &impl Serialize) -> Result<Self, serde_json::Error> {
        serde_json::value::to_raw_value(value).map(Self)
    }

    /// The value's JSON text.
    pub fn text(&self) -> &str {
        self.0.get()
    }

    /// The value's JSON text, to keep.
    pub fn into_text(self) -> Box<str> {
        self.0.into()
    }

    /// Reads the value as a type; fails where it is not of that type.
    pub fn read<T: DeserializeOwned>(&self) -> Result<T, serde_json::Error> {
        serde_json::from_str(self.text())
    }
}

/// Keeps a JSON text; fails where it is not one JSON value.
impl FromStr for Json {
    type Err = serde_json::Error;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        RawValue::from_string(text.to_owned()).map(Self)
    }
}

impl fmt::Debug for Json {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.text())
    }
}

impl fmt::Display for Json {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.text())
    }
}

impl From<serde_json::Value> for Json {
    fn from(value: serde_json::Value) -> Self {
        // Only keys that are no strings could fail, and there are none.
        Self(serde_json::value::to_raw_value(&value).unwrap_or_default())
    }
}

impl JsonSchema for Json {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Json".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        true.into()
    }
}
