//! What is known of an expression's value before it is evaluated.
//!
//! Each rule holds for every evaluation that gives a value at all; one that fails ends the program anyway.

use num_bigint::BigInt;
use starlark_syntax::lexer::TokenInt;
use starlark_syntax::syntax::ast::{AstExpr, AstLiteral, Expr};

use super::scope::{Name, ScopeId};
use super::types::{NUMBERS, of_function, of_method, result};
use super::{Checker, MAX_LEVELS, Path};
use crate::capability::schema::{Partial, Types};
use crate::program::value::Unsupported;
use crate::value::{Float, Int, Value};

/// What is known of a value.
#[derive(Debug)]
pub(super) enum Known {
    /// It can cross to the daemon.
    Crossing(Partial),
    /// It cannot.
    Stuck(Unsupported),
}

const UNKNOWN: Known = Known::Crossing(Partial::UNKNOWN);

impl<'p> Checker<'_, 'p> {
    pub(super) fn known(&mut self, expression: &'p AstExpr, scope: ScopeId) -> Known {
        if self.level >= MAX_LEVELS || self.steps_left == 0 {
            return UNKNOWN;
        }
        self.level += 1;
        self.steps_left -= 1;
        let known = self.known_of(expression, scope);
        self.level -= 1;
        known
    }

    fn known_of(&mut self, expression: &'p AstExpr, scope: ScopeId) -> Known {
        match &expression.node {
            Expr::Literal(literal) => of_literal(literal),
            Expr::Identifier(name) => self.known_of_name(&name.node.ident, expression, scope),
            Expr::Dot(..) => self.known_of_path(expression, scope),
            Expr::List(items) | Expr::Tuple(items) => self.known_of_items(items, scope),
            Expr::Dict(members) => self.known_of_members(members, scope),
            Expr::Call(callee, _) => self.known_of_call(callee, scope),
            Expr::Minus(inner) => self.number(inner, scope, |int| -int, |float| -float),
            Expr::Plus(inner) => self.number(inner, scope, |int| int, |float| float),
            Expr::BitNot(inner) => of(self.types(inner, scope).and(Types::INT)),
            Expr::Not(_) => of(Types::BOOL),
            Expr::Op(left, operator, right) => of(result(*operator, self.types(left, scope), self.types(right, scope))),
            Expr::If(parts) => of(self.types(&parts.1, scope).or(self.types(&parts.2, scope))),
            Expr::Slice(sliced, ..) => of(self.types(sliced, scope).and(Types::STR.or(Types::LIST))),
            Expr::ListComprehension(..) => of(Types::LIST),
            Expr::DictComprehension(..) => of(Types::MAP),
            Expr::FString(_) => of(Types::STR),
            Expr::Lambda(_) => Known::Stuck(Unsupported::of_type("function")),
            Expr::Index(_) | Expr::Index2(_) => UNKNOWN,
        }
    }

    /// The types that the value may have.
    fn types(&mut self, expression: &'p AstExpr, scope: ScopeId) -> Types {
        match self.known(expression, scope) {
            Known::Crossing(partial) => partial.types(),
            Known::Stuck(_) => Types::ALL,
        }
    }

    fn known_of_name(&mut self, name: &str, expression: &'p AstExpr, scope: ScopeId) -> Known {
        match (self.scopes.look_up(name, scope), name) {
            (Name::Free, "None") => Known::Crossing(Partial::Known(Value::Null)),
            (Name::Free, "True") => Known::Crossing(Partial::Known(Value::Bool(true))),
            (Name::Free, "False") => Known::Crossing(Partial::Known(Value::Bool(false))),
            (Name::Free, _) => self.known_of_path(expression, scope),
            (Name::Is(assigned, there), _) => match self.known(assigned, there) {
                Known::Crossing(partial) => Known::Crossing(partial.later()),
                Known::Stuck(unsupported) if unsupported.is_inside() => UNKNOWN,
                Known::Stuck(unsupported) => Known::Stuck(unsupported),
            },
            (Name::Function, _) => Known::Stuck(Unsupported::of_type("function")),
            (Name::Unknown, _) => UNKNOWN,
        }
    }

    fn known_of_path(&mut self, expression: &'p AstExpr, scope: ScopeId) -> Known {
        match self.path(expression, scope) {
            Some(Path::Capability(_)) => Known::Stuck(Unsupported::of_type("function")),
            Some(Path::Namespace(_)) => Known::Stuck(Unsupported::of_type("namespace")),
            None => UNKNOWN,
        }
    }

    fn known_of_items(&mut self, items: &'p [AstExpr], scope: ScopeId) -> Known {
        let mut known = Vec::with_capacity(items.len());
        for (index, item) in items.iter().enumerate() {
            match self.known(item, scope) {
                Known::Crossing(partial) => known.push(partial),
                Known::Stuck(unsupported) => return Known::Stuck(unsupported.at_index(index)),
            }
        }
        Known::Crossing(Partial::list(known))
    }

    fn known_of_members(&mut self, members: &'p [(AstExpr, AstExpr)], scope: ScopeId) -> Known {
        let mut known: Vec<(String, Partial)> = Vec::with_capacity(members.len());
        for (key, member) in members {
            let key = match self.known(key, scope) {
                Known::Crossing(Partial::Known(Value::Str(key))) => key,
                Known::Crossing(key) if key.types().and(Types::STR).is_empty() => {
                    return Known::Stuck(Unsupported::of_keys());
                }
                Known::Crossing(_) | Known::Stuck(_) => return of(Types::MAP),
            };
            match self.known(member, scope) {
                Known::Crossing(partial) => known.push((key, partial)),
                Known::Stuck(unsupported) => return Known::Stuck(unsupported.at_key(&key)),
            }
        }
        Known::Crossing(Partial::map(known))
    }

    fn known_of_call(&mut self, callee: &'p AstExpr, scope: ScopeId) -> Known {
        match &callee.node {
            Expr::Identifier(name) => match (self.scopes.look_up(&name.node.ident, scope), name.node.ident.as_str()) {
                (Name::Free, "range") => Known::Stuck(Unsupported::of_type("range")),
                (Name::Free, "set") => Known::Stuck(Unsupported::of_type("set")),
                (Name::Free, function) => of(of_function(function)),
                (Name::Is(..) | Name::Function | Name::Unknown, _) => UNKNOWN,
            },
            Expr::Dot(json, method) if method.node == "encode" && self.is_free(json, "json", scope) => of(Types::STR),
            Expr::Dot(receiver, method) if self.types(receiver, scope) == Types::STR => of(of_method(&method.node)),
            _ => UNKNOWN,
        }
    }

    fn number(
        &mut self,
        inner: &'p AstExpr,
        scope: ScopeId,
        int: impl Fn(BigInt) -> BigInt,
        float: impl Fn(f64) -> f64,
    ) -> Known {
        match self.known(inner, scope) {
            Known::Crossing(Partial::Known(Value::Int(known))) => of_int(int(known.to_big())),
            Known::Crossing(Partial::Known(Value::Float(known))) => of_float(float(known.get())),
            Known::Crossing(known) => of(known.types().and(NUMBERS)),
            Known::Stuck(_) => UNKNOWN,
        }
    }

    fn is_free(&self, expression: &AstExpr, name: &str, scope: ScopeId) -> bool {
        let Expr::Identifier(found) = &expression.node else { return false };
        found.node.ident == name && matches!(self.scopes.look_up(name, scope), Name::Free)
    }
}

fn of(types: Types) -> Known {
    // No type at all means that the expression fails before anybody sees its value.
    Known::Crossing(if types.is_empty() { Partial::UNKNOWN } else { Partial::Of(types) })
}

fn of_literal(literal: &AstLiteral) -> Known {
    match literal {
        AstLiteral::Int(int) => match &int.node {
            TokenInt::I32(small) => Known::Crossing(Partial::Known(Value::Int(i64::from(*small).into()))),
            TokenInt::BigInt(big) => of_int(big.clone()),
        },
        AstLiteral::Float(float) => of_float(float.node),
        AstLiteral::String(text) => Known::Crossing(Partial::Known(Value::Str(text.node.clone()))),
        AstLiteral::Bytes(_) => Known::Stuck(Unsupported::of_type("bytes")),
        AstLiteral::Ellipsis => UNKNOWN,
    }
}

fn of_int(int: BigInt) -> Known {
    Int::try_from(int).map_or_else(|_| of(Types::INT), |int| Known::Crossing(Partial::Known(Value::Int(int))))
}

fn of_float(float: f64) -> Known {
    Float::new(float).map_or_else(|| of(Types::FLOAT), |float| Known::Crossing(Partial::Known(Value::Float(float))))
}
