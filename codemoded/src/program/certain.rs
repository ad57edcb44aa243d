//! Finds what certainly fails before anything of a program runs, so that no effect is left half done: a capability
//! that is not there, and a call of one whose arguments cannot bind.
//!
//! The interpreter's own type checker was the other choice. It knows more, but it refuses right programs too (a name
//! bound to two types, an attribute that depends on a test), and it skips the top level. This one follows only what
//! the text settles: names that are bound once or not at all, literals, and the types that operators and the
//! language's own functions give. Whatever it refuses would fail if it were reached, with the same words; a call
//! that is reached by `attempt`, `call` or any other detour is left to the run, where its failure may be wanted.

mod known;
mod scope;
mod types;

use starlark::codemap::Span;
use starlark_syntax::syntax::ast::{
    Argument, AstArgument, AstExpr, AstParameter, AstStmt, Clause, Expr, ForClause, Stmt,
};
use starlark_syntax::syntax::uniplate::Visit;

use super::context::Context;
use super::fault::{invalid_arguments, invalid_program};
use super::hints::explained_at;
use super::rewrite::Source;
use super::sight::Sight;
use crate::capability::schema::Members;
use crate::position::Position;
use crate::worker::manifest::Entry;
use crate::worker::protocol::Claim;
use known::Known;
use scope::{Name, ScopeId, Scopes};

/// Expressions that one program's check may look at twice; whatever lies beyond is left to the run.
const MAX_STEPS: u32 = 50_000;
/// Levels of expressions and names that are followed.
const MAX_LEVELS: u32 = 64;

/// What a program asks with whether something is there.
const ASKING: [&str; 3] = ["dir", "getattr", "hasattr"];

/// The first expression that would fail if it were reached.
pub(super) fn failure(program: &AstStmt, written: &Source, sight: &Sight, context: &Context) -> Option<Claim> {
    let scopes = Scopes::default();
    let asks = mentions_asking(program);
    let mut checker = Checker { written, sight, context, scopes, asks, level: 0, steps_left: MAX_STEPS, failure: None };
    let module = checker.scopes.enter_module(program);
    checker.statement(program, module);
    checker.failure
}

struct Checker<'a, 'p> {
    written: &'a Source,
    sight: &'a Sight,
    context: &'a Context,
    scopes: Scopes<'p>,
    /// The program may find out by itself that a capability is not there.
    asks: bool,
    level: u32,
    steps_left: u32,
    failure: Option<Claim>,
}

/// What a dotted name leads to.
enum Path {
    Namespace(String),
    Capability(Entry<'static>),
}

impl<'p> Checker<'_, 'p> {
    fn statement(&mut self, statement: &'p AstStmt, scope: ScopeId) {
        match &statement.node {
            Stmt::Def(def) => {
                self.defaults(&def.params, scope);
                let inside = self.scopes.enter_function(scope, &def.params, Some(&def.body));
                self.statement(&def.body, inside);
            }
            Stmt::Assign(assign) => {
                self.expression(&assign.rhs, scope);
                assign.lhs.node.visit_expr(|inner| self.expression(inner, scope));
            }
            Stmt::Break
            | Stmt::Continue
            | Stmt::Pass
            | Stmt::Return(_)
            | Stmt::Expression(_)
            | Stmt::AssignModify(..)
            | Stmt::Statements(_)
            | Stmt::If(..)
            | Stmt::IfElse(..)
            | Stmt::For(_)
            | Stmt::Load(_) => Visit::Stmt(statement).visit_children(|child| match child {
                Visit::Stmt(inner) => self.statement(inner, scope),
                Visit::Expr(inner) => self.expression(inner, scope),
            }),
        }
    }

    fn expression(&mut self, expression: &'p AstExpr, scope: ScopeId) {
        match &expression.node {
            Expr::Lambda(lambda) => {
                self.defaults(&lambda.params, scope);
                let inside = self.scopes.enter_function(scope, &lambda.params, None);
                self.expression(&lambda.body, inside);
            }
            Expr::ListComprehension(item, first, clauses) => {
                let inside = self.clauses(first, clauses, scope);
                self.expression(item, inside);
            }
            Expr::DictComprehension(item, first, clauses) => {
                let inside = self.clauses(first, clauses, scope);
                self.expression(&item.0, inside);
                self.expression(&item.1, inside);
            }
            other => {
                other.visit_expr(|inner| self.expression(inner, scope));
                if self.failure.is_none() {
                    self.failure = match other {
                        Expr::Dot(object, attribute) => self.attribute(expression.span, object, attribute, scope),
                        Expr::Call(callee, arguments) => self.call(expression.span, callee, &arguments.args, scope),
                        _ => None,
                    };
                }
            }
        }
    }

    fn defaults(&mut self, parameters: &'p [AstParameter], scope: ScopeId) {
        for default in parameters.iter().filter_map(|parameter| parameter.split().2) {
            self.expression(default, scope);
        }
    }

    /// The scope of what a comprehension collects.
    fn clauses(&mut self, first: &'p ForClause, clauses: &'p [Clause], scope: ScopeId) -> ScopeId {
        self.expression(&first.over, scope);
        let inside = self.scopes.enter_comprehension(scope, first, clauses);
        for clause in clauses {
            match clause {
                Clause::For(each) => self.expression(&each.over, inside),
                Clause::If(condition) => self.expression(condition, inside),
            }
        }
        inside
    }

    fn attribute(&mut self, span: Span, object: &'p AstExpr, attribute: &str, scope: ScopeId) -> Option<Claim> {
        let path = self.path(object, scope).filter(|_| !self.asks)?;
        let (kind, near) = match path {
            Path::Capability(_) => ("function", None),
            Path::Namespace(prefix) => {
                let name = format!("{prefix}.{attribute}");
                if self.sight.find(&name).is_some() || self.sight.is_namespace(&name) {
                    return None;
                }
                ("namespace", near(attribute, &self.sight.segments(&prefix)))
            }
        };
        let near = near.map_or(String::new(), |near| format!(", did you mean `{near}`?"));
        let message = format!("Object of type `{kind}` has no attribute `{attribute}`{near}");
        let (before, at) = self.written.around(span);
        Some(invalid_program(self.place(span), &explained_at(&message, before, at)))
    }

    fn call(&mut self, span: Span, callee: &'p AstExpr, arguments: &'p [AstArgument], scope: ScopeId) -> Option<Claim> {
        let Some(Path::Capability(entry)) = self.path(callee, scope) else { return None };
        let place = self.place(span);
        let refuse = |message: &dyn std::fmt::Display| invalid_arguments(place, &format!("{}: {message}", entry.name));
        if arguments.iter().any(|argument| matches!(argument.node, Argument::Positional(_))) {
            return Some(refuse(&"arguments are passed by keyword only"));
        }
        let mut given = Members::default();
        for argument in arguments {
            match &argument.node {
                Argument::Named(name, value) => match self.known(value, scope) {
                    Known::Crossing(partial) => given.known.push((name.node.clone(), partial)),
                    Known::Stuck(unsupported) => return Some(unsupported.at_key(name).claim(&refuse)),
                },
                Argument::KwArgs(value) => match self.known(value, scope) {
                    Known::Crossing(partial) => given.extend(partial),
                    Known::Stuck(_) => given.is_open = true,
                },
                Argument::Positional(_) | Argument::Args(_) => {}
            }
        }
        let fault = self.context.input(&entry).certain_fault(given)?;
        Some(refuse(&fault))
    }

    /// Where a dotted name leads, if it starts at a capability's root and the text settles it.
    fn path(&mut self, expression: &'p AstExpr, scope: ScopeId) -> Option<Path> {
        if self.level >= MAX_LEVELS {
            return None;
        }
        self.steps_left = self.steps_left.checked_sub(1)?;
        self.level += 1;
        let path = self.path_of(expression, scope);
        self.level -= 1;
        path
    }

    fn path_of(&mut self, expression: &'p AstExpr, scope: ScopeId) -> Option<Path> {
        match &expression.node {
            Expr::Identifier(name) => match self.scopes.look_up(&name.node.ident, scope) {
                Name::Free if self.sight.is_namespace(&name.node.ident) => {
                    Some(Path::Namespace(name.node.ident.clone()))
                }
                Name::Is(assigned, there) => self.path(assigned, there),
                Name::Free | Name::Function | Name::Unknown => None,
            },
            Expr::Dot(object, attribute) => match self.path(object, scope)? {
                Path::Capability(_) => None,
                Path::Namespace(prefix) => {
                    let name = format!("{prefix}.{}", attribute.node);
                    let namespace = |name: String| self.sight.is_namespace(&name).then_some(Path::Namespace(name));
                    self.sight.find(&name).map(Path::Capability).or_else(|| namespace(name))
                }
            },
            _ => None,
        }
    }

    fn place(&self, span: Span) -> Position {
        self.written.place(span)
    }
}

/// The interpreter's own guess at what was meant.
fn near<'a>(attribute: &str, known: &[&'a str]) -> Option<&'a str> {
    let allowed = if attribute.len() <= 2 { 1 } else { 2 };
    let distances = known.iter().map(|known| (strsim::levenshtein(attribute, known), *known));
    distances.filter(|(distance, _)| *distance <= allowed).min_by_key(|(distance, _)| *distance).map(|(_, known)| known)
}

fn mentions_asking(program: &AstStmt) -> bool {
    fn any(expression: &AstExpr) -> bool {
        let mut found =
            matches!(&expression.node, Expr::Identifier(name) if ASKING.contains(&name.node.ident.as_str()));
        expression.node.visit_expr(|inner| found = found || any(inner));
        found
    }
    let mut found = false;
    program.node.visit_expr(|expression| found = found || any(expression));
    found
}
