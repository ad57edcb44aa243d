//! The `codemoded` executable.

use std::process::ExitCode;

fn main() -> ExitCode {
    if let Some(role) = codemoded::worker::child::Role::of_this_process() {
        role.serve();
    }
    if let Some(code) = codemoded::plugin::probe::child_entry() {
        return code;
    }
    codemoded::cli::main()
}
