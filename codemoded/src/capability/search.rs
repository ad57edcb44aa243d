//! Discovery: which capabilities a few words of a task may mean, best first.
//!
//! The rules are plain on purpose, so that a plugin's author can foresee what a query finds: words match exactly or
//! by their beginning, most words of the query must match, and a match in the name counts most. There are no
//! synonyms; an author's search terms are the place for other words.
//!
//! An [`Index`] is built once per catalog. A query runs in two steps, for a policy may hide documents from a caller:
//! [`Index::matching`] says which documents match, each judged by itself alone, and [`Matches`] ranks those that
//! remain. Everything that compares documents, rarity of words included, is computed in the second step and only from
//! the documents that remain, so that a hidden one leaves no trace in order, count or text.

mod build;
mod index;
mod rank;
mod token;

#[cfg(test)]
mod labelled;
#[cfg(test)]
mod tests;

pub use index::{Document, Index};
pub use rank::Matches;

/// The most distinct words of one query.
pub const MAX_QUERY_TOKENS: usize = 16;

/// The most bytes of one answer as compact JSON.
pub const MAX_RESPONSE_BYTES: usize = 64 << 10;

/// The answer to one query.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct SearchResponse {
    pub results: Vec<SearchResult>,
    /// A bound left a match out.
    pub truncated: bool,
    /// How many matched.
    pub total: usize,
}

/// One capability as a search shows it.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct SearchResult {
    pub name: String,
    pub signature: String,
    pub summary: String,
}

impl SearchResponse {
    /// Bytes of the compact JSON around the results, at the least favourable value of `truncated`.
    pub fn frame_bytes(total: usize) -> usize {
        r#"{"results":[],"truncated":false,"total":}"#.len() + total.to_string().len()
    }
}
