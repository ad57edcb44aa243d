#![expect(unsafe_code, clippy::panic, reason = "what the interpreter's derives write")]
//! A text that prints as itself, in place of a value whose own print is inexact.

use std::fmt;

use allocative::Allocative;
use starlark::any::ProvidesStaticType;
use starlark::starlark_simple_value;
use starlark::values::{NoSerialize, StarlarkPagablePanic, StarlarkValue, starlark_value};

/// Lives only between a formatter's argument and its text.
#[derive(Debug, ProvidesStaticType, NoSerialize, StarlarkPagablePanic, Allocative)]
pub(super) struct Shown(String);

starlark_simple_value!(Shown);

impl Shown {
    pub(super) fn new(text: String) -> Self {
        Self(text)
    }
}

#[starlark_value(type = "shown")]
impl<'v> StarlarkValue<'v> for Shown {}

impl fmt::Display for Shown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
