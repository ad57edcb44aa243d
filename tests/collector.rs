//! A collector's stand-in, which reads what it is sent with the protocol's own types.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpListener;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;

use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::trace::v1::Span;

pub(crate) struct Collector {
    pub(crate) url: String,
    bodies: Arc<Mutex<Vec<String>>>,
    heads: Arc<Mutex<Vec<Vec<String>>>>,
    connections: Arc<AtomicUsize>,
}

impl Collector {
    pub(crate) fn start() -> Self {
        Self::answering("200 OK", "{}")
    }

    /// One that gives every request this answer.
    pub(crate) fn answering(status: &str, body: &str) -> Self {
        let length = body.len();
        let answer =
            format!("HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n{body}");
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let (bodies, heads) = <(Arc<Mutex<Vec<_>>>, Arc<Mutex<Vec<_>>>)>::default();
        let connections = Arc::new(AtomicUsize::new(0));
        let collector =
            Self { url, bodies: Arc::clone(&bodies), heads: Arc::clone(&heads), connections: Arc::clone(&connections) };
        thread::spawn(move || {
            for stream in listener.incoming() {
                let mut stream = stream.unwrap();
                connections.fetch_add(1, Ordering::Relaxed);
                let (bodies, heads, answer) = (Arc::clone(&bodies), Arc::clone(&heads), answer.clone());
                thread::spawn(move || {
                    let mut reader = BufReader::new(stream.try_clone().unwrap());
                    loop {
                        let mut head = Vec::new();
                        for line in reader.by_ref().lines().map_while(Result::ok) {
                            if line.is_empty() {
                                break;
                            }
                            head.push(line.to_ascii_lowercase());
                        }
                        let Some(first) = head.first() else { return };
                        assert_eq!(first, "post /v1/traces http/1.1");
                        let kind = head.iter().find_map(|line| line.strip_prefix("content-type: ")).unwrap();
                        assert_eq!(kind.split(';').next(), Some("application/json"), "{head:?}");
                        let length = head.iter().find_map(|line| line.strip_prefix("content-length: ")).unwrap();
                        let mut body = vec![0; length.parse().unwrap()];
                        reader.read_exact(&mut body).unwrap();
                        heads.lock().unwrap().push(head);
                        bodies.lock().unwrap().push(String::from_utf8(body).unwrap());
                        stream.write_all(answer.as_bytes()).unwrap();
                    }
                });
            }
        });
        collector
    }

    /// One that nobody reaches.
    pub(crate) fn away() -> Self {
        let url = "http://127.0.0.1:9".to_owned();
        Self { url, bodies: Arc::default(), heads: Arc::default(), connections: Arc::default() }
    }

    /// How many there have been.
    pub(crate) fn connections(&self) -> usize {
        self.connections.load(Ordering::Relaxed)
    }

    /// The lines of each request's head, in lower case.
    pub(crate) fn heads(&self) -> Vec<Vec<String>> {
        self.heads.lock().unwrap().clone()
    }

    /// All that was sent, as it came.
    pub(crate) fn received(&self) -> String {
        self.bodies.lock().unwrap().concat()
    }

    pub(crate) fn spans(&self) -> Vec<Span> {
        let bodies = self.bodies.lock().unwrap();
        let requests = bodies.iter().map(|body| serde_json::from_str::<ExportTraceServiceRequest>(body).unwrap());
        let scopes = requests.flat_map(|request| request.resource_spans).flat_map(|resource| resource.scope_spans);
        scopes.flat_map(|scope| scope.spans).collect()
    }
}

/// An attribute's value as text.
pub(crate) fn attribute(span: &Span, key: &str) -> Option<String> {
    let found = span.attributes.iter().find(|attribute| attribute.key == key)?;
    match found.value.as_ref()?.value.as_ref()? {
        Value::StringValue(text) => Some(text.clone()),
        Value::IntValue(number) => Some(number.to_string()),
        other => panic!("{other:?}"),
    }
}
