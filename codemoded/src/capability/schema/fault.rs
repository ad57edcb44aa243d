//! Why a schema cannot be a capability's.

use super::diagnostic::Diagnostic;
use super::text::PatternError;

/// One fault of a schema. `at` is the JSON pointer of the subschema, empty for the whole.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum SchemaFault {
    #[error("schema: cannot be read: {0}")]
    Unreadable(String),
    #[error("schema at `{at}`: keyword `{keyword}` is not supported")]
    Unsupported { at: String, keyword: String },
    #[error("schema at `{at}`: keyword `{keyword}` must be {expected}")]
    Malformed { at: String, keyword: String, expected: &'static str },
    #[error("schema at `{at}`: a schema is an object or a boolean")]
    NoSchema { at: String },
    #[error(
        "schema at `{at}`: keyword `$ref` names `{reference}`, which is not in this schema, and nothing is fetched"
    )]
    Reference { at: String, reference: String },
    #[error("schema at `{at}`: keyword `$schema` names `{dialect}`, which is not supported")]
    Dialect { at: String, dialect: String },
    #[error("schema at `{at}`: keyword `pattern`: `{pattern}` cannot be used: {reason}")]
    Pattern { at: String, pattern: String, reason: PatternError },
    #[error("schema: the default of `{field}` does not fit")]
    Default {
        field: String,
        #[source]
        diagnostic: Diagnostic,
    },
    #[error("schema at `{at}`: subschemas are nested more than {} deep", super::scan::MAX_DEPTH)]
    TooDeep { at: String },
    #[error(
        "schema: more than {} values, or nested more than {} deep",
        super::scan::MAX_VALUES,
        super::scan::MAX_NESTING
    )]
    TooLarge,
    #[error(
        "schema: more than {} patterns, or more than {} large ones",
        super::scan::MAX_PATTERNS,
        super::scan::MAX_DEAR_PATTERNS
    )]
    TooManyPatterns,
    #[error("schema: its alternatives and combinations need more than {} rules", super::compile::MAX_NODES)]
    TooComplex,
    #[error("schema at `{at}`: references lead back here without ever going into the value")]
    Endless { at: String },
    #[error("schema: an input is an object, and this one can be none")]
    NoObject,
    #[error("schema at `{at}`: cannot be checked: {reason}")]
    Validator { at: String, reason: String },
}
