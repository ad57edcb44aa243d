//! Spans of runs and their calls, sent to a collector off the request path.
//!
//! What is sampled waits in a bounded queue for one thread, which sends it in batches. A collector that is slow or away
//! costs spans, and nothing else.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, channel, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use std::{fmt, io, thread};

use http::{HeaderMap, Uri};

use super::otlp;
use crate::causes::with_causes;
use crate::outgoing;
use crate::run::record::{CallRecord, RunRecord, Sink};
use crate::run::trace::Sampling;

/// Spans that may wait.
const MAX_QUEUED: usize = 4_096;
/// Spans of one request.
const MAX_BATCH: usize = 512;
/// How long a first span waits for others.
const LINGER: Duration = Duration::from_millis(500);
/// How long the collector may take.
const SEND_TIME: Duration = Duration::from_secs(5);
/// How long a stop waits for what is still queued.
const FLUSH_TIME: Duration = Duration::from_secs(2);
/// How often the log tells that spans are lost.
const TELL_EVERY: Duration = Duration::from_secs(60);

/// What the configuration says of traces.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    pub collector: Collector,
    /// Sent with every request to it.
    pub headers: HeaderMap,
    pub sampling: Sampling,
}

/// Where a collector takes OTLP over HTTP.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Collector(String);

/// The text is no address of a collector. It may hold a password, so nothing of it is told.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no http or https URL without user and query, such as \"http://127.0.0.1:4318\"")]
pub struct InvalidCollector;

/// The running export. Clones are the same one.
#[derive(Clone, Debug)]
pub struct Spans(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    sampling: Sampling,
    queue: SyncSender<Span>,
    state: Arc<State>,
    /// Hangs up when the thread has ended.
    ended: Mutex<Receiver<()>>,
}

#[derive(Debug, Default)]
struct State {
    /// Lost since the log last told.
    lost: AtomicU64,
    stopping: AtomicBool,
}

#[derive(Debug)]
enum Span {
    Run(Arc<RunRecord>),
    Call(Arc<CallRecord>),
    /// None; the thread shall look whether it is to stop.
    Wake,
}

impl Spans {
    /// Starts the thread that sends.
    pub fn start(settings: &Settings) -> io::Result<Self> {
        let (queue, incoming) = sync_channel(MAX_QUEUED);
        let (alive, ended) = channel();
        let state = Arc::new(State::default());
        let (url, headers) = (settings.collector.traces(), settings.headers.clone());
        let sender = Sender { incoming, state: Arc::clone(&state), url, headers, told: None };
        let run = move || {
            sender.run();
            drop(alive);
        };
        thread::Builder::new().name("spans".to_owned()).spawn(run)?;
        Ok(Self(Arc::new(Shared { sampling: settings.sampling, queue, state, ended: Mutex::new(ended) })))
    }

    pub fn sampling(&self) -> Sampling {
        self.0.sampling
    }

    pub fn sink(&self) -> Arc<dyn Sink> {
        Arc::clone(&self.0) as Arc<dyn Sink>
    }

    /// Sends what is queued, within a bound, and ends.
    pub fn stop(&self) {
        self.0.state.stopping.store(true, Ordering::Release);
        // A full queue wakes the thread as well.
        drop(self.0.queue.try_send(Span::Wake));
        let ended = self.0.ended.lock().unwrap_or_else(PoisonError::into_inner);
        if ended.recv_timeout(FLUSH_TIME) == Err(RecvTimeoutError::Timeout) {
            tracing::warn!("the last spans could not be sent");
        }
    }
}

impl Shared {
    fn push(&self, span: Span) {
        if self.queue.try_send(span).is_err() {
            self.state.lost.fetch_add(1, Ordering::Relaxed);
        }
    }
}

impl Sink for Shared {
    fn run(&self, record: &Arc<RunRecord>) {
        if record.span.is_some_and(|span| span.sampled) {
            self.push(Span::Run(Arc::clone(record)));
        }
    }

    fn call(&self, record: &Arc<CallRecord>) {
        if record.span.is_some_and(|span| span.sampled) {
            self.push(Span::Call(Arc::clone(record)));
        }
    }
}

/// The thread that sends.
struct Sender {
    incoming: Receiver<Span>,
    state: Arc<State>,
    url: String,
    headers: HeaderMap,
    told: Option<Instant>,
}

impl Sender {
    fn run(mut self) {
        let client = outgoing::client(SEND_TIME, 1);
        while let Ok(first) = self.incoming.recv() {
            if !self.is_stopping() {
                thread::sleep(LINGER);
            }
            let rest = self.incoming.try_iter().take(MAX_BATCH - 1);
            let spans: Vec<_> = std::iter::once(first).chain(rest).filter_map(Span::otlp).collect();
            if !spans.is_empty() {
                self.send(&client, spans);
            }
            if self.is_stopping() {
                break;
            }
        }
        // Within the bound that the stop has.
        loop {
            let rest: Vec<_> = self.incoming.try_iter().take(MAX_BATCH).filter_map(Span::otlp).collect();
            if rest.is_empty() {
                break;
            }
            self.send(&client, rest);
        }
        self.tell("the collector is slow");
    }

    fn send(&mut self, client: &ureq::Agent, spans: Vec<otlp::Span>) {
        let count = spans.len() as u64;
        let post = self.headers.iter().fold(client.post(&self.url), |post, (name, value)| post.header(name, value));
        let sent = post.send_json(otlp::Request::of(spans));
        let (lost, cause) = match sent.map(otlp::Answer::read) {
            Ok(Ok(0)) => (0, "the collector is slow".to_owned()),
            Ok(Ok(rejected)) => (rejected, "the collector has rejected them".to_owned()),
            Ok(Err(status)) => (count, format!("status {}", status.as_u16())),
            Err(error) => (count, with_causes(&error)),
        };
        self.state.lost.fetch_add(lost.min(count), Ordering::Relaxed);
        if self.told.is_none_or(|told| told.elapsed() > TELL_EVERY) {
            self.tell(&cause);
        }
    }

    /// Tells what has been lost since it was told last.
    fn tell(&mut self, cause: &str) {
        let lost = self.state.lost.swap(0, Ordering::Relaxed);
        if lost > 0 {
            self.told = Some(Instant::now());
            tracing::warn!(lost, cause, "spans were lost");
        }
    }

    fn is_stopping(&self) -> bool {
        self.state.stopping.load(Ordering::Acquire)
    }
}

impl Span {
    fn otlp(self) -> Option<otlp::Span> {
        match self {
            Self::Run(record) => otlp::Span::of_run(&record),
            Self::Call(record) => otlp::Span::of_call(&record),
            Self::Wake => None,
        }
    }
}

impl Collector {
    fn traces(&self) -> String {
        format!("{}/v1/traces", self.0.trim_end_matches('/'))
    }
}

impl std::str::FromStr for Collector {
    type Err = InvalidCollector;

    fn from_str(text: &str) -> Result<Self, InvalidCollector> {
        let sound = text.parse::<Uri>().is_ok_and(|uri| {
            let plain = uri.authority().is_some_and(|authority| !authority.as_str().contains('@'));
            plain && matches!(uri.scheme_str(), Some("http" | "https")) && uri.query().is_none()
        });
        if sound { Ok(Self(text.to_owned())) } else { Err(InvalidCollector) }
    }
}

impl fmt::Display for Collector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
