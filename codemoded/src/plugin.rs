//! The daemon's side of the plugin boundary: shared libraries, and the instances that the configuration makes of them.
//!
//! A library is trusted code of whoever runs the daemon, but it is not believed: each is read from a file that nobody
//! else could have written, tried in a child process first, and asked only through functions that do not unwind. What
//! cannot be prevented is a crash in a call: it ends the daemon.

mod fault;
mod handlers;
mod image;
mod instance;
mod library;
mod namespace;
pub mod probe;
mod settings;
mod stdout;

pub use fault::{Exposure, Phase, PluginFault, Reason};
pub use instance::{CallError, CallRequest, Instance};
pub use stdout::take_stdout;

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Duration;

use codemode_plugin_api::descriptor::{CapabilityDescriptor, Descriptor};
use codemode_plugin_api::document::HostDocument;
use serde_json::Value;

use fault::Refusal;
use image::{Content, Image};

/// The executable that this process runs, for the child processes that are this executable again. It stays right when
/// the file is replaced.
pub const THIS_EXECUTABLE: &str = "/proc/self/exe";

/// How long an instance that started in a child process may take to start once more.
const START_TIME: Duration = Duration::from_secs(10);

/// The stack of a thread that starts an instance: as large as that of the main thread, where the child tried it.
const START_STACK_BYTES: usize = 8 << 20;

const MAX_NAME_BYTES: usize = 64;

/// One instance, as the configuration describes it.
#[derive(Clone, Debug)]
pub struct PluginSpec {
    /// Where the configuration describes it, for messages: `plugins[0]`.
    pub place: String,
    /// The instance's name.
    pub name: String,
    pub library: PathBuf,
    /// The table `config`: an object.
    pub settings: Value,
    /// The folder against which relative paths in the settings are meant.
    pub folder: PathBuf,
}

/// The running instances of one generation.
#[derive(Debug)]
pub struct Plugins {
    instances: Vec<Arc<Instance>>,
    /// What each instance offers, until it is taken.
    offers: Vec<Vec<CapabilityDescriptor>>,
}

impl Plugins {
    /// Tries every library in a child process of `executable`, all at once, and then starts every instance: all, or
    /// none and every fault. Blocks for as long as that takes.
    pub fn start(specs: &[PluginSpec], max_handlers: usize, executable: &Path) -> Result<Self, Vec<PluginFault>> {
        let misnamed = misnamed(specs);
        if !misnamed.is_empty() {
            return Err(misnamed);
        }
        let specs: Vec<_> = specs.iter().collect();
        let tried = each_on_a_thread(specs.clone(), |spec| try_out(spec, executable))?;
        let trials = specs.into_iter().zip(tried).collect();
        let created = each_on_a_thread(trials, |(spec, trial)| create(spec, trial, max_handlers))?;
        let (instances, offers) = created.into_iter().map(|(instance, offers)| (Arc::new(instance), offers)).unzip();
        Ok(Self { instances, offers })
    }

    /// What every instance offers, unchecked: duplicates and bad schemas are the catalog's to find. It is given away
    /// once, for the schemas of a large catalog take room.
    pub fn take_offers(&mut self) -> Vec<(Arc<Instance>, Vec<CapabilityDescriptor>)> {
        self.instances.iter().cloned().zip(std::mem::take(&mut self.offers)).collect()
    }

    /// The instances, in the order of their specifications.
    pub fn instances(&self) -> &[Arc<Instance>] {
        &self.instances
    }

    /// The instance of that name.
    pub fn get(&self, name: &str) -> Option<&Arc<Instance>> {
        self.instances.iter().find(|instance| &**instance.name() == name)
    }
}

/// A library that passed its trial, and what it said.
#[derive(Debug)]
struct Tried {
    image: Arc<Image>,
    descriptor: Descriptor,
}

fn try_out(spec: &PluginSpec, executable: &Path) -> Result<Tried, Vec<PluginFault>> {
    let image = Content::read(&spec.library)
        .and_then(|content| library::image(&content))
        .map_err(|reason| vec![spec.fault(reason.into())])?;
    let descriptor = probe::run(executable, &image, &spec.settings, &spec.host())
        .map_err(|refusals| refusals.into_iter().map(|refusal| spec.fault(refusal)).collect::<Vec<_>>())?;
    Ok(Tried { image, descriptor })
}

fn create(
    spec: &PluginSpec,
    trial: Tried,
    max_handlers: usize,
) -> Result<(Instance, Vec<CapabilityDescriptor>), Vec<PluginFault>> {
    let (Tried { image, descriptor }, own) = (trial, spec.clone());
    let (created, wait) = mpsc::sync_channel(1);
    let start = move || {
        let instance = library::load_for_ever(&image).and_then(|root| {
            Instance::create(root, descriptor, &own.library, &own.settings, &own.host(), max_handlers)
        });
        // Nobody waits for one that comes too late; it ends.
        drop(created.send(instance));
    };
    let thread = thread::Builder::new().name(spec.name.clone()).stack_size(START_STACK_BYTES).spawn(start);
    let started = match thread {
        Ok(_runs_on) => wait
            .recv_timeout(START_TIME)
            .unwrap_or_else(|_| Err(Reason::TimedOut { phase: Phase::Start, seconds: START_TIME.as_secs() })),
        Err(error) => Err(Reason::NotStarted(error.to_string())),
    };
    started.map_err(|reason| vec![spec.fault(reason.into())])
}

impl PluginSpec {
    fn host(&self) -> HostDocument {
        HostDocument {
            instance: self.name.clone(),
            folder: self.folder.clone(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
        }
    }

    fn fault(&self, refusal: Refusal) -> PluginFault {
        let at = match refusal.key {
            Some(key) => format!("{}.config.{key}", self.place),
            None => self.place.clone(),
        };
        PluginFault { at, instance: self.name.clone(), library: self.library.clone(), reason: refusal.reason }
    }
}

fn misnamed(specs: &[PluginSpec]) -> Vec<PluginFault> {
    let mut seen = HashSet::new();
    let mut reason = |spec: &PluginSpec| {
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
        if !(1..=MAX_NAME_BYTES).contains(&spec.name.len()) || !spec.name.bytes().all(is_plain) {
            return Some(Reason::BadName(spec.name.clone()));
        }
        (!seen.insert(spec.name.clone())).then(|| Reason::SameName(spec.name.clone()))
    };
    let reasons: Vec<_> = specs.iter().map(&mut reason).collect();
    specs.iter().zip(reasons).filter_map(|(spec, reason)| Some(spec.fault(reason?.into()))).collect()
}

/// Does the same for each, at once, and gives all results, in order, or all faults.
fn each_on_a_thread<T: Send, R: Send>(
    items: Vec<T>,
    work: impl Fn(T) -> Result<R, Vec<PluginFault>> + Sync,
) -> Result<Vec<R>, Vec<PluginFault>> {
    let work = &work;
    let outcomes: Vec<_> = thread::scope(|scope| {
        let threads: Vec<_> = items.into_iter().map(|item| scope.spawn(move || work(item))).collect();
        threads.into_iter().map(thread::ScopedJoinHandle::join).collect()
    });
    let mut results = Vec::with_capacity(outcomes.len());
    let mut faults = Vec::new();
    for outcome in outcomes {
        match outcome.unwrap_or_else(|panic| std::panic::resume_unwind(panic)) {
            Ok(result) => results.push(result),
            Err(more) => faults.extend(more),
        }
    }
    if faults.is_empty() { Ok(results) } else { Err(faults) }
}
