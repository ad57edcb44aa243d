//! Rewrites the few places of a source whose meaning the interpreter gets wrong, and finds the way back from a
//! rewritten place to the place that its author wrote.
//!
//! Operators can be rewritten in the parsed program. What f-strings and `format` print cannot, nor can `x <<= n` and
//! `x %= n`, so those are edited in the text. No edit adds or removes a line.

use starlark::codemap::{Pos, Span};
use starlark::syntax::AstModule;
use starlark_syntax::syntax::ast::{Argument, AssignOp, AssignTarget, AstExpr, AstStmt, Expr, Stmt};
use starlark_syntax::syntax::uniplate::Visit;

use super::builtins::{PERCENT, SHIFT_LEFT, SHOWN, SHOWN_EACH};

/// One edit: the bytes from `start` to `end` become `text`.
#[derive(Debug, PartialEq, Eq)]
struct Edit {
    start: usize,
    end: usize,
    text: String,
}

/// A source as its author wrote it, and the edits that the interpreter needs.
#[derive(Debug)]
pub(super) struct Source {
    written: String,
    /// In ascending order of place.
    edits: Vec<Edit>,
}

/// An augmented assignment that cannot be rewritten without evaluating its target twice.
#[derive(Debug)]
pub(super) struct Refused {
    pub(super) span: Span,
    pub(super) mend: &'static str,
}

/// Line and column, both from 1; columns count characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) line: usize,
    pub(super) column: usize,
}

impl Place {
    /// Where a fault of the whole source is shown.
    pub(super) const START: Self = Self { line: 1, column: 1 };
}

impl Source {
    /// A source that needs no edit.
    pub(super) fn plain(written: &str) -> Self {
        Self { written: written.to_owned(), edits: Vec::new() }
    }

    /// Finds what must be edited; `is_root` tells the names under which capabilities live.
    pub(super) fn plan(written: &str, ast: &AstModule, is_root: &dyn Fn(&str) -> bool) -> Result<Self, Refused> {
        let mut planner = Planner { edits: Vec::new(), refused: None, is_root };
        planner.statement(ast.statement());
        planner.edits.sort_by_key(|edit| edit.start);
        match planner.refused {
            Some(refused) => Err(refused),
            None => Ok(Self { written: written.to_owned(), edits: planner.edits }),
        }
    }

    pub(super) fn is_edited(&self) -> bool {
        !self.edits.is_empty()
    }

    /// What the interpreter reads.
    pub(super) fn edited(&self) -> String {
        let mut out = String::with_capacity(self.written.len() + self.edits.len() * 16);
        let mut done = 0;
        for edit in &self.edits {
            out.push_str(self.written.get(done..edit.start).unwrap_or_default());
            out.push_str(&edit.text);
            done = edit.end;
        }
        out.push_str(self.written.get(done..).unwrap_or_default());
        out
    }

    /// Where the author wrote what a span of the edited text stands for.
    pub(super) fn place(&self, span: Span) -> Place {
        let before = self.written.get(..self.written_offset(span.begin().get() as usize)).unwrap_or(&self.written);
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        let line = before.bytes().filter(|byte| *byte == b'\n').count() + 1;
        Place { line, column: before.get(line_start..).unwrap_or_default().chars().count() + 1 }
    }

    fn written_offset(&self, edited: usize) -> usize {
        // How far the edits so far have moved what follows them to the right.
        let mut added = 0;
        let mut removed = 0;
        for edit in &self.edits {
            let start = edit.start + added - removed;
            if edited < start {
                break;
            }
            if edited < start + edit.text.len() {
                return edit.start;
            }
            added += edit.text.len();
            removed += edit.end - edit.start;
        }
        edited + removed - added
    }
}

struct Planner<'a> {
    edits: Vec<Edit>,
    refused: Option<Refused>,
    is_root: &'a dyn Fn(&str) -> bool,
}

impl Planner<'_> {
    fn statement(&mut self, statement: &AstStmt) {
        if let Stmt::AssignModify(target, operator, value) = &statement.node {
            self.assignment(statement.span, &target.node, target.span, *operator, value);
        }
        statement.node.visit_children(|child| match child {
            Visit::Stmt(inner) => self.statement(inner),
            Visit::Expr(inner) => self.expression(inner),
        });
    }

    fn assignment(
        &mut self,
        whole: Span,
        target: &AssignTarget,
        target_span: Span,
        operator: AssignOp,
        value: &AstExpr,
    ) {
        let (function, mend) = match operator {
            AssignOp::LeftShift => (SHIFT_LEFT, "`<<=` works on a plain name only; write `x = x << n` in full"),
            AssignOp::Percent => (PERCENT, "`%=` works on a plain name only; write `x = x % n` in full"),
            AssignOp::Add
            | AssignOp::Subtract
            | AssignOp::Multiply
            | AssignOp::Divide
            | AssignOp::FloorDivide
            | AssignOp::BitAnd
            | AssignOp::BitOr
            | AssignOp::BitXor
            | AssignOp::RightShift => return,
        };
        match target {
            AssignTarget::Identifier(name) => {
                let text = format!(" = {function}({}, ", name.node.ident);
                self.edit(target_span.end(), value.span.begin(), text);
                self.edit(value.span.end(), value.span.end(), ")".to_owned());
            }
            AssignTarget::Tuple(_) | AssignTarget::Index(_) | AssignTarget::Dot(..) => {
                self.refused.get_or_insert(Refused { span: whole, mend });
            }
        }
    }

    fn expression(&mut self, expression: &AstExpr) {
        match &expression.node {
            Expr::FString(text) => {
                for part in &text.node.expressions {
                    self.wrap(part.span, SHOWN);
                }
            }
            Expr::Call(callee, arguments) if self.is_format(callee) => {
                for argument in &arguments.args {
                    match &argument.node {
                        Argument::Positional(value) | Argument::Named(_, value) => self.wrap(value.span, SHOWN),
                        Argument::Args(value) | Argument::KwArgs(value) => self.wrap(value.span, SHOWN_EACH),
                    }
                }
            }
            _ => {}
        }
        expression.node.visit_expr(|inner| self.expression(inner));
    }

    /// Whether this is some value's `format`, and no capability of that name.
    fn is_format(&self, callee: &AstExpr) -> bool {
        let Expr::Dot(receiver, method) = &callee.node else { return false };
        let mut root = receiver;
        while let Expr::Dot(inner, _) = &root.node {
            root = inner;
        }
        let is_capability = matches!(&root.node, Expr::Identifier(name) if (self.is_root)(&name.node.ident));
        method.node == "format" && !is_capability
    }

    fn wrap(&mut self, span: Span, function: &str) {
        self.edit(span.begin(), span.begin(), format!("{function}("));
        self.edit(span.end(), span.end(), ")".to_owned());
    }

    fn edit(&mut self, start: Pos, end: Pos, text: String) {
        self.edits.push(Edit { start: start.get() as usize, end: end.get() as usize, text });
    }
}
