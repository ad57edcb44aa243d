//! One running instance of a library, and a call of one of its capabilities.
//!
//! A call takes one hop: from the caller's task to a thread that may block, and back; a handler that waits without
//! blocking goes on on the library's own runtime.
//! Who stops waiting, by the deadline or by dropping the future, tells the library so and leaves: the
//! handler keeps its slot until it really ends.

#![expect(unsafe_code, reason = "an instance is called through functions whose promises the compiler cannot see")]

use std::collections::HashMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use abi_stable::std_types::{RSlice, RStr};
use codemode_plugin_api::abi::{Answer, CALL, Completion, HEALTH, InstanceHandle, PluginRootRef};
use codemode_plugin_api::descriptor::{CallKind, CapabilityDescriptor, Descriptor};
use codemode_plugin_api::document::{AUTHENTICATE, ErrorKind};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};
use tokio_util::sync::CancellationToken;

use super::fault::Reason;
use super::handlers::{Slot, Slots, Threads, look};
use super::image::Digest;
use super::{Ingredients, PluginSpec, library, namespace};
use crate::identity::SubjectId;

/// A started plugin. Dropping it ends it once its last handler has ended.
#[derive(Debug)]
pub struct Instance {
    name: Arc<str>,
    library: PathBuf,
    made_of: Ingredients,
    version: String,
    authenticates: bool,
    tells_health: bool,
    routes: HashMap<String, Route>,
    running: Arc<Running>,
    slots: Arc<Slots>,
    /// What is asked on nobody's behalf and in flight: an authentication that has not ended has no subject whose slot it
    /// could take.
    asking: Arc<Semaphore>,
    threads: Threads,
    next_number: AtomicU64,
}

/// How a capability is reached.
#[derive(Debug)]
struct Route {
    /// The name that the library knows, where this instance has its own namespace.
    own_name: String,
    kind: CallKind,
}

/// One call of one capability, authorised and with canonical arguments.
#[derive(Clone, Debug)]
pub struct CallRequest<'a> {
    /// The capability's name.
    pub capability: &'a str,
    pub subject: &'a SubjectId,
    /// The run's ID.
    pub run: &'a str,
    /// The JSON text of an object.
    pub arguments: &'a str,
    pub deadline: Instant,
    /// The call's place in a trace.
    pub traceparent: Option<&'a str>,
}

impl CallRequest<'_> {
    /// Why nobody waits for the answer any longer.
    fn given_up(&self) -> Option<CallError> {
        (Instant::now() >= self.deadline).then_some(CallError::TimedOut)
    }
}

/// Why a call gave no value.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CallError {
    /// The handler's own words for the caller.
    #[error("the handler failed and says so: {0}")]
    Published(String),
    #[error("the handler failed: {0}")]
    Private(String),
    #[error("the handler panicked: {0}")]
    Panic(String),
    #[error("the call was cancelled")]
    Cancelled,
    #[error("the handler did not end in time")]
    TimedOut,
    /// The instance, or this subject in it, has as many calls in flight as it may.
    #[error("too many calls are in flight")]
    Busy,
    /// The library does not do what its descriptor promises.
    #[error("the plugin breaks its contract: {0}")]
    Malformed(String),
}

impl Instance {
    /// Starts an instance of a loaded library, and gives what it offers under the names that it has here. The
    /// descriptor is what its probe gave.
    pub(super) fn create(
        root: PluginRootRef,
        mut descriptor: Descriptor,
        spec: &PluginSpec,
        made_of: Ingredients,
        max_handlers: usize,
    ) -> Result<(Self, Vec<CapabilityDescriptor>), Reason> {
        let json = |value: serde_json::Result<Vec<u8>>| value.map_err(|error| Reason::NotStarted(error.to_string()));
        let host = spec.host();
        let settings = json(serde_json::to_vec(&spec.settings))?;
        let host_json = json(serde_json::to_vec(&host))?;
        let created = root.create()(RSlice::from_slice(&settings), RSlice::from_slice(&host_json));
        let handle = created.into_result().map_err(|error| Reason::not_started(library::read_error(&error)))?;
        let own_names = namespace::apply(&mut descriptor, &host.instance);
        let routes = descriptor.capabilities.iter().zip(own_names);
        let routes =
            routes.map(|(capability, own_name)| (capability.name.clone(), Route { own_name, kind: capability.kind }));
        let instance = Self {
            name: host.instance.as_str().into(),
            library: spec.library.clone(),
            made_of,
            routes: routes.collect(),
            authenticates: descriptor.operations.iter().any(|operation| operation == AUTHENTICATE),
            tells_health: descriptor.operations.iter().any(|operation| operation == HEALTH),
            version: descriptor.version,
            running: Arc::new(Running { root, handle, ended: CancellationToken::new() }),
            slots: Arc::new(Slots::new(max_handlers)),
            asking: Arc::new(Semaphore::new(max_handlers)),
            threads: Threads::new(&host.instance),
            next_number: AtomicU64::new(1),
        };
        Ok((instance, descriptor.capabilities))
    }

    /// The name under which it is configured.
    pub fn name(&self) -> &Arc<str> {
        &self.name
    }

    /// The file that its library was read from.
    pub fn library(&self) -> &Path {
        &self.library
    }

    /// The version that the library gives itself.
    pub fn version(&self) -> &str {
        &self.version
    }

    /// How many capabilities it serves.
    pub fn offers(&self) -> usize {
        self.routes.len()
    }

    /// Handlers that have not ended, abandoned ones included.
    pub fn in_flight(&self) -> usize {
        self.slots.in_flight()
    }

    /// Calls a capability and gives the JSON text of its result, unchecked. Tells when the call has reached its handler.
    pub async fn call(&self, request: CallRequest<'_>, reached: impl FnOnce()) -> Result<Vec<u8>, CallError> {
        let route = self.routes.get(request.capability).ok_or_else(|| {
            CallError::Malformed(format!("instance `{}` has no capability `{}`", self.name, request.capability))
        })?;
        let slot = self.slots.take(request.subject).ok_or(CallError::Busy)?;
        let number = self.next_number.fetch_add(1, Ordering::Relaxed);
        let json = call_json(route, &request)?;
        let (answer, mut answered) = oneshot::channel();
        let held = Held::Slot(slot);
        let pending = Pending { operation: CALL, answer, held, running: Arc::clone(&self.running) };
        let mut waiting = Waiting { running: &self.running, number: Some(number) };
        let begun = match route.kind {
            CallKind::Blocking => self.threads.run(move || pending.invoke(number, &json)),
            CallKind::Async => self.threads.run(move || pending.start(number, &json)),
        };
        begun.map_err(|error| CallError::Private(format!("no thread for the handler: {error}")))?;
        reached();
        // Alone in the instance, a quick answer is worth waiting for awake; several calls at once are not held up.
        let early = if self.slots.in_flight() == 1 { look(|| answered.try_recv().ok()) } else { None };
        if let Some(outcome) = early {
            waiting.number = None;
            return outcome.map_err(|error| request.given_up().unwrap_or(error));
        }
        tokio::select! {
            biased;
            outcome = answered => {
                waiting.number = None;
                let outcome = outcome.unwrap_or_else(|_| {
                    Err(CallError::Malformed("the handler ended without an answer".to_owned()))
                });
                // A handler that gives up in time says so in words of its own.
                outcome.map_err(|error| request.given_up().unwrap_or(error))
            }
            () = tokio::time::sleep_until(request.deadline.into()) => Err(CallError::TimedOut),
        }
    }
}

impl Instance {
    /// Whether it can say who is calling.
    pub fn authenticates(&self) -> bool {
        self.authenticates
    }

    /// Asks who sent a request, and gives the JSON text of the answer. Where all handlers are busy, it waits for one.
    pub async fn authenticate(&self, request: Vec<u8>, deadline: Instant) -> Result<Vec<u8>, CallError> {
        self.ask(AUTHENTICATE, request, deadline).await
    }

    /// Whether it says that it can work. One that says nothing of its health is well.
    pub async fn health(&self, deadline: Instant) -> Result<(), CallError> {
        match self.tells_health {
            true => self.ask(HEALTH, b"{}".to_vec(), deadline).await.map(drop),
            false => Ok(()),
        }
    }

    async fn ask(&self, operation: &'static str, request: Vec<u8>, deadline: Instant) -> Result<Vec<u8>, CallError> {
        let asked = async {
            let permit = Arc::clone(&self.asking).acquire_owned().await.map_err(|_| CallError::Busy)?;
            let number = self.next_number.fetch_add(1, Ordering::Relaxed);
            let (answer, answered) = oneshot::channel();
            let held = Held::Permit(permit);
            let pending = Pending { operation, answer, held, running: Arc::clone(&self.running) };
            let begun = self.threads.run(move || pending.invoke(number, &request));
            begun.map_err(|error| CallError::Private(format!("no thread for `{operation}`: {error}")))?;
            answered.await.unwrap_or_else(|_| Err(CallError::Malformed("it ended without an answer".to_owned())))
        };
        tokio::time::timeout_at(deadline.into(), asked).await.unwrap_or(Err(CallError::TimedOut))
    }

    /// Fires when the library has ended it, some time after the last to hold it has let go.
    pub fn ended(&self) -> CancellationToken {
        self.running.ended.clone()
    }

    pub(super) fn made_of(&self) -> &Ingredients {
        &self.made_of
    }

    /// The SHA-256 of the library that it runs.
    pub fn digest(&self) -> &Digest {
        &self.made_of.library
    }

    /// Tells whether the settings of two instances are the same, and nothing of what they are.
    pub fn settings_digest(&self) -> &Digest {
        &self.made_of.settings
    }

    /// What it offers under the names that it has here, as its library describes it once more; nothing where that is
    /// not what this instance serves.
    pub(super) fn offers_again(&self, mut descriptor: Descriptor) -> Option<Vec<CapabilityDescriptor>> {
        let own_names = namespace::apply(&mut descriptor, &self.name);
        let same = descriptor.capabilities.len() == self.routes.len()
            && descriptor.capabilities.iter().zip(&own_names).all(|(offered, own_name)| {
                let route = self.routes.get(&offered.name);
                route.is_some_and(|route| route.own_name == *own_name && route.kind == offered.kind)
            });
        same.then_some(descriptor.capabilities)
    }
}

/// The library's side of an instance; ends it when the last of its calls has let go.
struct Running {
    root: PluginRootRef,
    handle: InstanceHandle,
    ended: CancellationToken,
}

impl Running {
    fn cancel(&self, number: u64) {
        let cancel = self.root.cancel();
        // SAFETY: the handle is this library's and is destroyed no sooner than `self`.
        unsafe { cancel(self.handle, number) }
    }
}

impl fmt::Debug for Running {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Running").field("handle", &self.handle).finish_non_exhaustive()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let destroy = self.root.destroy();
        let (handle, ended) = (self.handle, self.ended.clone().drop_guard());
        let end = move || {
            // SAFETY: nothing is in flight, for each call holds this value, and nobody has the handle any longer.
            unsafe { destroy(handle) };
            drop(ended);
        };
        // The last to let go may be a task of some runtime, and a destructor may take its time.
        if let Err(error) = thread::Builder::new().name("plugin-end".to_owned()).spawn(end) {
            tracing::warn!(%error, "no thread to end a plugin's instance, which stays");
        }
    }
}

/// Somebody who waits for a call; who stops waiting before the answer tells the library.
struct Waiting<'a> {
    running: &'a Running,
    number: Option<u64>,
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        if let Some(number) = self.number {
            self.running.cancel(number);
        }
    }
}

/// A call on its way through the library. Holds what must last until the handler's end.
struct Pending {
    operation: &'static str,
    answer: oneshot::Sender<Result<Vec<u8>, CallError>>,
    held: Held,
    running: Arc<Running>,
}

/// What bounds how many there are at once.
#[expect(dead_code, reason = "held until it is dropped")]
enum Held {
    Slot(Slot),
    Permit(OwnedSemaphorePermit),
}

impl Pending {
    /// Runs the handler on this thread.
    fn invoke(self, number: u64, json: &[u8]) {
        if self.answer.is_closed() {
            return;
        }
        let invoke = self.running.root.invoke();
        // SAFETY: the handle is this library's and is destroyed no sooner than `self.running`.
        let answer =
            unsafe { invoke(self.running.handle, RStr::from_str(self.operation), number, RSlice::from_slice(json)) };
        self.end(answer);
    }

    /// Begins the handler on this thread; it ends here or on the library's own runtime.
    fn start(self, number: u64, json: &[u8]) {
        if self.answer.is_closed() {
            return;
        }
        let running = Arc::clone(&self.running);
        let start = running.root.start();
        let operation = self.operation;
        let completion = Completion { context: Box::into_raw(Box::new(self)).cast(), complete };
        // SAFETY: the handle is this library's and is destroyed no sooner than the boxed value, which lives until the
        // completion.
        unsafe { start(running.handle, RStr::from_str(operation), number, RSlice::from_slice(json), completion) }
    }

    fn end(self, answer: Answer) {
        let outcome = library::read(answer).map_err(|error| match error.kind {
            ErrorKind::Published => CallError::Published(error.message),
            ErrorKind::Private | ErrorKind::Arguments | ErrorKind::Other => CallError::Private(error.message),
            ErrorKind::Panic => CallError::Panic(error.message),
            ErrorKind::Cancelled => CallError::Cancelled,
            ErrorKind::UnknownOperation => CallError::Malformed(error.message),
        });
        // Whoever has the answer may call again and must find the slot free.
        drop(self.held);
        // Nobody may be waiting.
        drop(self.answer.send(outcome));
    }
}

unsafe extern "C" fn complete(context: *mut (), answer: Answer) {
    // SAFETY: `Pending::start` made the pointer of a box, and a library completes each start exactly once.
    let pending = unsafe { Box::from_raw(context.cast::<Pending>()) };
    pending.end(answer);
}

/// The request's document. The arguments are already JSON: they are put in as they are and not parsed again.
fn call_json(route: &Route, request: &CallRequest<'_>) -> Result<Vec<u8>, CallError> {
    let quoted = |text: &str| {
        serde_json::to_string(text)
            .map_err(|error| CallError::Malformed(format!("the call cannot be written: {error}")))
    };
    // Rounded up, for a handler must not give up before this side does.
    let time_left = request.deadline.saturating_duration_since(Instant::now()) + Duration::from_millis(1);
    let traceparent = match request.traceparent {
        Some(traceparent) => format!(r#","traceparent":{}"#, quoted(traceparent)?),
        None => String::new(),
    };
    let json = format!(
        r#"{{"capability":{},"context":{{"run":{},"subject":{{"id":{}}},"deadline_ms":{}{traceparent}}},"arguments":{}}}"#,
        quoted(&route.own_name)?,
        quoted(request.run)?,
        quoted(request.subject.as_str())?,
        time_left.as_millis(),
        request.arguments,
    );
    Ok(json.into_bytes())
}
