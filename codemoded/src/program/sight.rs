//! Which part of the catalog is there for this run's subject.
//!
//! Without a discover decision that is all of it, and nothing is asked. With one, the daemon is asked before the
//! program runs, once about each capability that the program names; where the text does not settle which one it
//! means, about all under that root. Nothing is kept beyond the run.

use std::collections::BTreeSet;
use std::ops::Range;

use starlark_syntax::syntax::ast::{AstExpr, AstStmt, Expr};

use super::context::Context;
use crate::worker::manifest::{Entry, Manifest};
use crate::worker::protocol::Numbers;

/// Ranges that one frame asks about.
const MAX_RANGES: usize = 256;

/// What a program can see of the catalog.
#[derive(Debug)]
pub(super) struct Sight {
    manifest: &'static Manifest<'static>,
    /// Per capability, in the order of their numbers, whether it is there, as far as that has been asked; nothing
    /// where everything is there for everybody.
    answers: Option<Vec<Option<bool>>>,
}

impl Sight {
    /// Sees everything.
    pub(super) fn of_everything(manifest: &'static Manifest<'static>) -> Self {
        Self { manifest, answers: None }
    }

    /// Sees what the program names and its subject may see.
    pub(super) fn of_program(manifest: &'static Manifest<'static>, program: &AstStmt, context: &Context) -> Self {
        let mut sight = Self { manifest, answers: Some(vec![None; manifest.len()]) };
        let mentions = Mentions::of(program, manifest);
        let named = mentions.capabilities.iter().map(|(_, number)| *number as usize..*number as usize + 1);
        sight.ask(named, context);
        // An error would name what else is there.
        let missed = mentions.capabilities.iter().filter(|(_, number)| !sight.shows(*number)).map(|(root, _)| *root);
        let roots: BTreeSet<_> = mentions.roots.iter().copied().chain(missed).collect();
        sight.ask(roots.into_iter().map(|root| manifest.below(root)), context);
        sight
    }

    /// Sees all that its subject may see; nothing where this one does already.
    pub(super) fn wider(&self, context: &Context) -> Option<Self> {
        let answers = self.answers.clone().filter(|answers| answers.contains(&None))?;
        let mut wider = Self { manifest: self.manifest, answers: Some(answers) };
        wider.ask(std::iter::once(0..self.manifest.len()), context);
        Some(wider)
    }

    /// The capability of that exact name.
    pub(super) fn find(&self, name: &str) -> Option<Entry<'static>> {
        self.manifest.find(name).filter(|entry| self.shows(entry.number))
    }

    /// Whether some capability's name starts with these segments and goes on.
    pub(super) fn is_namespace(&self, prefix: &str) -> bool {
        match self.answers {
            None => self.manifest.is_namespace(prefix),
            Some(_) => self.manifest.below(prefix).any(|number| self.shows_at(number)),
        }
    }

    /// The distinct next segments below a prefix, in order; the roots where the prefix is empty.
    pub(super) fn segments(&self, prefix: &str) -> Vec<&'static str> {
        let mut segments = self.manifest.segments(prefix);
        if self.answers.is_some() {
            let join =
                |segment: &str| if prefix.is_empty() { segment.to_owned() } else { format!("{prefix}.{segment}") };
            segments.retain(|segment| {
                let name = join(segment);
                self.find(&name).is_some() || self.is_namespace(&name)
            });
        }
        segments
    }

    fn shows(&self, number: u32) -> bool {
        self.shows_at(number as usize)
    }

    fn shows_at(&self, number: usize) -> bool {
        match &self.answers {
            None => true,
            Some(answers) => answers.get(number).copied().flatten().unwrap_or(false),
        }
    }

    /// Asks about those of the numbers that have not been asked about before.
    fn ask(&mut self, numbers: impl IntoIterator<Item = Range<usize>>, context: &Context) {
        let Some(answers) = &mut self.answers else { return };
        let is_new = |number: &usize| answers.get(*number).is_some_and(Option::is_none);
        let new: Vec<usize> = numbers.into_iter().flatten().filter(is_new).collect();
        let ranges: Vec<Numbers> = joined(&new);
        for ranges in ranges.chunks(MAX_RANGES) {
            let asked = ranges.iter().flat_map(Numbers::iter);
            for (number, shown) in asked.zip(context.ask(ranges.to_vec())) {
                if let Some(answer) = answers.get_mut(number as usize) {
                    *answer = Some(shown);
                }
            }
        }
    }
}

/// The capabilities and roots that a program names.
#[derive(Default)]
struct Mentions<'p> {
    /// Each with its root.
    capabilities: BTreeSet<(&'p str, u32)>,
    /// Roots under which the text does not settle what is meant.
    roots: BTreeSet<&'p str>,
}

impl<'p> Mentions<'p> {
    fn of(program: &'p AstStmt, manifest: &Manifest<'_>) -> Self {
        let mut mentions = Self::default();
        program.node.visit_expr(|expression| mentions.expression(expression, manifest));
        mentions
    }

    fn expression(&mut self, expression: &'p AstExpr, manifest: &Manifest<'_>) {
        let mut segments = Vec::new();
        let mut next = expression;
        while let Expr::Dot(object, segment) = &next.node {
            segments.push(segment.node.as_str());
            next = object;
        }
        match &next.node {
            Expr::Identifier(root) => self.path(&root.node.ident, segments.iter().rev(), manifest),
            other => other.visit_expr(|inner| self.expression(inner, manifest)),
        }
    }

    fn path<'s>(&mut self, root: &'p str, segments: impl Iterator<Item = &'s &'s str>, manifest: &Manifest<'_>) {
        let mut name = root.to_owned();
        for segment in segments {
            name = format!("{name}.{segment}");
            if let Some(entry) = manifest.find(&name) {
                self.capabilities.insert((root, entry.number));
                return;
            }
        }
        if manifest.is_namespace(root) {
            self.roots.insert(root);
        }
    }
}

/// The numbers, which are in ascending order, as ranges.
fn joined(numbers: &[usize]) -> Vec<Numbers> {
    let next_to_each_other = |one: &usize, next: &usize| one + 1 == *next;
    let runs = numbers.chunk_by(next_to_each_other);
    runs.filter_map(|run| {
        Some(Numbers { first: u32::try_from(*run.first()?).ok()?, count: u32::try_from(run.len()).ok()? })
    })
    .collect()
}
