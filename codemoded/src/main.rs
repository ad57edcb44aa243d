//! The executable: a plugin's probe first, then the daemon.

use std::process::ExitCode;

fn main() -> ExitCode {
    if let Some(code) = codemoded::plugin::probe::child_entry() {
        return code;
    }
    ExitCode::SUCCESS
}
