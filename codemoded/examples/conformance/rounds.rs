//! The tools that ask their client something before they answer.

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ClientCapabilities, ContentBlock, ErrorData,
    InputRequests, InputRequiredResult, RequestMetaObject,
};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

/// Seals the state that a client carries from one round to the next.
const KEY: &str = "known to nobody but this example";

/// What such a tool says in this round.
pub(crate) fn respond(
    request: &CallToolRequestParams,
    meta: &RequestMetaObject,
) -> Result<CallToolResponse, ErrorData> {
    let Some(plan) = plan(&request.name, meta) else {
        return Err(ErrorData::invalid_params("unknown tool", None));
    };
    let Plan { rounds, has_state, needs } = plan;
    if let Some(needs) = needs {
        return Err(ErrorData::missing_required_client_capability(needs));
    }
    let round = match &request.request_state {
        Some(state) => opened(state).ok_or_else(|| ErrorData::invalid_params("the state is not as it was", None))?,
        None => 0,
    };
    let answered = |asked: &Value| {
        let keys = asked.as_object().into_iter().flatten().map(|(key, _)| key);
        keys.into_iter().all(|key| request.input_responses.as_ref().is_some_and(|given| is_response(given.get(key))))
    };
    let next = if rounds.get(round).is_some_and(answered) { round + 1 } else { round };
    match rounds.into_iter().nth(next) {
        Some(asks) => {
            let asks: InputRequests =
                serde_json::from_value(asks).map_err(|error| ErrorData::internal_error(error.to_string(), None))?;
            let state = has_state.then(|| sealed(next));
            Ok(InputRequiredResult::new(Some(asks), state).into())
        }
        None => Ok(CallToolResult::success(vec![ContentBlock::text(summary(request))]).into()),
    }
}

struct Plan {
    /// What is asked in each round, in the protocol's own form.
    rounds: Vec<Value>,
    has_state: bool,
    /// What the client would have to declare, and does not.
    needs: Option<ClientCapabilities>,
}

fn plan(tool: &str, meta: &RequestMetaObject) -> Option<Plan> {
    let declared = meta.client_capabilities().unwrap_or_default();
    let mut needs = None;
    let name = elicitation("What is your name?", "name", "string");
    let roots = json!({ "method": "roots/list", "params": {} });
    let rounds = match tool {
        "test_missing_capability" => {
            if declared.sampling.is_none() {
                needs = serde_json::from_value(json!({ "sampling": {} })).ok();
            }
            vec![]
        }
        "test_input_required_result_elicitation" => vec![json!({ "user_name": name })],
        "test_streaming_elicitation" => vec![json!({ "user_name": name })],
        "test_input_required_result_sampling" => {
            vec![json!({ "capital_question": sampling("What is the capital of France?", 100) })]
        }
        "test_input_required_result_list_roots" => vec![json!({ "client_roots": roots })],
        "test_input_required_result_request_state" | "test_input_required_result_tampered_state" => {
            vec![json!({ "confirm": elicitation("Please confirm", "ok", "boolean") })]
        }
        "test_input_required_result_multiple_inputs" => vec![json!({
            "user_name": name,
            "greeting": sampling("Generate a greeting", 50),
            "client_roots": roots,
        })],
        "test_input_required_result_multi_round" => vec![
            json!({ "step1": elicitation("Step 1: What is your name?", "name", "string") }),
            json!({ "step2": elicitation("Step 2: What is your favorite color?", "color", "string") }),
        ],
        "test_input_required_result_capabilities" => {
            let mut asks = json!({});
            if declared.sampling.is_some() {
                asks = json!({ "greeting": sampling("Generate a greeting", 50) });
            }
            vec![asks]
        }
        _ => return None,
    };
    let stateless = ["elicitation", "sampling", "list_roots", "capabilities"];
    let has_state = !stateless.iter().any(|end| tool.ends_with(end));
    Some(Plan { rounds, has_state, needs })
}

fn elicitation(message: &str, field: &str, kind: &str) -> Value {
    let schema = json!({ "type": "object", "properties": { field: { "type": kind } }, "required": [field] });
    json!({ "method": "elicitation/create", "params": { "message": message, "requestedSchema": schema } })
}

fn sampling(text: &str, max_tokens: u32) -> Value {
    let message = json!({ "role": "user", "content": { "type": "text", "text": text } });
    json!({ "method": "sampling/createMessage", "params": { "messages": [message], "maxTokens": max_tokens } })
}

/// A client's answer is an object; anything else is asked for again.
fn is_response(given: Option<&Value>) -> bool {
    given.is_some_and(Value::is_object)
}

/// Repeats what the client said, for the suite looks for it.
fn summary(request: &CallToolRequestParams) -> String {
    format!("state-ok {}", json!(request.input_responses))
}

fn sealed(round: usize) -> String {
    let seal = Sha256::digest(format!("{KEY} {round}"));
    format!("{round}.{}", seal.iter().map(|byte| format!("{byte:02x}")).collect::<String>())
}

fn opened(state: &str) -> Option<usize> {
    let round = state.split('.').next()?.parse().ok()?;
    (sealed(round) == state).then_some(round)
}
