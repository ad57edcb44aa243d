//! A daemon whose workers attack it, for the tests: what can be done from inside a confined worker?
//!
//! All but the worker's duty is the library's code, entered as `codemoded` itself enters it. A program that opens with
//! `attack` or `say` is carried out by the files beside this one; any other program is run as always.

mod attack;
mod kernel;
mod preparation;
mod speech;

use std::process::ExitCode;

use codemoded::worker::child::{Confined, Role};

fn main() -> ExitCode {
    if let Some(role) = Role::of_this_process() {
        preparation::carry_out();
        role.serve_with(duty);
    }
    if let Some(code) = codemoded::plugin::probe::child_entry() {
        return code;
    }
    codemoded::cli::main()
}

fn duty(mut worker: Confined<'_>) -> ! {
    preparation::while_waiting();
    let source = worker.receive_program();
    match source.split_once(' ') {
        Some(("attack", attack)) => attack::carry_out(attack),
        Some(("say", words)) => speech::say(words),
        Some(_) | None => worker.run(&source),
    }
}
