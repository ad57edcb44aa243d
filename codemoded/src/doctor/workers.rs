//! Whether a worker can be started the way that is configured, and what the kernel confines it with.

use std::io;
use std::sync::Arc;
use std::thread;

use landlock::{Access, AccessFs, CompatLevel, Compatible, LandlockStatus, Ruleset, RulesetAttr};

use super::Finding;
use crate::causes::with_causes;
use crate::config::{Config, Sandbox};
use crate::worker::manifest::{self, ManifestError};
use crate::worker::protocol::{Budgets, Confinement};
use crate::worker::{Outfit, Spawner, Start, Worker, WorkerFault};

pub(super) async fn findings(config: &Config) -> Vec<Finding> {
    let how = match config.workers.start {
        Start::Exec => "started by executing this program again",
        Start::Fork => "forked from a template",
    };
    match start(config).await {
        Ok(confinement) => {
            let mut findings = vec![Finding::ok("workers", format!("one was {how}"))];
            findings.extend(confined(config.workers.sandbox, confinement));
            findings
        }
        Err(fault) => vec![Finding::fault(
            "workers",
            format!("none can be {how}: {}", with_causes(&fault)),
            "/proc must be mounted, and the limits of processes, files and stack must leave room for one more",
        )],
    }
}

/// Why none was.
#[derive(Debug, thiserror::Error)]
enum NoWorker {
    #[error("there is no thread to start it")]
    Spawner(#[source] io::Error),
    #[error(transparent)]
    Manifest(#[from] ManifestError),
    #[error("there is no memory file for its catalog")]
    Seal(#[source] io::Error),
    #[error(transparent)]
    Worker(#[from] WorkerFault),
}

/// A worker of an empty catalog.
async fn start(config: &Config) -> Result<Confinement, NoWorker> {
    let spawner = Spawner::start(crate::metrics::Metrics::default()).map_err(NoWorker::Spawner)?;
    let sealed = manifest::seal(&manifest::write(&[])?).map_err(NoWorker::Seal)?;
    let outfit = Outfit {
        manifest: Arc::new(sealed),
        budgets: Budgets::from(&config.limits),
        start: config.workers.start,
        confine: config.workers.sandbox != Sandbox::DangerOff,
        discovers: false,
    };
    let worker = Worker::start(&spawner, &outfit).await?;
    let confinement = worker.confinement();
    worker.end(());
    Ok(confinement)
}

fn confined(sandbox: Sandbox, given: Confinement) -> Vec<Finding> {
    if sandbox == Sandbox::DangerOff {
        let mend = "set `workers.sandbox` to \"require\" or \"prefer\"";
        return vec![Finding::warning("confinement", "workers are not confined at all", mend)];
    }
    let landlock = landlock();
    let parts = [
        (
            "seccomp",
            given.seccomp,
            "on".to_owned(),
            "a kernel with CONFIG_SECCOMP_FILTER, and a unit or container that allows `seccomp`",
        ),
        (
            "landlock",
            given.landlock,
            landlock,
            "a kernel with Landlock (5.13 or newer, in its `lsm=`), and a unit or container that allows the three `landlock_` calls",
        ),
        ("resource limits", given.limits, "on".to_owned(), "a system that lets a process lower its own limits"),
    ];
    let finding = |(what, is_there, found, mend): (&str, bool, String, &str)| match (is_there, sandbox) {
        (true, _) => Finding::ok(what, found),
        (false, Sandbox::Require) => Finding::fault(what, "the kernel does not give it, and it is required", mend),
        (false, _) => Finding::warning(what, "the kernel does not give it", mend),
    };
    parts.into_iter().map(finding).collect()
}

/// Which version of Landlock there is: known only to whoever puts some of it on, here a thread that ends at once.
fn landlock() -> String {
    let status = thread::spawn(|| {
        let ruleset = Ruleset::default().set_compatibility(CompatLevel::BestEffort);
        let status = ruleset.handle_access(AccessFs::from_all(landlock::ABI::V1)).ok()?.create().ok()?.restrict_self();
        Some(status.ok()?.landlock)
    });
    match status.join() {
        Ok(Some(LandlockStatus::Available { kernel_abi: Some(abi), .. })) => format!("ABI {abi}"),
        Ok(Some(LandlockStatus::Available { effective_abi, .. })) => format!("ABI {}", effective_abi as i32),
        Ok(Some(LandlockStatus::NotEnabled | LandlockStatus::NotImplemented) | None) | Err(_) => "on".to_owned(),
    }
}
