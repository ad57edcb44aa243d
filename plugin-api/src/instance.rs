//! One running instance, on the library's side of the boundary: finds the handler and runs it. Knows nothing of
//! pointers; panics are for its caller to catch, but for those of futures, which it catches itself.

use std::any::Any;
use std::collections::HashMap;
use std::future::{Future, poll_fn};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use serde_json::value::RawValue;
use tokio::runtime::{Builder, Runtime};

use crate::abi;
use crate::authenticate::{Authenticator, authenticate};
use crate::call::{Call, Calls};
use crate::capabilities::{Capabilities, Handler, Outcome, OutcomeFuture, Schemas};
use crate::document::{AUTHENTICATE, CallRequest, ErrorDocument, ErrorKind, HostDocument};
use crate::plugin::{Host, Plugin};

/// How long an async handler may go on after nobody waits for it any longer.
const GRACE: Duration = Duration::from_secs(1);

/// Threads of an instance's runtime. Handlers wait there; what computes for long belongs into a plain function.
const RUNTIME_THREADS: usize = 2;

pub(crate) struct Instance<P> {
    plugin: Arc<P>,
    handlers: HashMap<String, Handler<P>>,
    authenticator: Option<Box<Authenticator<P>>>,
    calls: Arc<Calls>,
    /// There where a capability is async.
    runtime: Option<Runtime>,
}

impl<P: Plugin> Instance<P> {
    pub(crate) fn create(settings: &[u8], host: &[u8]) -> Result<Self, ErrorDocument> {
        let settings: P::Settings = serde_json::from_slice(settings).map_err(unreadable("settings"))?;
        let host: HostDocument = serde_json::from_slice(host).map_err(unreadable("host's description"))?;
        let mut capabilities = Capabilities::new(Schemas::LeftOut);
        P::capabilities(&mut capabilities);
        let is_async = |handler: &Handler<P>| matches!(handler, Handler::Async(_));
        let runtime = match capabilities.offered.iter().any(|offered| is_async(&offered.handler)) {
            true => Some(runtime(&host.instance)?),
            false => None,
        };
        let entered = runtime.as_ref().map(Runtime::enter);
        let plugin = P::start(settings, &Host::of(host))
            .map_err(|error| ErrorDocument::new(ErrorKind::Private, error.to_string()))?;
        drop(entered);
        let authenticator = capabilities.authenticator;
        let handlers =
            capabilities.offered.into_iter().map(|offered| (offered.descriptor.name, offered.handler)).collect();
        Ok(Self { plugin: Arc::new(plugin), handlers, authenticator, calls: Arc::default(), runtime })
    }

    /// Runs an operation to its end on this thread.
    pub(crate) fn invoke(&self, operation: &str, number: u64, request: &[u8]) -> Outcome {
        match operation {
            abi::CALL => self.call(number, request),
            abi::HEALTH => {
                self.plugin.health().map(|()| b"null".to_vec()).map_err(crate::CapabilityError::into_document)
            }
            AUTHENTICATE => {
                let authenticator = self.authenticator.as_ref().ok_or_else(|| unknown_operation(AUTHENTICATE))?;
                authenticate(&*self.plugin, &**authenticator, request)
            }
            unknown => Err(unknown_operation(unknown)),
        }
    }

    /// Begins an operation on this thread; where it has to wait it goes on on the runtime, whose threads are woken for
    /// that alone. `complete` gets its outcome.
    pub(crate) fn start(
        &self,
        operation: &str,
        number: u64,
        request: &[u8],
        complete: impl FnOnce(Outcome) + Send + 'static,
    ) {
        let begun = match operation {
            abi::CALL => self.begin_call(number, request),
            unknown => Err(unknown_operation(unknown)),
        };
        match (begun, &self.runtime) {
            (Ok(mut future), Some(runtime)) => {
                let _entered = runtime.enter();
                // Whoever polls it next leaves a waker that wakes.
                match future.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
                    Poll::Ready(outcome) => complete(outcome),
                    Poll::Pending => drop(runtime.spawn(async move { complete(future.await) })),
                }
            }
            (Ok(_), None) => complete(Err(ErrorDocument::new(ErrorKind::Private, "there is no runtime"))),
            (Err(error), _) => complete(Err(error)),
        }
    }

    pub(crate) fn cancel(&self, number: u64) {
        self.calls.cancel(number);
    }

    fn call(&self, number: u64, request: &[u8]) -> Outcome {
        let request: CallRequest<'_> = serde_json::from_slice(request).map_err(unreadable("call"))?;
        let Handler::Blocking(handler) = self.handler(&request.capability)? else {
            return Err(ErrorDocument::new(ErrorKind::UnknownOperation, "an async capability is to be started"));
        };
        let call = Call::of(&request.context);
        let _running = self.calls.enter(number, &call);
        handler(&self.plugin, &call, request.arguments)
    }

    fn begin_call(&self, number: u64, request: &[u8]) -> Result<OutcomeFuture, ErrorDocument> {
        let request: CallRequest<'_> = serde_json::from_slice(request).map_err(unreadable("call"))?;
        let Handler::Async(handler) = self.handler(&request.capability)? else {
            return Err(ErrorDocument::new(ErrorKind::UnknownOperation, "a blocking capability is to be invoked"));
        };
        let call = Call::of(&request.context);
        let running = self.calls.enter(number, &call);
        let handled = handler(Arc::clone(&self.plugin), call.clone(), RawValue::to_owned(request.arguments));
        Ok(Box::pin(async move {
            let _running = running;
            tokio::select! {
                outcome = caught(handled) => outcome,
                () = long_cancelled(&call) => Err(ErrorDocument::new(ErrorKind::Cancelled, "dropped after its cancellation")),
            }
        }))
    }

    fn handler(&self, capability: &str) -> Result<&Handler<P>, ErrorDocument> {
        self.handlers.get(capability).ok_or_else(|| {
            ErrorDocument::new(ErrorKind::UnknownOperation, format!("there is no capability `{capability}`"))
        })
    }
}

impl<P> Drop for Instance<P> {
    fn drop(&mut self) {
        // The last call may end, and drop the instance, on a thread of this very runtime: it cannot be waited for.
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

/// What a panic said, as an error.
pub(crate) fn panicked(payload: Box<dyn Any + Send>) -> ErrorDocument {
    let message = match (payload.downcast_ref::<&str>(), payload.downcast_ref::<String>()) {
        (Some(text), _) => (*text).to_owned(),
        (None, Some(text)) => text.clone(),
        (None, None) => "a panic without a text".to_owned(),
    };
    // Dropping a payload runs the plugin's code once more, which may panic again.
    std::mem::forget(payload);
    ErrorDocument::new(ErrorKind::Panic, message)
}

fn runtime(instance: &str) -> Result<Runtime, ErrorDocument> {
    Builder::new_multi_thread()
        .worker_threads(RUNTIME_THREADS)
        .thread_name(instance)
        .enable_all()
        .build()
        .map_err(|error| ErrorDocument::new(ErrorKind::Private, format!("the runtime cannot start: {error}")))
}

async fn long_cancelled(call: &Call) {
    call.cancelled().await;
    tokio::time::sleep(GRACE).await;
}

async fn caught(future: impl Future<Output = Outcome>) -> Outcome {
    let mut future = pin!(future);
    poll_fn(|context| match catch_unwind(AssertUnwindSafe(|| future.as_mut().poll(context))) {
        Ok(progress) => progress,
        Err(payload) => Poll::Ready(Err(panicked(payload))),
    })
    .await
}

fn unreadable(what: &str) -> impl FnOnce(serde_json::Error) -> ErrorDocument {
    move |error| ErrorDocument::new(ErrorKind::Arguments, format!("the {what} cannot be read: {}", reason(&error)))
}

/// The error without its place: these texts are one line that nobody has seen.
fn reason(error: &serde_json::Error) -> String {
    let text = error.to_string();
    text.rsplit_once(" at line ").map_or(text.as_str(), |(reason, _)| reason).to_owned()
}

fn unknown_operation(operation: &str) -> ErrorDocument {
    ErrorDocument::new(ErrorKind::UnknownOperation, format!("there is no operation `{operation}`"))
}
