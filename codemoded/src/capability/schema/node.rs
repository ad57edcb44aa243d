//! The compiled law of one place in a value: everything that must hold there, with all `$ref`s and `allOf`s already
//! joined. Nodes refer to each other by number, so that a recursive schema is a cycle of numbers.

use std::collections::HashSet;

use indexmap::IndexMap;

use super::number::{Bound, identity};
use super::residue::ResidueId;
use super::text::{Format, Pattern};
use crate::value::Value;

/// A node's number in its schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct NodeId(pub(super) u32);

/// Everything that must hold at one place.
#[derive(Debug, Default)]
pub(super) struct Node {
    pub(super) about: About,
    pub(super) types: Types,
    /// An integer becomes a float here.
    pub(super) floats: bool,
    /// The only values allowed.
    pub(super) values: Option<Vec<Value>>,
    pub(super) number: NumberRules,
    pub(super) text: TextRules,
    pub(super) list: ListRules,
    pub(super) map: MapRules,
    /// The alternatives, each a complete law of its own that includes this one.
    pub(super) choice: Option<Choice>,
    pub(super) residues: Vec<ResidueId>,
}

/// What an author says about a place; binds nothing, except that an omitted field takes its default.
#[derive(Debug, Default)]
pub(super) struct About {
    pub(super) description: Option<String>,
    pub(super) default: Option<Value>,
    pub(super) examples: Vec<Value>,
}

#[derive(Debug, Default)]
pub(super) struct NumberRules {
    pub(super) min: Option<Bound>,
    pub(super) max: Option<Bound>,
    pub(super) multiples: Vec<Value>,
    /// An `int64` field: what does not fit overflows.
    pub(super) int64: bool,
}

#[derive(Debug, Default)]
pub(super) struct TextRules {
    pub(super) min_chars: Option<u64>,
    pub(super) max_chars: Option<u64>,
    pub(super) patterns: Vec<Pattern>,
    pub(super) formats: Vec<Format>,
}

#[derive(Debug, Default)]
pub(super) struct ListRules {
    /// The first items, each with its own law.
    pub(super) prefix: Vec<NodeId>,
    /// All items after those.
    pub(super) rest: Option<NodeId>,
    pub(super) min_items: Option<u64>,
    pub(super) max_items: Option<u64>,
    pub(super) unique: bool,
}

#[derive(Debug, Default)]
pub(super) struct MapRules {
    pub(super) properties: IndexMap<String, Property>,
    /// One group for each schema that speaks about other names; all of them apply.
    pub(super) extras: Vec<Extra>,
    /// What every name must be.
    pub(super) names: Vec<NodeId>,
    pub(super) min_entries: Option<u64>,
    pub(super) max_entries: Option<u64>,
}

/// A named member of an object.
#[derive(Debug)]
pub(super) struct Property {
    pub(super) node: NodeId,
    pub(super) required: bool,
    /// Listed under `properties`; a name that is only required is not.
    pub(super) declared: bool,
    /// What an omitted member becomes.
    pub(super) default: Option<Value>,
}

/// What one schema says about names that are not declared.
#[derive(Debug)]
pub(super) struct Extra {
    pub(super) patterns: Vec<(Pattern, NodeId)>,
    /// For a name that no pattern matches.
    pub(super) rest: Option<NodeId>,
}

#[derive(Debug)]
pub(super) struct Choice {
    pub(super) exactly_one: bool,
    pub(super) variants: Vec<NodeId>,
}

/// A set of JSON types, with `number` split into integers and other numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Types(u8);

impl Types {
    pub const NONE: Self = Self(0);
    pub const NULL: Self = Self(1);
    pub const BOOL: Self = Self(2);
    pub const INT: Self = Self(4);
    pub const FLOAT: Self = Self(8);
    pub const STR: Self = Self(16);
    pub const LIST: Self = Self(32);
    pub const MAP: Self = Self(64);
    pub const ALL: Self = Self(127);

    pub fn of(value: &Value) -> Self {
        match value {
            Value::Null => Self::NULL,
            Value::Bool(_) => Self::BOOL,
            Value::Int(_) => Self::INT,
            Value::Float(_) => Self::FLOAT,
            Value::Str(_) => Self::STR,
            Value::List(_) => Self::LIST,
            Value::Map(_) => Self::MAP,
        }
    }

    pub fn and(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    pub const fn or(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    pub fn has(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    pub fn is_empty(self) -> bool {
        self == Self::NONE
    }

    /// In words, `None` last.
    pub(super) fn in_words(self) -> Vec<String> {
        let number = if self.has(Self::FLOAT) { "a number" } else { "an integer" };
        let words = [
            (Self::STR, "a string"),
            (Self::BOOL, "a boolean"),
            (Self::INT, number),
            (Self::LIST, "a list"),
            (Self::MAP, "a dict"),
            (Self::NULL, "None"),
        ];
        words.iter().filter(|(kind, _)| self.has(*kind)).map(|(_, word)| (*word).to_owned()).collect()
    }
}

impl Default for Types {
    fn default() -> Self {
        Self::ALL
    }
}

impl Node {
    /// The law that nothing meets.
    pub(super) fn never() -> Self {
        Self { types: Types::NONE, ..Self::default() }
    }

    pub(super) fn is_never(&self) -> bool {
        self.types.is_empty() || self.values.as_ref().is_some_and(Vec::is_empty)
    }

    /// Narrows the allowed values to those in both lists.
    pub(super) fn allow_only(&mut self, values: Vec<Value>) {
        self.values = Some(match self.values.take() {
            Some(known) => {
                let identities: HashSet<String> = values.iter().map(identity).collect();
                known.into_iter().filter(|value| identities.contains(&identity(value))).collect()
            }
            None => values,
        });
    }
}
