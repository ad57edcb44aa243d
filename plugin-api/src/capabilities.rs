//! What a plugin offers: each capability's texts, types and handler.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::authenticate::{Authenticator, Caller, Refusal, RequestHead};
use crate::call::Call;
use crate::descriptor::{CallKind, CapabilityDescriptor, HintsDescriptor};
use crate::document::{ErrorDocument, ErrorKind};
use crate::error::CapabilityError;
use crate::json::Json;
use crate::schema;

/// The capabilities of a plugin, filled by [`Plugin::capabilities`](crate::Plugin::capabilities).
pub struct Capabilities<P> {
    pub(crate) offered: Vec<Offered<P>>,
    pub(crate) namespace_configurable: bool,
    pub(crate) authenticator: Option<Box<Authenticator<P>>>,
    schemas: Schemas,
}

/// Whether the types' schemas are wanted: an instance only serves calls, and making thousands of schemas takes long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Schemas {
    Made,
    LeftOut,
}

/// One capability: texts for agents, and the handler behind it. Every method gives the capability back, to go on.
pub struct Offered<P> {
    pub(crate) descriptor: CapabilityDescriptor,
    pub(crate) handler: Handler<P>,
}

/// What ended a call: its result as JSON, or why there is none.
pub(crate) type Outcome = Result<Vec<u8>, ErrorDocument>;

pub(crate) type OutcomeFuture = Pin<Box<dyn Future<Output = Outcome> + Send>>;

type BlockingHandler<P> = dyn Fn(&P, &Call, &RawValue) -> Outcome + Send + Sync;

/// Owns what the call needs, for the future outlives the request.
type OwningHandler<P> = dyn Fn(Arc<P>, Call, Box<RawValue>) -> OutcomeFuture + Send + Sync;

pub(crate) enum Handler<P> {
    Blocking(Box<BlockingHandler<P>>),
    Async(Box<OwningHandler<P>>),
}

/// An `async fn(&P, &Call, I) -> Result<O, CapabilityError>`; implemented for all of them, not to be implemented.
pub trait AsyncHandler<'a, P: 'a, I, O>: Send + Sync {
    /// Begins the call.
    fn call(
        &self,
        plugin: &'a P,
        call: &'a Call,
        input: I,
    ) -> impl Future<Output = Result<O, CapabilityError>> + Send + 'a;
}

impl<'a, P: 'a, I, O, F, R> AsyncHandler<'a, P, I, O> for F
where
    F: Fn(&'a P, &'a Call, I) -> R + Send + Sync,
    R: Future<Output = Result<O, CapabilityError>> + Send + 'a,
{
    fn call(
        &self,
        plugin: &'a P,
        call: &'a Call,
        input: I,
    ) -> impl Future<Output = Result<O, CapabilityError>> + Send + 'a {
        self(plugin, call, input)
    }
}

impl<P: Send + Sync + 'static> Capabilities<P> {
    pub(crate) fn new(schemas: Schemas) -> Self {
        Self { offered: Vec::new(), namespace_configurable: false, authenticator: None, schemas }
    }

    /// Offers a plain function under a dotted name such as `words.count`: the path by which programs call it.
    ///
    /// The input type becomes the capability's arguments: a struct, whose fields are the keyword arguments; an
    /// `Option` or a `#[serde(default)]` field may be omitted; doc comments become descriptions. The daemon checks
    /// arguments and result against the types' schemas. The function may block: each call has a thread of its own, at
    /// most `max_handlers` at once.
    pub fn add<I, O>(
        &mut self,
        name: &str,
        handler: impl Fn(&P, &Call, I) -> Result<O, CapabilityError> + Send + Sync + 'static,
    ) -> &mut Offered<P>
    where
        I: DeserializeOwned + JsonSchema,
        O: Serialize + JsonSchema,
    {
        let handler =
            Handler::Blocking(Box::new(move |plugin, call, arguments| write(handler(plugin, call, read(arguments)?))));
        self.offer::<I, O>(name, CallKind::Blocking, handler)
    }

    /// Offers an `async fn`. It runs on a `tokio` runtime that belongs to this instance: the daemon's own is not
    /// visible here. Up to its first `await` that has to wait it runs on the thread that called it, within that
    /// runtime. It must not block a thread for long.
    ///
    /// When nobody waits for the answer any longer, [`Call::cancelled`] completes; a second later the future is
    /// dropped where it stands. Until then the call counts against `max_handlers`.
    ///
    /// ```
    /// use codemode_plugin_api::prelude::*;
    /// use std::time::Duration;
    ///
    /// #[derive(Deserialize, JsonSchema)]
    /// struct Wait {
    ///     seconds: u8,
    /// }
    ///
    /// async fn wait(_: &Timer, call: &Call, input: Wait) -> Result<(), CapabilityError> {
    ///     tokio::select! {
    ///         () = tokio::time::sleep(Duration::from_secs(input.seconds.into())) => Ok(()),
    ///         () = call.cancelled() => Err(CapabilityError::published("it was too long")),
    ///     }
    /// }
    /// # struct Timer;
    /// # impl Plugin for Timer {
    /// #     type Settings = NoSettings;
    /// #     fn start(_: NoSettings, _: &Host) -> Result<Self, StartError> { Ok(Timer) }
    /// fn capabilities(c: &mut Capabilities<Self>) {
    ///     c.add_async("timer.wait", wait).summary("Wait.").read_only();
    /// }
    /// # }
    /// ```
    pub fn add_async<I, O, F>(&mut self, name: &str, handler: F) -> &mut Offered<P>
    where
        I: DeserializeOwned + JsonSchema + Send + 'static,
        O: Serialize + JsonSchema + 'static,
        F: for<'a> AsyncHandler<'a, P, I, O> + 'static,
    {
        let handler = Arc::new(handler);
        let handler = Handler::Async(Box::new(move |plugin: Arc<P>, call, arguments| {
            let handler = Arc::clone(&handler);
            Box::pin(async move { write(handler.call(&plugin, &call, read(&arguments)?).await) })
        }));
        self.offer::<I, O>(name, CallKind::Async, handler)
    }

    /// Lets the operator choose the namespace: the name of an instance takes the place of the first segment of every
    /// capability's name, and of every ID that begins with that segment. Without this, two instances of the library
    /// collide.
    pub fn namespace_configurable(&mut self) {
        self.namespace_configurable = true;
    }

    /// Offers to say who sent a request, for daemons with `identity.mode = "plugin"`. The function sees the request's
    /// head and never its body; it may block, at most `max_handlers` at once, until [`RequestHead::deadline`].
    ///
    /// ```
    /// use codemode_plugin_api::prelude::*;
    /// use codemode_plugin_api::{Caller, Refusal, RequestHead};
    ///
    /// fn authenticate(door: &Door, head: &RequestHead) -> Result<Caller, Refusal> {
    ///     match head.header("x-badge") {
    ///         None => Err(Refusal::NoCredential),
    ///         Some(badge) if badge == door.badge => Ok(Caller::new("porter")),
    ///         Some(_) => Err(Refusal::BadCredential),
    ///     }
    /// }
    /// # struct Door { badge: String }
    /// # impl Plugin for Door {
    /// #     type Settings = NoSettings;
    /// #     fn start(_: NoSettings, _: &Host) -> Result<Self, StartError> { Ok(Door { badge: String::new() }) }
    /// fn capabilities(c: &mut Capabilities<Self>) {
    ///     c.authenticates_by(authenticate);
    /// }
    /// # }
    /// ```
    pub fn authenticates_by(
        &mut self,
        authenticator: impl Fn(&P, &RequestHead) -> Result<Caller, Refusal> + Send + Sync + 'static,
    ) {
        self.authenticator = Some(Box::new(authenticator));
    }

    fn offer<I: JsonSchema, O: JsonSchema>(
        &mut self,
        name: &str,
        kind: CallKind,
        handler: Handler<P>,
    ) -> &mut Offered<P> {
        let (input, output) = match self.schemas {
            Schemas::Made => (schema::read_by::<I>(), schema::written_by::<O>()),
            Schemas::LeftOut => (Value::Null, Value::Null),
        };
        let (input, output) = (Json::from(input), Json::from(output));
        let descriptor = CapabilityDescriptor {
            name: name.to_owned(),
            id: None,
            summary: String::new(),
            description: None,
            search_terms: Vec::new(),
            hints: HintsDescriptor::default(),
            input,
            output,
            kind,
        };
        self.offered.push_mut(Offered { descriptor, handler })
    }
}

impl<P> Offered<P> {
    /// The identity by which policies and filters know it, where the name is not to be it: it stays when a capability
    /// is renamed.
    pub fn id(&mut self, id: &str) -> &mut Self {
        self.descriptor.id = Some(id.to_owned());
        self
    }

    /// One sentence, beginning with a verb: what an agent reads in a list of hits. Every capability needs one.
    pub fn summary(&mut self, summary: &str) -> &mut Self {
        self.descriptor.summary = summary.to_owned();
        self
    }

    /// What an agent must know to use it right and that the summary and the types do not say.
    pub fn description(&mut self, description: &str) -> &mut Self {
        self.descriptor.description = Some(description.to_owned());
        self
    }

    /// Words by which an agent may search for it and that its other texts lack: at most 16, 1,024 bytes in all.
    pub fn terms<T: Into<String>>(&mut self, terms: impl IntoIterator<Item = T>) -> &mut Self {
        self.descriptor.search_terms = terms.into_iter().map(Into::into).collect();
        self
    }

    /// Hints that it changes nothing. Hints describe and grant nothing; unset, nothing is said.
    pub fn read_only(&mut self) -> &mut Self {
        self.descriptor.hints.read_only = Some(true);
        self
    }

    /// Hints whether what it changes may be lost; it is then not read-only.
    pub fn destructive(&mut self, destructive: bool) -> &mut Self {
        self.descriptor.hints.read_only = Some(false);
        self.descriptor.hints.destructive = Some(destructive);
        self
    }

    /// Hints that a second call with the same arguments changes nothing more.
    pub fn idempotent(&mut self) -> &mut Self {
        self.descriptor.hints.idempotent = Some(true);
        self
    }

    /// Hints that it reaches systems that this plugin does not own, such as the network.
    pub fn open_world(&mut self) -> &mut Self {
        self.descriptor.hints.open_world = Some(true);
        self
    }
}

impl<P> fmt::Debug for Capabilities<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(&self.offered).finish()
    }
}

impl<P> fmt::Debug for Offered<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Offered").field("descriptor", &self.descriptor).finish_non_exhaustive()
    }
}

fn read<I: DeserializeOwned>(arguments: &RawValue) -> Result<I, ErrorDocument> {
    serde_json::from_str(arguments.get()).map_err(|error| {
        let message = format!("the schema accepts arguments that the type does not: {error}");
        ErrorDocument::new(ErrorKind::Arguments, message)
    })
}

fn write<O: Serialize>(result: Result<O, CapabilityError>) -> Outcome {
    let output = result.map_err(CapabilityError::into_document)?;
    serde_json::to_vec(&output)
        .map_err(|error| ErrorDocument::new(ErrorKind::Private, format!("the result cannot be written: {error}")))
}
