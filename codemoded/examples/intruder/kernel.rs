//! Kernels that lack a part of what confines a worker: the part's system calls are answered as such a kernel would.

use std::collections::BTreeMap;

use seccompiler::{
    BackendError, BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule,
};

/// Makes this process, and all that it starts, see a kernel without `landlock`, `seccomp` or `limits`.
pub(super) fn take_away(part: &str) {
    if refusing(part).is_ok_and(|filter| seccompiler::apply_filter(&filter).is_err()) {
        std::process::exit(1);
    }
}

fn refusing(part: &str) -> Result<BpfProgram, BackendError> {
    let always = Vec::new();
    let rule = match part {
        "seccomp" => (libc::SYS_seccomp, always),
        "landlock" => (libc::SYS_landlock_create_ruleset, always),
        // Reading a limit still works: only with a new one does the call have its third argument.
        _ => {
            let sets = SeccompCondition::new(2, SeccompCmpArgLen::Qword, SeccompCmpOp::Ne, 0)?;
            (libc::SYS_prlimit64, vec![SeccompRule::new(vec![sets])?])
        }
    };
    let missing = SeccompAction::Errno(libc::ENOSYS.cast_unsigned());
    let arch = std::env::consts::ARCH.try_into()?;
    SeccompFilter::new(BTreeMap::from([rule]), SeccompAction::Allow, missing, arch)?.try_into()
}
