//! Makes the register machine say what Rego says, or tells that it cannot for this policy.
//!
//! The machine is several times faster than the engine's interpreter, but it drops what it should report: an error
//! inside a rule counts as a rule that did not match, and of two different values of one rule or key the later wins.
//! The first is mended here, by putting guarded functions in place of every built-in and operator. The second can
//! only be ruled out: where a policy's rules cannot give two values the machine decides, elsewhere the interpreter.

use regorus::rvm::instructions::{BuiltinCallParams, ComprehensionMode, Instruction, LoopMode};
use regorus::rvm::program::{BuiltinInfo, Program, RuleInfo, RuleType};

use super::arithmetic::Operator;
use super::builtins;

/// A built-in, by its name, that would drop its errors.
#[derive(Debug, thiserror::Error)]
#[error("`{0}` has no guarded form")]
pub(super) struct Unguarded(String);

/// Puts guarded functions in place of the built-ins and operators.
pub(super) fn guard(program: &mut Program) -> Result<(), Unguarded> {
    for (slot, info) in program.resolved_builtins.iter_mut().zip(&program.builtin_info_table) {
        slot.0 = builtins::find(&info.name).ok_or_else(|| Unguarded(info.name.clone()))?.guarded;
    }
    for operator in Operator::ALL {
        guard_operator(program, operator);
    }
    Ok(())
}

fn guard_operator(program: &mut Program, operator: Operator) {
    let calls: Vec<(usize, [u8; 3])> = program
        .instructions
        .iter()
        .enumerate()
        .filter_map(|(at, instruction)| Some((at, operands(instruction, operator)?)))
        .collect();
    if calls.is_empty() {
        return;
    }
    let info = BuiltinInfo { name: operator.name().into(), num_args: 2 };
    let builtin_index = program.add_builtin_info(info);
    program.resolved_builtins.push((operator.function(), 2));
    for (at, [dest, left, right]) in calls {
        let args = [left, right, 0, 0, 0, 0, 0, 0];
        let params = BuiltinCallParams { dest, builtin_index, num_args: 2, args };
        let params_index = program.add_builtin_call_params(params);
        if let Some(instruction) = program.instructions.get_mut(at) {
            *instruction = Instruction::BuiltinCall { params_index };
        }
    }
}

fn operands(instruction: &Instruction, operator: Operator) -> Option<[u8; 3]> {
    match (*instruction, operator) {
        (Instruction::Add { dest, left, right }, Operator::Add)
        | (Instruction::Sub { dest, left, right }, Operator::Subtract)
        | (Instruction::Mul { dest, left, right }, Operator::Multiply)
        | (Instruction::Div { dest, left, right }, Operator::Divide)
        | (Instruction::Mod { dest, left, right }, Operator::Modulo) => Some([dest, left, right]),
        _ => None,
    }
}

/// Whether no rule, function or key of this program can get two different values.
pub(super) fn is_single_valued(program: &Program) -> bool {
    let objects = program.instruction_data.comprehension_begin_params.iter();
    let builds_no_object = objects.into_iter().all(|params| !matches!(params.mode, ComprehensionMode::Object));
    builds_no_object && program.rule_infos.iter().enumerate().all(|(index, rule)| has_one_value(program, index, rule))
}

fn has_one_value(program: &Program, index: usize, rule: &RuleInfo) -> bool {
    match rule.rule_type {
        RuleType::PartialSet => return true,
        RuleType::PartialObject => return false,
        RuleType::Complete => {}
    }
    if rule.definitions.len() > 1 && !rule.early_exit_on_first_success {
        return false;
    }
    // Within one definition the bodies exclude each other only where all but the first are `else`.
    let exclusive = rule.else_bodies.iter().all(|bodies| bodies.iter().skip(1).all(|&is_else| is_else));
    exclusive && yields(program, index, rule).all(|at| is_constant(program, at) || !in_loop(program, at))
}

/// Where the rule's value is set.
fn yields<'a>(program: &'a Program, index: usize, rule: &'a RuleInfo) -> impl Iterator<Item = usize> + 'a {
    let code = super::graph::owners(program);
    program.instructions.iter().enumerate().filter_map(move |(at, instruction)| match *instruction {
        Instruction::Move { dest, .. } if dest == rule.result_reg && code.owner(at) == Some(index) => Some(at),
        _ => None,
    })
}

fn is_constant(program: &Program, at: usize) -> bool {
    let Some(Instruction::Move { src, .. }) = program.instructions.get(at) else { return false };
    match at.checked_sub(1).and_then(|before| program.instructions.get(before)) {
        Some(
            Instruction::Load { dest, .. }
            | Instruction::LoadTrue { dest }
            | Instruction::LoadFalse { dest }
            | Instruction::LoadNull { dest }
            | Instruction::LoadBool { dest, .. },
        ) => dest == src,
        _ => false,
    }
}

fn in_loop(program: &Program, at: usize) -> bool {
    program.instruction_data.loop_params.iter().any(|params| {
        !matches!(params.mode, LoopMode::Every)
            && (usize::from(params.body_start)..usize::from(params.loop_end)).contains(&at)
    })
}
