//! What can be said of a program before it runs: that it parses, and that it has an entry point.

use std::collections::HashMap;

use starlark::codemap::Span;
use starlark::syntax::AstModule;
use starlark_syntax::syntax::ast::{AssignOp, AstStmt, Stmt};

use super::builtins::SHIFT_LEFT;
use super::dialect::DIALECT;
use super::fault::{SOURCE_NAME, invalid_program, no_main};
use crate::worker::protocol::Claim;

/// Parses a program and rewrites what the interpreter would compute wrongly.
pub(super) fn parse(source: &str) -> Result<AstModule, Claim> {
    let parsed = AstModule::parse(SOURCE_NAME, source.to_owned(), &DIALECT);
    let mut ast =
        parsed.map_err(|error| invalid_program(error.span(), &error.without_diagnostic().to_string()))?;
    let refuse = |span: Span, message: &str| Err(invalid_program(Some(&ast.file_span(span)), message));
    if let Some(span) = shift_assignment(ast.statement()) {
        return refuse(span, "`x <<= n` is not supported; write `x = x << n`");
    }
    match entry_point(ast.statement()) {
        EntryPoint::Sound => {}
        EntryPoint::Missing => return Err(no_main()),
        EntryPoint::Parameters(span) => return refuse(span, "main takes no parameters; write `def main():`"),
    }
    ast.replace_binary_operators(&HashMap::from([("<<".to_owned(), SHIFT_LEFT.to_owned())]));
    Ok(ast)
}

enum EntryPoint {
    Sound,
    Missing,
    Parameters(Span),
}

fn entry_point(statement: &AstStmt) -> EntryPoint {
    match &statement.node {
        Stmt::Def(def) if def.name.node.ident == "main" => match def.params.is_empty() {
            true => EntryPoint::Sound,
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

fn shift_assignment(statement: &AstStmt) -> Option<Span> {
    if let Stmt::AssignModify(_, AssignOp::LeftShift, _) = &statement.node {
        return Some(statement.span);
    }
    let mut found = None;
    statement.visit_stmt(|inner| found = found.or_else(|| shift_assignment(inner)));
    found
}
