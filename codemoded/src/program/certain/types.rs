//! Which types an operation can give, whatever its operands are.

use starlark_syntax::syntax::ast::BinOp;

use crate::capability::schema::Types;

pub(super) const NUMBERS: Types = Types::INT.or(Types::FLOAT);

/// What the language's own functions give.
const FUNCTIONS: [(&str, Types); 19] = [
    ("all", Types::BOOL),
    ("any", Types::BOOL),
    ("bool", Types::BOOL),
    ("chr", Types::STR),
    ("dict", Types::MAP),
    ("dir", Types::LIST),
    ("enumerate", Types::LIST),
    ("float", Types::FLOAT),
    ("hasattr", Types::BOOL),
    ("hash", Types::INT),
    ("int", Types::INT),
    ("len", Types::INT),
    ("list", Types::LIST),
    ("ord", Types::INT),
    ("repr", Types::STR),
    ("sorted", Types::LIST),
    ("str", Types::STR),
    ("tuple", Types::LIST),
    ("type", Types::STR),
];

/// What a text's methods give.
const METHODS: [(&str, Types); 18] = [
    ("capitalize", Types::STR),
    ("count", Types::INT),
    ("endswith", Types::BOOL),
    ("find", Types::INT),
    ("format", Types::STR),
    ("isdigit", Types::BOOL),
    ("join", Types::STR),
    ("lower", Types::STR),
    ("lstrip", Types::STR),
    ("removeprefix", Types::STR),
    ("removesuffix", Types::STR),
    ("replace", Types::STR),
    ("rfind", Types::INT),
    ("rstrip", Types::STR),
    ("startswith", Types::BOOL),
    ("strip", Types::STR),
    ("title", Types::STR),
    ("upper", Types::STR),
];

pub(super) fn of_function(name: &str) -> Types {
    find(&FUNCTIONS, name)
}

/// What a method of a text gives.
pub(super) fn of_method(name: &str) -> Types {
    find(&METHODS, name)
}

/// What an operator gives for operands of these types.
pub(super) fn result(operator: BinOp, left: Types, right: Types) -> Types {
    match operator {
        BinOp::Equal
        | BinOp::NotEqual
        | BinOp::Less
        | BinOp::Greater
        | BinOp::LessOrEqual
        | BinOp::GreaterOrEqual
        | BinOp::In
        | BinOp::NotIn => Types::BOOL,
        BinOp::Or | BinOp::And => left.or(right),
        BinOp::Add => match joined(left, right) {
            Some(joined) => joined,
            None if is_number(left) || is_number(right) => number(left, right),
            None => Types::ALL,
        },
        BinOp::Multiply => match joined(left, right) {
            Some(repeated) => repeated,
            None if is_number(left) && is_number(right) => number(left, right),
            None => Types::ALL,
        },
        BinOp::Subtract | BinOp::FloorDivide if is_number(left) || is_number(right) => number(left, right),
        BinOp::Divide => Types::FLOAT,
        BinOp::Percent if left == Types::STR => Types::STR,
        BinOp::Percent if is_number(left) => number(left, right),
        BinOp::Subtract
        | BinOp::FloorDivide
        | BinOp::Percent
        | BinOp::BitAnd
        | BinOp::BitOr
        | BinOp::BitXor
        | BinOp::LeftShift
        | BinOp::RightShift => Types::ALL,
    }
}

/// Texts and lists join with, or are repeated to, their own kind only.
fn joined(left: Types, right: Types) -> Option<Types> {
    [Types::STR, Types::LIST].into_iter().find(|kind| left == *kind || right == *kind)
}

fn is_number(types: Types) -> bool {
    NUMBERS.has(types)
}

/// The result of arithmetic that gives a number.
fn number(left: Types, right: Types) -> Types {
    if left == Types::FLOAT || right == Types::FLOAT {
        Types::FLOAT
    } else if left == Types::INT && right == Types::INT {
        Types::INT
    } else {
        NUMBERS
    }
}

fn find(table: &[(&str, Types)], name: &str) -> Types {
    table.iter().find(|(known, _)| *known == name).map_or(Types::ALL, |(_, types)| *types)
}
