//! What the system lets this process have: files, processes, memory.

use std::fs;
use std::path::{Path, PathBuf};

use rustix::process::{Resource, geteuid, getrlimit};

use super::Finding;
use crate::config::Config;
use crate::daemon::OWN_DESCRIPTORS;

/// Descriptors without which not even the workers' channels fit.
const LEAST_DESCRIPTORS: u64 = 64;
/// Channel, watch and template of one worker.
const DESCRIPTORS_OF_WORKER: u64 = 4;
/// Threads of the runtime, of the policy and of a plugin at rest.
const OWN_THREADS: u64 = 64;
/// What the daemon itself takes beside its workers.
const OWN_MEMORY: u64 = 256 << 20;

pub(super) fn findings(config: &Config) -> Vec<Finding> {
    vec![descriptors(config), processes(config), memory(config)]
}

/// Workers that may be there at once.
fn workers(config: &Config) -> u64 {
    (config.limits.max_concurrent_executions + config.workers.ready) as u64
}

fn descriptors(config: &Config) -> Finding {
    let what = "open files";
    let Some(most) = getrlimit(Resource::Nofile).maximum else { return Finding::ok(what, "no limit") };
    let least = LEAST_DESCRIPTORS + workers(config) * DESCRIPTORS_OF_WORKER;
    let wanted = OWN_DESCRIPTORS.saturating_add(config.server.max_connections as u64);
    let found = format!("at most {most}; server.max_connections wants {wanted}");
    let mend =
        format!("raise it (`LimitNOFILE={wanted}` in the unit, `ulimit -Hn`), or lower `server.max_connections`");
    match most {
        _ if most < least => Finding::fault(what, format!("at most {most}; the workers alone need {least}"), mend),
        _ if most < wanted => Finding::warning(what, found, mend),
        _ => Finding::ok(what, found),
    }
}

fn processes(config: &Config) -> Finding {
    let what = "processes";
    let threads = (config.plugins.len() * config.limits.max_handlers) as u64;
    let needed = workers(config) + OWN_THREADS + threads;
    let by_user = (!geteuid().is_root()).then(|| getrlimit(Resource::Nproc).current).flatten();
    let by_group = least_in_groups("pids", "pids.max", "pids.max");
    let Some(most) = by_user.into_iter().chain(by_group).min() else { return Finding::ok(what, "no limit") };
    let found = format!("at most {most}, threads included; up to {needed} may be needed");
    if most >= needed {
        return Finding::ok(what, found);
    }
    let mend = format!("raise `LimitNPROC=` or `TasksMax=` to {needed}, or lower `limits.max_handlers`");
    if most < workers(config) { Finding::fault(what, found, mend) } else { Finding::warning(what, found, mend) }
}

/// A worker is limited for itself; what all of them may take together has to be there.
fn memory(config: &Config) -> Finding {
    let what = "memory";
    let one = config.limits.max_worker_memory;
    let needed = one.saturating_mul(workers(config)).saturating_add(OWN_MEMORY);
    let group = least_in_groups("memory", "memory.max", "memory.limit_in_bytes");
    let Some(most) = group.into_iter().chain(total()).min() else {
        return Finding::warning(what, "neither the group's limit nor the system's memory can be read", "mount /proc");
    };
    let found = format!(
        "{} may be used; {} workers of {} each and the daemon may take {}",
        mib(most),
        workers(config),
        mib(one),
        mib(needed)
    );
    let mend = format!(
        "raise `MemoryMax=` to {}, or lower `limits.max_worker_memory` or `limits.max_concurrent_executions`",
        mib(needed)
    );
    match most {
        _ if most < one.saturating_add(OWN_MEMORY) => Finding::fault(what, found, mend),
        _ if most < needed => Finding::warning(what, found, mend),
        _ => Finding::ok(what, found),
    }
}

fn mib(bytes: u64) -> String {
    format!("{} MiB", bytes >> 20)
}

fn total() -> Option<u64> {
    let text = fs::read_to_string("/proc/meminfo").ok()?;
    let total = text.lines().find_map(|line| line.strip_prefix("MemTotal:")?.trim().strip_suffix(" kB"))?;
    total.parse::<u64>().ok()?.checked_mul(1024)
}

/// The least limit of the control groups that this process is in, in either version of them.
fn least_in_groups(controller: &str, unified: &str, legacy: &str) -> Option<u64> {
    let groups = fs::read_to_string("/proc/self/cgroup").ok()?;
    let mut least = None;
    for line in groups.lines() {
        let mut fields = line.splitn(3, ':').skip(1);
        let (Some(controllers), Some(path)) = (fields.next(), fields.next()) else { continue };
        let (root, file) = match controllers {
            "" => (PathBuf::from("/sys/fs/cgroup"), unified),
            _ if controllers.split(',').any(|each| each == controller) => {
                (Path::new("/sys/fs/cgroup").join(controller), legacy)
            }
            _ => continue,
        };
        let group = root.join(path.trim_start_matches('/'));
        // A group's limit holds for all below it; in a container the path may be one of the host's.
        let above = group.ancestors().take_while(|folder| folder.starts_with(&root)).map(|folder| folder.join(file));
        let limits = above.filter_map(|file| fs::read_to_string(file).ok()?.trim().parse::<u64>().ok());
        least = least.into_iter().chain(limits).min();
    }
    least
}
