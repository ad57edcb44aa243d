//! The free names of a program: the fixed language surface and the catalog's roots.

use starlark::environment::{Globals, GlobalsBuilder, LibraryExtension, Module};
use starlark::eval::Evaluator;

use super::{builtins, json, math, namespace, native};
use crate::worker::manifest::Manifest;

/// The language, ready for programs.
#[derive(Debug)]
pub struct Language {
    globals: Globals,
    manifest: &'static Manifest<'static>,
}

impl Language {
    /// Builds the names that a program may use.
    pub fn prepare(manifest: &'static Manifest<'static>) -> Self {
        let mut globals = surface();
        namespace::add_roots(&mut globals, manifest);
        Self { globals: globals.build(), manifest }
    }

    /// Runs a small program, so that the first real one finds everything in place.
    pub fn warm_up(&self) {
        let source = "def main():\n    return [str(x) for x in range(2)]\n";
        if let Ok(checked) = super::check::parse(source, &|_| false) {
            Module::with_temp_heap(|module| {
                let mut evaluator = Evaluator::new(&module);
                drop(evaluator.eval_module(checked.ast, &self.globals));
                if let Some(main) = module.get("main") {
                    drop(evaluator.eval_function(main, &[], &[]));
                }
            });
        }
    }

    /// The free names that no capability's root may take.
    pub fn reserved_names() -> Vec<String> {
        let globals = surface().build();
        globals.names().map(|name| name.as_str().to_owned()).filter(|name| !name.starts_with('_')).collect()
    }

    /// Whether capabilities live under this name.
    pub(super) fn is_root(&self, name: &str) -> bool {
        self.manifest.is_namespace(name)
    }

    pub(super) fn globals(&self) -> &Globals {
        &self.globals
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
