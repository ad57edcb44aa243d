#![expect(unsafe_code, reason = "no library asks the kernel about its clock's state")]
//! Whether the clock can judge what a token says of time.

use std::mem;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use super::Finding;

/// No daemon of this version ran before 2026.
const EARLIEST: Duration = Duration::from_secs(1_767_225_600);
/// The year 2100: nobody will ask then.
const LATEST: Duration = Duration::from_secs(4_102_444_800);

pub(super) fn finding() -> Finding {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let year = 1970 + now.as_secs() / 31_556_952;
    let mend = "set the clock, and keep it set (`timedatectl set-ntp true`)";
    if now < EARLIEST || now > LATEST {
        return Finding::fault("clock", format!("it shows the year {year}: tokens are judged by it"), mend);
    }
    match is_synchronised() {
        Some(true) => Finding::ok("clock", format!("{year}, synchronised")),
        Some(false) => Finding::warning("clock", format!("{year}; nothing keeps it synchronised"), mend),
        None => Finding::ok("clock", format!("{year}; whether it is synchronised cannot be told")),
    }
}

/// What the kernel was told last by whatever keeps the time; nothing where it does not say.
fn is_synchronised() -> Option<bool> {
    // SAFETY: every field is a number, for which zeroes are values; without a mode the call only reads.
    let mut state: libc::timex = unsafe { mem::zeroed() };
    // SAFETY: the pointer is to a live and writable value of the type that the call fills.
    let status = unsafe { libc::adjtimex(&raw mut state) };
    (status >= 0).then_some(status != libc::TIME_ERROR && state.status & libc::STA_UNSYNC == 0)
}
