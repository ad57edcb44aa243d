//! The configured budgets over the defaults.

use super::raw;
use crate::limits::Limits;

pub(super) fn check(raw: &raw::Limits) -> Limits {
    let mut limits = Limits::default();
    set(&mut limits.max_source_bytes, raw.max_source_bytes);
    set(&mut limits.max_execution_steps, raw.max_execution_steps);
    set(&mut limits.max_execution_time, raw.max_execution_time);
    set(&mut limits.max_native_calls, raw.max_native_calls);
    set(&mut limits.max_parallel_calls, raw.max_parallel_calls);
    set(&mut limits.max_value_depth, raw.max_value_depth);
    set(&mut limits.max_value_bytes, raw.max_value_bytes);
    set(&mut limits.max_intermediate_value_bytes, raw.max_intermediate_value_bytes);
    set(&mut limits.max_result_bytes, raw.max_result_bytes);
    set(&mut limits.max_worker_memory, raw.max_worker_memory);
    set(&mut limits.max_call_time, raw.max_call_time);
    set(&mut limits.max_handlers, raw.max_handlers);
    set(&mut limits.max_concurrent_executions, raw.max_concurrent_executions);
    set(&mut limits.max_concurrent_executions_per_subject, raw.max_concurrent_executions_per_subject);
    set(&mut limits.max_queued_executions, raw.max_queued_executions);
    set(&mut limits.max_search_query_bytes, raw.max_search_query_bytes);
    set(&mut limits.max_search_results, raw.max_search_results);
    set(&mut limits.max_request_bytes, raw.max_request_bytes);
    limits
}

fn set<T>(limit: &mut T, given: Option<impl Into<T>>) {
    if let Some(given) = given {
        *limit = given.into();
    }
}
