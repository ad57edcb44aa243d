//! The least that a decision could cost: the policy engine alone, on the caller's own thread, with its input made
//! beforehand, and with none of the daemon's guards.

use regorus::languages::rego::compiler::Compiler;
use regorus::rvm::vm::RegoVM;
use regorus::{Engine, Value};

/// The engine's register machine with one policy.
pub(crate) struct Bare {
    machine: RegoVM,
    decision: String,
    input: Value,
}

impl Bare {
    pub(crate) fn load(module: &str, data: &str, decision: &str, input: &str) -> Self {
        let mut engine = Engine::new();
        engine.add_policy("authz.rego".to_owned(), module.to_owned()).unwrap();
        let data = Value::from_json_str(data).unwrap();
        engine.add_data(data.clone()).unwrap();
        let policy = engine.compile_with_entrypoint(&decision.into()).unwrap();
        let mut machine = RegoVM::new();
        machine.load_program(Compiler::compile_from_policy(&policy, &[decision]).unwrap());
        machine.set_data(data).unwrap();
        Self { machine, decision: decision.to_owned(), input: Value::from_json_str(input).unwrap() }
    }

    pub(crate) fn allows(&mut self) -> bool {
        self.machine.set_input(self.input.clone());
        self.machine.execute_entry_point_by_name(&self.decision).unwrap() == Value::Bool(true)
    }
}
