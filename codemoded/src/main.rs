//! The `codemoded` executable.

use std::process::ExitCode;

fn main() -> ExitCode {
    if codemoded::worker::child::is_worker() {
        codemoded::worker::child::serve();
    }
    ExitCode::SUCCESS
}
