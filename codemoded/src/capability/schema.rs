//! stub
use crate::value::Map;
#[derive(Debug)]
pub struct Input(serde_json::Value);
#[derive(Debug)]
pub struct Output;
pub type Diagnostic = String;
impl Input {
    pub fn compile(v: &serde_json::Value) -> Result<Self, ()> {
        Ok(Self(v.clone()))
    }
    pub fn bind(&self, m: Map) -> Result<Map, Diagnostic> {
        Ok(m)
    }
    pub fn source(&self) -> &serde_json::Value {
        &self.0
    }
}
