//! The daemon's side of the plugin boundary: shared libraries, and the instances that the configuration makes of them.
//!
//! A library is trusted code of whoever runs the daemon, but it is not believed: each is read from a file that nobody
//! else could have written, tried in a child process first, and asked only through functions that do not unwind. What
//! cannot be prevented is a crash in a call: it ends the daemon.

mod fault;
mod handlers;
mod image;
pub mod inspection;
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
use std::sync::{Arc, Weak, mpsc};
use std::thread;
use std::time::Duration;

use codemode_plugin_api::abi::ABI;
use codemode_plugin_api::descriptor::{CapabilityDescriptor, Descriptor};
use codemode_plugin_api::document::HostDocument;
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use fault::Refusal;
use image::Image;

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

/// Tells whether two instances are made of the same. A digest, for settings may be secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Ingredients {
    library: image::Digest,
    settings: image::Digest,
    all: image::Digest,
}

/// The running instances of one generation. An instance may belong to several.
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
        Self::start_beside(&[], specs, max_handlers, executable)
    }

    /// The same beside instances that run: one that would be made of the same once more goes on instead, with what it
    /// holds open and in memory. Meanwhile they may end: trying takes long, and a daemon that stops does not wait for it.
    pub fn start_beside(
        running: &[Weak<Instance>],
        specs: &[PluginSpec],
        max_handlers: usize,
        executable: &Path,
    ) -> Result<Self, Vec<PluginFault>> {
        let misnamed = misnamed(specs);
        if !misnamed.is_empty() {
            return Err(misnamed);
        }
        let specs: Vec<_> = specs.iter().collect();
        let tried = each_on_a_thread(specs.clone(), |spec| try_out(spec, running, max_handlers, executable))?;
        let trials = specs.into_iter().zip(tried).collect();
        let created = each_on_a_thread(trials, |(spec, trial)| match trial {
            Trial::Runs(instance, offers) => {
                let instance =
                    instance.upgrade().ok_or_else(|| Reason::NotStarted("it has ended meanwhile".to_owned()));
                instance.map(|instance| (instance, offers)).map_err(|reason| vec![spec.fault(reason.into())])
            }
            Trial::New(tried) => create(spec, tried, max_handlers),
        })?;
        let (instances, offers) = created.into_iter().unzip();
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

/// How many copies of libraries this process holds, each of another content.
pub fn copies_held() -> usize {
    library::copies_held()
}

/// What a library said in its trial.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Examined {
    /// The version that the library gives itself.
    pub version: String,
    pub abi: u32,
    pub capabilities: usize,
}

/// Tries one library in a child process of `executable`, and starts it nowhere else. Blocks for as long as that takes.
pub fn examine(spec: &PluginSpec, executable: &Path) -> Result<Examined, Vec<PluginFault>> {
    let descriptor = match try_out(spec, &[], 1, executable)? {
        Trial::New(tried) => tried.descriptor,
        Trial::Runs(instance, offers) => {
            let version = instance.upgrade().map(|instance| instance.version().to_owned()).unwrap_or_default();
            return Ok(Examined { version, abi: ABI, capabilities: offers.len() });
        }
    };
    Ok(Examined { version: descriptor.version, abi: ABI, capabilities: descriptor.capabilities.len() })
}

/// What came of trying a library.
#[derive(Debug)]
enum Trial {
    New(Tried),
    /// The instance runs already, and offers this.
    Runs(Weak<Instance>, Vec<CapabilityDescriptor>),
}

/// A library that passed its trial, and what it said.
#[derive(Debug)]
struct Tried {
    image: Arc<Image>,
    descriptor: Descriptor,
}

fn try_out(
    spec: &PluginSpec,
    running: &[Weak<Instance>],
    max_handlers: usize,
    executable: &Path,
) -> Result<Trial, Vec<PluginFault>> {
    let image = Image::of(&spec.library).map(library::known).map_err(|reason| vec![spec.fault(reason.into())])?;
    let try_it = |what| {
        let tried = probe::run(executable, &image, what, &spec.settings, &spec.host());
        tried.map_err(|refusals| refusals.into_iter().map(|refusal| spec.fault(refusal)).collect::<Vec<_>>())
    };
    let made_of = spec.ingredients(&image, max_handlers);
    let is_same =
        |instance: &&Weak<Instance>| instance.upgrade().is_some_and(|instance| *instance.made_of() == made_of);
    if let Some(instance) = running.iter().find(is_same) {
        // A second start, of what may be there only once, would be of no use.
        let descriptor = try_it(probe::Extent::Description)?;
        if let Some(offers) = instance.upgrade().and_then(|instance| instance.offers_again(descriptor)) {
            return Ok(Trial::Runs(Weak::clone(instance), offers));
        }
    }
    let descriptor = try_it(probe::Extent::Start)?;
    Ok(Trial::New(Tried { image, descriptor }))
}

fn create(
    spec: &PluginSpec,
    tried: Tried,
    max_handlers: usize,
) -> Result<(Arc<Instance>, Vec<CapabilityDescriptor>), Vec<PluginFault>> {
    let (Tried { image, descriptor }, own) = (tried, spec.clone());
    let (created, wait) = mpsc::sync_channel(1);
    let start = move || {
        let instance = library::load_for_ever(&image).and_then(|root| {
            Instance::create(root, descriptor, &own, own.ingredients(&image, max_handlers), max_handlers)
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
    let (instance, offers) = started.map_err(|reason| vec![spec.fault(reason.into())])?;
    Ok((Arc::new(instance), offers))
}

impl PluginSpec {
    fn host(&self) -> HostDocument {
        HostDocument {
            instance: self.name.clone(),
            folder: self.folder.clone(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
        }
    }

    /// What an instance of this specification is made of: the library's bytes, and all that its start is told.
    fn ingredients(&self, image: &Image, max_handlers: usize) -> Ingredients {
        let mut made_of = Sha256::new();
        let settings: image::Digest = Sha256::digest(self.settings.to_string()).into();
        let path = |path: &Path| path.as_os_str().as_encoded_bytes().to_vec();
        let parts = [
            path(&self.library),
            self.name.clone().into_bytes(),
            path(&self.folder),
            max_handlers.to_le_bytes().into(),
        ];
        made_of.update(image.digest());
        made_of.update(settings);
        for part in parts {
            // A path may hold any byte, so only its length tells where it ends.
            made_of.update(part.len().to_le_bytes());
            made_of.update(part);
        }
        Ingredients { library: *image.digest(), settings, all: made_of.finalize().into() }
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
