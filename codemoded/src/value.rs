//! The value that crosses every boundary: plugin to program, program to plugin, program to client, policy input.
//!
//! It is what JSON can say and nothing else, held exactly: integers to 1,000 digits, finite floats, valid Unicode,
//! maps in the order in which they were built. Bounds are enforced while a value is read, never afterwards.

mod int;
mod json;

pub use int::{Int, MAX_DIGITS, TooManyDigits};
pub use json::{JsonError, JsonFault, read};

use indexmap::IndexMap;

/// An object's members, in insertion order.
pub type Map = IndexMap<String, Value>;

/// One value. Equality is structural: `1` and `1.0` differ, and the order of a map's members does not matter.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    Null,
    Bool(bool),
    Int(Int),
    Float(Float),
    Str(String),
    List(Vec<Value>),
    Map(Map),
}

/// A float that JSON can carry: never NaN, never infinite.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub struct Float(f64);

/// How large one crossing value may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// Bytes of its JSON text.
    pub max_bytes: usize,
    /// Levels, inclusive; a scalar is 1.
    pub max_depth: usize,
}

impl Float {
    /// The float, or nothing where it is NaN or infinite.
    pub fn new(value: f64) -> Option<Self> {
        value.is_finite().then_some(Self(value))
    }

    pub fn get(self) -> f64 {
        self.0
    }
}

impl Value {
    /// Bytes of the compact JSON text.
    pub fn json_size(&self) -> usize {
        json::size(self)
    }

    /// The compact JSON text.
    pub fn to_json(&self) -> String {
        json::write(self)
    }

    /// Levels of nesting; a scalar is 1. Stops counting just past `limit`.
    pub fn depth_within(&self, limit: usize) -> bool {
        if limit == 0 {
            return false;
        }
        match self {
            Self::List(items) => items.iter().all(|item| item.depth_within(limit - 1)),
            Self::Map(members) => members.values().all(|member| member.depth_within(limit - 1)),
            Self::Null | Self::Bool(_) | Self::Int(_) | Self::Float(_) | Self::Str(_) => true,
        }
    }

    /// The same value for crates that speak `serde_json`. Built member by member, never parsed, so that no key of
    /// the value can be taken for one of `serde_json`'s private markers.
    pub fn to_serde(&self) -> serde_json::Value {
        use serde_json::Value as Json;
        match self {
            Self::Null => Json::Null,
            Self::Bool(value) => Json::Bool(*value),
            Self::Int(value) => Json::Number(value.to_number()),
            Self::Float(value) => Json::Number(json::float_number(*value)),
            Self::Str(value) => Json::String(value.clone()),
            Self::List(items) => Json::Array(items.iter().map(Self::to_serde).collect()),
            Self::Map(members) => {
                Json::Object(members.iter().map(|(key, value)| (key.clone(), value.to_serde())).collect())
            }
        }
    }

    /// The value of what `serde_json` holds; refused where a number is no finite float or has too many digits.
    pub fn from_serde(value: &serde_json::Value) -> Result<Self, JsonFault> {
        use serde_json::Value as Json;
        Ok(match value {
            Json::Null => Self::Null,
            Json::Bool(value) => Self::Bool(*value),
            Json::Number(number) => json::number(number.as_str())?,
            Json::String(text) => Self::Str(text.clone()),
            Json::Array(items) => Self::List(items.iter().map(Self::from_serde).collect::<Result<_, _>>()?),
            Json::Object(members) => Self::Map(
                members
                    .iter()
                    .map(|(key, member)| Ok((key.clone(), Self::from_serde(member)?)))
                    .collect::<Result<_, JsonFault>>()?,
            ),
        })
    }
}

impl From<bool> for Value {
    fn from(value: bool) -> Self {
        Self::Bool(value)
    }
}

impl From<i64> for Value {
    fn from(value: i64) -> Self {
        Self::Int(Int::from(value))
    }
}

impl From<&str> for Value {
    fn from(value: &str) -> Self {
        Self::Str(value.to_owned())
    }
}

impl From<String> for Value {
    fn from(value: String) -> Self {
        Self::Str(value)
    }
}

impl From<Vec<Value>> for Value {
    fn from(items: Vec<Value>) -> Self {
        Self::List(items)
    }
}

impl From<Map> for Value {
    fn from(members: Map) -> Self {
        Self::Map(members)
    }
}
