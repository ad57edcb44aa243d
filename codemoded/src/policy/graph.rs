//! Which rule can call which, seen from the compiled program: exactly what the machine will do, whatever names and
//! scopes the source used. A cycle would overflow the stack and end the process.

use std::collections::BTreeSet;

use regorus::Value;
use regorus::rvm::instructions::{Instruction, LiteralOrRegister};
use regorus::rvm::program::Program;

/// The longest chain of calls. Each takes some kilobytes of an evaluator's stack.
pub(super) const MAX_CHAIN: usize = 256;

/// What is wrong with the calls.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum CallFault {
    /// The rules of one cycle, the first repeated at the end.
    Cycle(Vec<String>),
    /// The rule that starts a chain longer than [`MAX_CHAIN`].
    TooLong(String),
}

/// Which rule each instruction belongs to.
pub(super) struct Owners {
    /// The first instruction of each piece of code, ascending, and its rule.
    starts: Vec<(usize, usize)>,
}

/// Finds a cycle, or a chain that is too long.
pub(super) fn check(program: &Program) -> Result<(), CallFault> {
    let calls = calls(program);
    let mut walk = Walk { calls: &calls, depth: vec![None; calls.len()], path: Vec::new() };
    let name = |rule: usize| program.rule_infos.get(rule).map(|info| info.name.clone()).unwrap_or_default();
    for rule in 0..calls.len() {
        match walk.depth_of(rule) {
            Ok(depth) if depth > MAX_CHAIN => return Err(CallFault::TooLong(name(rule))),
            Ok(_) => {}
            Err(cycle) => return Err(CallFault::Cycle(cycle.into_iter().map(name).collect())),
        }
    }
    Ok(())
}

pub(super) fn owners(program: &Program) -> Owners {
    let mut starts = Vec::new();
    for (rule, info) in program.rule_infos.iter().enumerate() {
        let bodies = info.definitions.iter().flatten();
        let patterns = info.destructuring_blocks.iter().flatten();
        starts.extend(bodies.chain(patterns).filter_map(|&at| Some((usize::try_from(at).ok()?, rule))));
    }
    starts.sort_unstable();
    Owners { starts }
}

impl Owners {
    /// The rule whose code holds this instruction; none for the entry points before all rules.
    pub(super) fn owner(&self, at: usize) -> Option<usize> {
        let after = self.starts.partition_point(|&(start, _)| start <= at);
        self.starts.get(after.checked_sub(1)?).map(|&(_, rule)| rule)
    }
}

/// The rules that each rule may call.
fn calls(program: &Program) -> Vec<BTreeSet<usize>> {
    let owners = owners(program);
    let mut calls = vec![BTreeSet::new(); program.rule_infos.len()];
    for (at, instruction) in program.instructions.iter().enumerate() {
        let Some(called) = owners.owner(at).and_then(|caller| calls.get_mut(caller)) else { continue };
        match *instruction {
            Instruction::CallRule { rule_index, .. } => drop(called.insert(usize::from(rule_index))),
            Instruction::FunctionCall { params_index } => {
                let params = program.instruction_data.get_function_call_params(params_index);
                called.extend(params.map(|params| usize::from(params.func_rule_index)));
            }
            Instruction::VirtualDataDocumentLookup { params_index } => {
                let params = program.instruction_data.get_virtual_data_document_lookup_params(params_index);
                let path = params.map(|params| params.path_components.as_slice()).unwrap_or_default();
                match &program.rule_tree {
                    Value::Object(tree) => {
                        let root = tree.get(&Value::from("data")).unwrap_or(&Value::Undefined);
                        reach(program, root, path, called);
                    }
                    _ => called.extend(0..program.rule_infos.len()),
                }
            }
            _ => {}
        }
    }
    calls
}

/// Every rule that a lookup along this path may evaluate: a computed component may be any.
fn reach(program: &Program, tree: &Value, path: &[LiteralOrRegister], called: &mut BTreeSet<usize>) {
    let members = match tree {
        Value::Object(members) => members,
        Value::Number(rule) => {
            called.extend(rule.as_u64().and_then(|rule| usize::try_from(rule).ok()));
            return;
        }
        _ => return,
    };
    let (wanted, rest) = match path {
        [] => (None, path),
        [LiteralOrRegister::Literal(literal), rest @ ..] => {
            // A number finds a text of the same digits, so only a text is taken at its word.
            let text = program.literals.get(usize::from(*literal)).filter(|value| matches!(value, Value::String(_)));
            (text, rest)
        }
        [LiteralOrRegister::Register(_), rest @ ..] => (None, rest),
    };
    for (key, member) in members.iter() {
        if wanted.is_none_or(|wanted| wanted == key) {
            reach(program, member, rest, called);
        }
    }
}

struct Walk<'a> {
    calls: &'a [BTreeSet<usize>],
    /// The length of the longest chain from each rule, where known.
    depth: Vec<Option<usize>>,
    /// The rules being walked, outermost first.
    path: Vec<usize>,
}

impl Walk<'_> {
    /// The longest chain from this rule, or the cycle it leads to. Recurses at most once for each rule.
    fn depth_of(&mut self, rule: usize) -> Result<usize, Vec<usize>> {
        if let Some(depth) = self.depth.get(rule).copied().flatten() {
            return Ok(depth);
        }
        if let Some(start) = self.path.iter().position(|&walked| walked == rule) {
            let mut cycle: Vec<usize> = self.path.iter().skip(start).copied().collect();
            cycle.push(rule);
            return Err(cycle);
        }
        self.path.push(rule);
        let mut depth = 0;
        for &called in self.calls.get(rule).into_iter().flatten() {
            depth = depth.max(self.depth_of(called)?);
        }
        self.path.pop();
        if let Some(known) = self.depth.get_mut(rule) {
            *known = Some(depth + 1);
        }
        Ok(depth + 1)
    }
}
