//! The free names of a program: the fixed language surface and the catalog's roots.

use std::os::unix::net::UnixStream;

use starlark::environment::{Globals, GlobalsBuilder, LibraryExtension};
use starlark_syntax::syntax::ast::AstStmt;

use super::context::Context;
use super::sight::Sight;
use super::{builtins, json, math, namespace, native};
use crate::worker::channel::Channel;
use crate::worker::manifest::Manifest;
use crate::worker::protocol::Budgets;

/// Touches what programs commonly touch. No name in it can be a capability's: where not every subject sees the same, a
/// worker asks the daemon about those, which is not there to answer.
const WARM_UP: &str = "\
def main():
    _warm_rows = [{\"n\": _warm_n, \"text\": str(_warm_n * 2)} for _warm_n in range(4)]
    _warm_kept = {}
    for _warm_row in _warm_rows:
        if _warm_row[\"n\"] % 2 == 0 and _warm_row.get(\"text\"):
            _warm_kept[_warm_row[\"text\"]] = _warm_row[\"n\"] + 1.5
    _warm_names = sorted(_warm_kept.keys(), key = lambda _warm_name: len(_warm_name))
    return {\"names\": \",\".join(_warm_names), \"sum\": sum(_warm_kept.values()), \"rows\": _warm_rows[:2]}
";

/// The language, ready for programs.
#[derive(Debug)]
pub struct Language {
    globals: Globals,
    catalog: Catalog,
}

/// Whose catalog it is.
#[derive(Debug)]
enum Catalog {
    /// The same for everybody; its roots are among the globals.
    Shared(&'static Sight),
    /// Each run's subject has its own part of it.
    Own(&'static Manifest<'static>),
}

/// What one program can name.
#[derive(Debug)]
pub(super) struct Names {
    pub(super) sight: &'static Sight,
    pub(super) globals: Globals,
}

impl Language {
    /// Builds the names that a program may use; `discovers` says that not every subject sees the same capabilities.
    pub fn prepare(manifest: &'static Manifest<'static>, discovers: bool) -> Self {
        match discovers {
            true => Self { globals: surface().build(), catalog: Catalog::Own(manifest) },
            false => {
                let Names { sight, globals } = Names::of(Sight::of_everything(manifest));
                Self { globals, catalog: Catalog::Shared(sight) }
            }
        }
    }

    /// The names that this program may use.
    pub(super) fn names(&self, program: &AstStmt, context: &Context) -> Names {
        match self.catalog {
            Catalog::Shared(sight) => Names { sight, globals: self.globals.clone() },
            Catalog::Own(manifest) => Names::of(Sight::of_program(manifest, program, context)),
        }
    }

    /// Runs a program that uses a little of everything, so that the first real one finds it all in place.
    pub fn warm_up(&self, budgets: Budgets) {
        let Ok((channel, _other_end)) = UnixStream::pair() else { return };
        let context = Context::new(Channel::new(channel), budgets);
        // Whatever it says, a program that fails has warmed up as much as it could.
        drop(super::run(self, &context, WARM_UP));
    }

    /// The free names that no capability's root may take.
    pub fn reserved_names() -> Vec<String> {
        let globals = surface().build();
        globals.names().map(|name| name.as_str().to_owned()).filter(|name| !name.starts_with('_')).collect()
    }
}

impl Names {
    fn of(sight: Sight) -> Self {
        // The interpreter's values outlive every borrow; a worker has one run, and ends with it.
        let sight = Box::leak(Box::new(sight));
        let mut globals = surface();
        namespace::add_roots(&mut globals, sight);
        Self { sight, globals: globals.build() }
    }

    /// All that is there, where these are only what a program mentions.
    pub(super) fn all(&self, context: &Context) -> Option<Self> {
        self.sight.wider(context).map(Self::of)
    }
}

fn surface() -> GlobalsBuilder {
    let mut globals =
        GlobalsBuilder::extended_by(&[LibraryExtension::Filter, LibraryExtension::Map, LibraryExtension::SetType]);
    builtins::functions(&mut globals);
    native::functions(&mut globals);
    globals.namespace("json", json::functions);
    globals.namespace("math", math::functions);
    globals
}
