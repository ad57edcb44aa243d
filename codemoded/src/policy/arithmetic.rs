//! `+ - * / %` as built-ins, so that a division by zero or a wrong operand ends the decision, and numbers stay small.

use regorus::Value;
use regorus::unstable::{Expr, Ref, Span};

use super::builtins::{Function, fatal};

/// Some five times the digits that an input's number may have: sums and a product or two fit, a runaway does not.
const MAX_BITS: u64 = 16_384;

/// An operator of the policy language.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Operator {
    Add,
    Subtract,
    Multiply,
    Divide,
    Modulo,
}

impl Operator {
    pub(super) const ALL: [Self; 5] = [Self::Add, Self::Subtract, Self::Multiply, Self::Divide, Self::Modulo];

    /// A name that no policy can call.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Add => "+",
            Self::Subtract => "-",
            Self::Multiply => "*",
            Self::Divide => "/",
            Self::Modulo => "%",
        }
    }

    pub(super) fn function(self) -> Function {
        match self {
            Self::Add => |_: &Span, _: &[Ref<Expr>], args: &[Value], _: bool| apply(Self::Add, args),
            Self::Subtract => |_: &Span, _: &[Ref<Expr>], args: &[Value], _: bool| apply(Self::Subtract, args),
            Self::Multiply => |_: &Span, _: &[Ref<Expr>], args: &[Value], _: bool| apply(Self::Multiply, args),
            Self::Divide => |_: &Span, _: &[Ref<Expr>], args: &[Value], _: bool| apply(Self::Divide, args),
            Self::Modulo => |_: &Span, _: &[Ref<Expr>], args: &[Value], _: bool| apply(Self::Modulo, args),
        }
    }
}

fn apply(operator: Operator, args: &[Value]) -> anyhow::Result<Value> {
    let (left, right) = match args {
        [Value::Number(left), Value::Number(right)] => (left, right),
        [Value::Set(left), Value::Set(right)] if operator == Operator::Subtract => {
            return Ok(left.difference(right).into());
        }
        _ => return Err(fatal(format!("`{}` needs two numbers", operator.name()))),
    };
    let divides = matches!(operator, Operator::Divide | Operator::Modulo);
    if divides && *right == 0_u64.into() {
        return Err(fatal(format!("`{}` by zero", operator.name())));
    }
    let result = match operator {
        Operator::Add => left.add(right),
        Operator::Subtract => left.sub(right),
        Operator::Multiply => left.mul(right),
        Operator::Divide => left.clone().divide(right),
        Operator::Modulo if !(left.is_integer() && right.is_integer()) => {
            return Err(fatal("`%` needs integers".into()));
        }
        Operator::Modulo => left.clone().modulo(right),
    };
    let result = result.map_err(|error| fatal(format!("`{}`: {error}", operator.name())))?;
    match result.as_big() {
        Some(big) if big.bits() > MAX_BITS => Err(fatal(format!("`{}` gives too large a number", operator.name()))),
        _ => Ok(result.into()),
    }
}
