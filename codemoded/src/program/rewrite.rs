//! Rewrites the few places of a source whose meaning the interpreter gets wrong, and finds the way back from a
//! rewritten place to the place that its author wrote.
//!
//! Operators can be rewritten in the parsed program. What f-strings print cannot, nor can a few methods,
//! `x <<= n` and `x %= n`, so those are edited in the text. No edit adds or removes a line.

use starlark::codemap::{Pos, Span};
use starlark::syntax::AstModule;
use starlark_syntax::syntax::ast::{
    AssignOp, AssignTarget, AstAssignTarget, AstExpr, AstStmt, AstString, BinOp, Expr, Stmt,
};
use starlark_syntax::syntax::uniplate::Visit;

use super::brackets::Brackets;
use super::builtins::{ATTRIBUTE, DIVIDE, FORMATTED, PERCENT, SHIFT_LEFT, SHOWN, SHOWN_AS_WRITTEN};
use super::fstring::Field;
use super::methods::MENDED;
use crate::position::Position;

/// The functions that Python has for types, and this language for conversions.
const TYPES: [&str; 9] = ["bool", "bytes", "dict", "float", "int", "list", "set", "str", "tuple"];

const TYPE_TEST: &str = "`type(x)` is a string; compare it with \"int\", \"float\", \"string\", \"bool\", \"list\", \
                         \"dict\", \"tuple\" or \"NoneType\"";

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
    /// The format specifications of its f-strings.
    fields: Vec<Field>,
    brackets: Brackets,
}

/// An augmented assignment that cannot be rewritten without evaluating its target twice, or a test that is never true.
#[derive(Debug)]
pub(super) struct Refused {
    pub(super) span: Span,
    pub(super) mend: &'static str,
}

impl Source {
    /// A source that needs no edit.
    pub(super) fn plain(written: &str, fields: Vec<Field>, brackets: Brackets) -> Self {
        Self { written: written.to_owned(), edits: Vec::new(), fields, brackets }
    }

    /// Finds what must be edited.
    pub(super) fn plan(&self, ast: &AstModule) -> Result<Self, Refused> {
        let Self { written, fields, brackets, .. } = self;
        let mut planner = Planner { written, fields, brackets, edits: Vec::new(), refused: None };
        planner.statement(ast.statement());
        let Planner { mut edits, refused, .. } = planner;
        edits.sort_by_key(|edit| edit.start);
        match refused {
            Some(refused) => Err(refused),
            None => Ok(Self { edits, written: written.clone(), fields: fields.clone(), brackets: brackets.clone() }),
        }
    }

    /// The format specification that a rewritten f-string knows by this number.
    pub(super) fn spec(&self, number: usize) -> Option<&str> {
        self.fields.get(number).map(|field| field.spec.as_str())
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

    /// What the author wrote before, and from, the place that a span of the edited text stands for.
    pub(super) fn around(&self, span: Span) -> (&str, &str) {
        let offset = self.written_offset(span.begin().get() as usize);
        self.written.split_at_checked(offset).unwrap_or((&self.written, ""))
    }

    /// Where the author wrote what a span of the edited text stands for.
    pub(super) fn place(&self, span: Span) -> Position {
        self.place_at(self.written_offset(span.begin().get() as usize))
    }

    /// The place of a byte that the author wrote.
    pub(super) fn place_at(&self, offset: usize) -> Position {
        Position::of(&self.written, offset)
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
    written: &'a str,
    fields: &'a [Field],
    brackets: &'a Brackets,
    edits: Vec<Edit>,
    refused: Option<Refused>,
}

impl Planner<'_> {
    fn statement(&mut self, statement: &AstStmt) {
        if let Stmt::AssignModify(target, operator, value) = &statement.node {
            self.assignment(statement.span, target, *operator, value);
        }
        statement.node.visit_children(|child| match child {
            Visit::Stmt(inner) => self.statement(inner),
            Visit::Expr(inner) => self.expression(inner),
        });
    }

    fn assignment(&mut self, whole: Span, target: &AstAssignTarget, operator: AssignOp, value: &AstExpr) {
        let (symbol, function, mend) = match operator {
            AssignOp::LeftShift => ("<<=", SHIFT_LEFT, "`<<=` works on a plain name only; write `x = x << n` in full"),
            AssignOp::Percent => ("%=", PERCENT, "`%=` works on a plain name only; write `x = x % n` in full"),
            AssignOp::Divide if matches!(target.node, AssignTarget::Identifier(_)) => ("/=", DIVIDE, ""),
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
        // Brackets around target and value are in neither's span.
        let between = self.text(target.span.end(), value.span.begin());
        match (&target.node, between.find(symbol)) {
            (AssignTarget::Identifier(name), Some(at)) => {
                let at = target.span.end().get() as usize + at;
                // The value may be a tuple without brackets.
                let text = format!("= {function}({}, (", name.node.ident);
                self.edits.push(Edit { start: at, end: at + symbol.len(), text });
                self.edit(whole.end(), whole.end(), "))".to_owned());
            }
            (_, None) | (AssignTarget::Tuple(_) | AssignTarget::Index(_) | AssignTarget::Dot(..), _) => {
                self.refused.get_or_insert(Refused { span: whole, mend });
            }
        }
    }

    fn expression(&mut self, expression: &AstExpr) {
        match &expression.node {
            Expr::FString(text) => {
                for part in &text.node.expressions {
                    self.shown(part);
                }
            }
            Expr::Dot(receiver, method) if MENDED.contains(&&*method.node) => self.attribute(receiver, method),
            Expr::Op(left, operator, right) if is_type_test(left, *operator, right) => {
                self.refused.get_or_insert(Refused { span: expression.span, mend: TYPE_TEST });
            }
            _ => {}
        }
        expression.node.visit_expr(|inner| self.expression(inner));
    }

    /// One part of an f-string: what prints it is ours, and it prints a text.
    fn shown(&mut self, part: &AstExpr) {
        let (start, end) = self.brackets.field(part.span.begin().get() as usize, part.span.end().get() as usize);
        let conversion = end + self.blank(end);
        let rest = self.written.get(conversion..).unwrap_or_default();
        let (is_repr, is_str) = (rest.starts_with("!r"), rest.starts_with("!s"));
        let behind = if is_repr || is_str { conversion + 2 } else { conversion };
        let colon = behind + self.blank(behind);
        let field = self.fields.iter().position(|field| field.place.start == colon);
        let function = match (is_repr, field) {
            (true, _) => SHOWN_AS_WRITTEN,
            // A number is formatted as one.
            (false, Some(_)) if !is_str => "",
            (false, Some(_) | None) => SHOWN,
        };
        let (format, number) = match field {
            Some(number) => (format!("{FORMATTED}("), format!(", {number})")),
            None => (String::new(), String::new()),
        };
        self.edits.push(Edit { start, end: start, text: format!("{format}{function}(") });
        self.edits.push(Edit { start: end, end, text: format!("){number}") });
        match field.and_then(|number| self.fields.get(number)) {
            Some(field) => self.edits.push(Edit { start: conversion, end: field.place.end, text: String::new() }),
            None if is_repr => self.edits.push(Edit { start: conversion, end: conversion + 2, text: String::new() }),
            None => {}
        }
    }

    /// How much white space stands there.
    fn blank(&self, at: usize) -> usize {
        let rest = self.written.get(at..).unwrap_or_default();
        rest.len() - rest.trim_start().len()
    }

    /// `receiver.name` becomes a call that finds the attribute.
    fn attribute(&mut self, receiver: &AstExpr, name: &AstString) {
        let end = name.span.end().get() as usize;
        let start = self.brackets.start(receiver.span.begin().get() as usize, end);
        let between = self.text(receiver.span.end(), name.span.begin());
        let Some(dot) = dot(between) else { return };
        let lines = between.get(dot..).unwrap_or_default().bytes().filter(|byte| *byte == b'\n').count();
        let text = format!("{}, \"{}\")", "\n".repeat(lines), name.node);
        let dot = receiver.span.end().get() as usize + dot;
        self.edits.push(Edit { start, end: start, text: format!("{ATTRIBUTE}(") });
        self.edits.push(Edit { start: dot, end, text });
    }

    fn text(&self, start: Pos, end: Pos) -> &str {
        self.written.get(start.get() as usize..end.get() as usize).unwrap_or_default()
    }

    fn edit(&mut self, start: Pos, end: Pos, text: String) {
        self.edits.push(Edit { start: start.get() as usize, end: end.get() as usize, text });
    }
}

/// The dot between a receiver and a name; brackets, line breaks and comments may stand there too.
fn dot(between: &str) -> Option<usize> {
    let mut in_comment = false;
    between.bytes().position(|byte| {
        in_comment = byte == b'#' || (in_comment && byte != b'\n');
        byte == b'.' && !in_comment
    })
}

/// Whether `type(x)`, which is a string, is compared with a type's function, which it never equals.
fn is_type_test(left: &AstExpr, operator: BinOp, right: &AstExpr) -> bool {
    let is_type = |side: &AstExpr| match &side.node {
        Expr::Call(callee, arguments) => {
            arguments.args.len() == 1 && matches!(&callee.node, Expr::Identifier(name) if name.node.ident == "type")
        }
        _ => false,
    };
    let is_function =
        |side: &AstExpr| matches!(&side.node, Expr::Identifier(name) if TYPES.contains(&&*name.node.ident));
    match operator {
        BinOp::Equal | BinOp::NotEqual => {
            (is_type(left) && is_function(right)) || (is_function(left) && is_type(right))
        }
        BinOp::In | BinOp::NotIn => match &right.node {
            Expr::Tuple(items) | Expr::List(items) => is_type(left) && items.iter().any(is_function),
            _ => false,
        },
        _ => false,
    }
}
