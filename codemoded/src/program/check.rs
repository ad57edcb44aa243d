//! What can be said of a program before it runs: that it parses, and that it has an entry point.

use std::collections::HashMap;

use starlark::codemap::Span;
use starlark::syntax::AstModule;
use starlark_syntax::syntax::ast::{AstStmt, Stmt};

use super::builtins::{DIVIDE, PERCENT, SHIFT_LEFT};
use super::dialect::DIALECT;
use super::fault::{SOURCE_NAME, invalid_program, no_main};
use super::fstring;
use super::hints::{explained, explained_at};
use super::rewrite::Source;
use crate::position::Position;
use crate::worker::protocol::Claim;

/// A program as its author wrote it.
pub(super) struct Parsed {
    pub(super) ast: AstModule,
    pub(super) source: Source,
    /// Where `main` is defined.
    main: Position,
}

/// A program that can be run.
pub(super) struct Checked {
    pub(super) ast: AstModule,
    pub(super) source: Source,
    /// Where `main` is defined.
    pub(super) main: Position,
}

/// Parses a program.
pub(super) fn parse(written: &str) -> Result<Parsed, Claim> {
    let covered = fstring::cover(written)
        .map_err(|(at, failure)| invalid_program(Position::of(written, at), &failure.to_string()))?;
    let source = Source::plain(written, covered.fields, covered.brackets);
    let ast = parse_text(covered.text, &source)?;
    let main = match entry_point(ast.statement()) {
        EntryPoint::Sound(span) => source.place(span),
        EntryPoint::Missing => return Err(no_main()),
        EntryPoint::Parameters(span) => {
            return Err(invalid_program(source.place(span), "main takes no parameters; write `def main():`"));
        }
    };
    Ok(Parsed { ast, source, main })
}

impl Parsed {
    /// Rewrites what the interpreter would compute wrongly.
    pub(super) fn rewrite(self) -> Result<Checked, Claim> {
        let Self { ast, source: plain, main } = self;
        let source = plain.plan(&ast).map_err(|refused| invalid_program(plain.place(refused.span), refused.mend))?;
        let mut ast = if source.is_edited() { parse_text(source.edited(), &source)? } else { ast };
        ast.replace_binary_operators(&HashMap::from([
            ("<<".to_owned(), SHIFT_LEFT.to_owned()),
            ("%".to_owned(), PERCENT.to_owned()),
            ("/".to_owned(), DIVIDE.to_owned()),
        ]));
        Ok(Checked { ast, source, main })
    }
}

fn parse_text(text: String, source: &Source) -> Result<AstModule, Claim> {
    AstModule::parse(SOURCE_NAME, text, &DIALECT).map_err(|error| {
        let message = error.without_diagnostic().to_string();
        let Some(span) = error.span() else { return invalid_program(Position::START, &explained(&message)) };
        let (before, at) = source.around(span.span);
        invalid_program(source.place(span.span), &explained_at(&message, before, at))
    })
}

enum EntryPoint {
    Sound(Span),
    Missing,
    Parameters(Span),
}

fn entry_point(statement: &AstStmt) -> EntryPoint {
    match &statement.node {
        Stmt::Def(def) if def.name.node.ident == "main" => match def.params.is_empty() {
            true => EntryPoint::Sound(def.name.span),
            false => EntryPoint::Parameters(def.signature_span()),
        },
        Stmt::Statements(statements) => {
            // The last definition is the one that counts.
            let mut found = statements.iter().rev().map(entry_point);
            found.find(|entry| !matches!(entry, EntryPoint::Missing)).unwrap_or(EntryPoint::Missing)
        }
        Stmt::Break
        | Stmt::Continue
        | Stmt::Pass
        | Stmt::Return(_)
        | Stmt::Expression(_)
        | Stmt::Assign(_)
        | Stmt::AssignModify(..)
        | Stmt::If(..)
        | Stmt::IfElse(..)
        | Stmt::For(_)
        | Stmt::Def(_)
        | Stmt::Load(_) => EntryPoint::Missing,
    }
}
