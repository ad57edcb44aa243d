//! The budgets of a run, of a crossing value and of discovery, and the names under which they are reported.

use std::time::Duration;

use crate::value::Bounds;

/// Every budget, checked to be positive. Field names are the configuration's keys.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Limits {
    /// Bytes of a program's text.
    pub max_source_bytes: usize,
    /// Interpreter ticks of one run; acts on the next multiple of 1,000 and once more after `main`.
    pub max_execution_steps: u64,
    /// From the request's arrival to the answer.
    #[serde(serialize_with = "as_text")]
    pub max_execution_time: Duration,
    /// Attempted native calls of one run.
    pub max_native_calls: u64,
    /// Native calls of one run in flight at once.
    pub max_parallel_calls: usize,
    /// Levels of a crossing value, inclusive; a scalar is 1.
    pub max_value_depth: usize,
    /// JSON bytes of one crossing value.
    pub max_value_bytes: usize,
    /// Sum of the JSON bytes of one run's successful native results.
    pub max_intermediate_value_bytes: usize,
    /// JSON bytes of the value that `main` returns.
    pub max_result_bytes: usize,
    /// Heap bytes that a program may allocate.
    pub max_worker_memory: u64,
    /// One native call, from its own start.
    #[serde(serialize_with = "as_text")]
    pub max_call_time: Duration,
    /// Calls in flight in one plugin instance, abandoned ones included.
    pub max_handlers: usize,
    /// Live workers serving a run.
    pub max_concurrent_executions: usize,
    /// The same, of one subject.
    pub max_concurrent_executions_per_subject: usize,
    /// Runs waiting for a slot.
    pub max_queued_executions: usize,
    /// Bytes of a raw search query.
    pub max_search_query_bytes: usize,
    /// Hits in one search answer.
    pub max_search_results: usize,
    /// Bytes of an HTTP body.
    pub max_request_bytes: usize,
}

impl Limits {
    /// Each key with its value as text.
    pub fn texts(&self) -> Vec<(String, String)> {
        let members = match serde_json::to_value(self) {
            Ok(serde_json::Value::Object(members)) => members,
            // A struct of numbers and texts is an object.
            Ok(_) | Err(_) => serde_json::Map::new(),
        };
        let text = |value: serde_json::Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        members.into_iter().map(|(key, value)| (key, text(value))).collect()
    }
}

fn as_text<S: serde::Serializer>(time: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(&format_args!("{time:?}"))
}

/// A budget as the client sees it: its name, never its value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Limit {
    MaxSourceBytes,
    MaxExecutionSteps,
    MaxExecutionTime,
    MaxNativeCalls,
    MaxValueDepth,
    MaxValueBytes,
    MaxIntermediateValueBytes,
    MaxResultBytes,
    MaxWorkerMemory,
    MaxCallTime,
    MaxHandlers,
    MaxConcurrentExecutions,
    MaxConcurrentExecutionsPerSubject,
    MaxQueuedExecutions,
    MaxSearchQueryBytes,
    MaxSearchQueryTokens,
    MaxSearchResults,
    MaxRequestBytes,
}

impl Limit {
    /// The configuration's key.
    pub fn name(self) -> &'static str {
        match self {
            Self::MaxSourceBytes => "max_source_bytes",
            Self::MaxExecutionSteps => "max_execution_steps",
            Self::MaxExecutionTime => "max_execution_time",
            Self::MaxNativeCalls => "max_native_calls",
            Self::MaxValueDepth => "max_value_depth",
            Self::MaxValueBytes => "max_value_bytes",
            Self::MaxIntermediateValueBytes => "max_intermediate_value_bytes",
            Self::MaxResultBytes => "max_result_bytes",
            Self::MaxWorkerMemory => "max_worker_memory",
            Self::MaxCallTime => "max_call_time",
            Self::MaxHandlers => "max_handlers",
            Self::MaxConcurrentExecutions => "max_concurrent_executions",
            Self::MaxConcurrentExecutionsPerSubject => "max_concurrent_executions_per_subject",
            Self::MaxQueuedExecutions => "max_queued_executions",
            Self::MaxSearchQueryBytes => "max_search_query_bytes",
            Self::MaxSearchQueryTokens => "max_search_query_tokens",
            Self::MaxSearchResults => "max_search_results",
            Self::MaxRequestBytes => "max_request_bytes",
        }
    }
}

impl Limits {
    /// What one crossing value may be.
    pub fn value_bounds(&self) -> Bounds {
        Bounds { max_bytes: self.max_value_bytes, max_depth: self.max_value_depth }
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            max_source_bytes: 65_536,
            max_execution_steps: 1_000_000,
            max_execution_time: Duration::from_secs(5),
            max_native_calls: 100,
            max_parallel_calls: 8,
            max_value_depth: 32,
            max_value_bytes: 1 << 20,
            max_intermediate_value_bytes: 8 << 20,
            max_result_bytes: 65_536,
            max_worker_memory: 128 << 20,
            max_call_time: Duration::from_secs(2),
            max_handlers: 64,
            max_concurrent_executions: 8,
            max_concurrent_executions_per_subject: 4,
            max_queued_executions: 64,
            max_search_query_bytes: 256,
            max_search_results: 20,
            max_request_bytes: 1 << 20,
        }
    }
}
