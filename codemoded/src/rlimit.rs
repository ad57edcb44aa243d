//! Limits that the kernel keeps on this process.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Lowers a limit, and keeps it where it is lower already: only a privileged process may raise what it inherited, and
/// no host means its own limit to be raised.
pub(crate) fn lower(resource: Resource, soft: u64, hard: u64) -> rustix::io::Result<()> {
    let inherited = getrlimit(resource).maximum;
    let within = |wanted: u64| Some(inherited.map_or(wanted, |most| most.min(wanted)));
    setrlimit(resource, Rlimit { current: within(soft), maximum: within(hard) })
}
