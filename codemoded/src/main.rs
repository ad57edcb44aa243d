//! The `codemoded` executable.

use std::process::ExitCode;

fn main() -> ExitCode {
    if codemoded::worker::child::is_worker() {
        codemoded::worker::child::serve();
    }
    if let Some(code) = codemoded::plugin::probe::child_entry() {
        return code;
    }
    ExitCode::SUCCESS
}
