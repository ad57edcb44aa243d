//! One immutable build of catalog and limits, and the handle that gives the current one.

use std::sync::Arc;

use crate::failure::Failure;
use crate::limits::Limits;

/// Everything that a run keeps from its first to its last moment.
#[derive(Debug)]
pub struct Generation {
    pub catalog: Catalog,
    pub limits: Limits,
}

/// Gives the generation that serves now.
#[derive(Clone, Debug)]
pub struct Current(Arc<Generation>);

/// What can be found, described and called.
#[derive(Debug, Default)]
pub struct Catalog {
    names: Vec<String>,
}

#[derive(Debug, serde::Serialize)]
pub struct SearchResponse {
    pub results: Vec<String>,
    pub truncated: bool,
    pub total: usize,
}

#[derive(Debug, serde::Serialize)]
pub struct Description {
    pub name: String,
}

impl Current {
    pub fn new(generation: Generation) -> Self {
        Self(Arc::new(generation))
    }

    pub fn get(&self) -> Arc<Generation> {
        Arc::clone(&self.0)
    }
}

impl Catalog {
    pub fn new(names: &[&str]) -> Self {
        Self { names: names.iter().map(|name| (*name).to_owned()).collect() }
    }

    pub fn get(&self, name: &str) -> Option<&String> {
        self.names.iter().find(|known| *known == name)
    }

    pub fn search(
        &self,
        query: &str,
        _: &Limits,
        visible: impl FnOnce(&[&String]) -> Vec<bool>,
    ) -> Result<SearchResponse, Failure> {
        let found: Vec<&String> = self.names.iter().filter(|name| name.contains(query)).collect();
        let visible = visible(&found);
        let shown = found.iter().zip(visible).filter(|(_, visible)| *visible);
        let results: Vec<String> = shown.map(|(name, _)| (*name).clone()).collect();
        Ok(SearchResponse { total: results.len(), truncated: false, results })
    }

    pub fn describe(&self, name: &str) -> Option<Description> {
        self.get(name).map(|name| Description { name: name.clone() })
    }
}
