//! One message's text, before the protocol library sees it.
//!
//! The library would answer broken JSON with its parser's words, keep the last of two equal keys, and take an object
//! with `serde_json`'s private key for a number. So every message is first read here, by the reader of crossing
//! values, and what is no single JSON-RPC request or notification is answered here.

use crate::value::{Bounds, JsonError, JsonFault, Map, Value, read};

/// Deep enough for every message of the protocol, and far from what the library's parser refuses.
const MAX_DEPTH: usize = 64;

/// Keys that mean something to `serde_json` alone.
const PRIVATE_KEYS: &str = "$serde_json::private::";

/// Which version a request of the stateless era speaks.
const VERSION_KEY: &str = "io.modelcontextprotocol/protocolVersion";

/// What is known of a message that may pass.
#[derive(Clone, Debug, PartialEq)]
pub struct Checked {
    /// A request's; a notification has none.
    pub id: Option<Value>,
    /// The message itself names the revision that it speaks.
    pub names_its_version: bool,
    pub asks: Asks,
}

/// What a message wants of a session.
#[derive(Clone, Debug, PartialEq)]
pub enum Asks {
    /// A handshake, which opens one.
    Handshake,
    /// That the request with this ID be called off.
    CallOff(Value),
    Nothing,
}

/// A JSON-RPC error: what the caller did wrong, without any of its text.
#[derive(Clone, Debug, PartialEq)]
pub struct Rejection {
    /// The request's, where it could be read.
    pub id: Option<Value>,
    pub code: Code,
    pub message: String,
}

/// The JSON-RPC codes that are given out before the protocol library has a say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Code {
    ParseError,
    InvalidRequest,
    InvalidParams,
    InternalError,
}

/// Reads one message.
pub fn check(text: &[u8]) -> Result<Checked, Rejection> {
    let bounds = Bounds { max_bytes: text.len(), max_depth: MAX_DEPTH };
    let message = match read(text, bounds).map_err(unreadable)? {
        Value::Map(message) => message,
        Value::List(_) => return Err(invalid("batches are not supported; send one message at a time")),
        Value::Null | Value::Bool(_) | Value::Int(_) | Value::Float(_) | Value::Str(_) => {
            return Err(invalid("a message is an object"));
        }
    };
    let id = match message.get("id") {
        None => None,
        Some(id) if is_id(id) => Some(id.clone()),
        Some(_) => return Err(invalid("`id` must be a string or an integer of 64 bits")),
    };
    shape(&message, id.is_some()).map_err(|rejection| Rejection { id: id.clone(), ..rejection })?;
    let names_its_version = meta(&message).is_some_and(|meta| meta.contains_key(VERSION_KEY));
    let asks = asks(&message, id.is_some());
    Ok(Checked { id, names_its_version, asks })
}

impl Rejection {
    pub fn new(id: Option<Value>, code: Code, message: impl Into<String>) -> Self {
        Self { id, code, message: message.into() }
    }

    /// The whole answer. An unknown ID is left out: the protocol's schemas allow no null there.
    pub fn to_json(&self) -> String {
        let error = Map::from([
            ("code".to_owned(), Value::from(self.code.number())),
            ("message".to_owned(), Value::from(self.message.as_str())),
        ]);
        let mut answer = Map::from([("jsonrpc".to_owned(), Value::from("2.0"))]);
        if let Some(id) = &self.id {
            answer.insert("id".to_owned(), id.clone());
        }
        answer.insert("error".to_owned(), Value::Map(error));
        Value::Map(answer).to_json()
    }
}

impl Code {
    pub fn number(self) -> i64 {
        match self {
            Self::ParseError => -32700,
            Self::InvalidRequest => -32600,
            Self::InvalidParams => -32602,
            Self::InternalError => -32603,
        }
    }
}

/// What this says of a text that cannot be read is all that is said: the offending bytes stay here.
fn unreadable(error: JsonError) -> Rejection {
    let (code, message) = match error.fault {
        JsonFault::Syntax => (Code::ParseError, "parse error: not valid JSON"),
        JsonFault::Encoding => (Code::ParseError, "parse error: not valid UTF-8"),
        JsonFault::Surrogate => (Code::ParseError, "parse error: a lone surrogate is no character"),
        JsonFault::TooDeep => (Code::ParseError, "parse error: nested too deeply"),
        JsonFault::TooLong => (Code::ParseError, "parse error: too many bytes"),
        JsonFault::DuplicateKey => (Code::InvalidRequest, "invalid request: the same key twice in one object"),
        JsonFault::TooManyDigits => (Code::InvalidRequest, "invalid request: an integer of more than 1,000 digits"),
        JsonFault::FloatRange => (Code::InvalidRequest, "invalid request: a number beyond the range of a float"),
    };
    Rejection::new(None, code, message)
}

fn invalid(what: &str) -> Rejection {
    Rejection::new(None, Code::InvalidRequest, format!("invalid request: {what}"))
}

fn shape(message: &Map, is_request: bool) -> Result<(), Rejection> {
    if has_private_key(message) {
        return Err(invalid("a key that starts with `$serde_json::private::`"));
    }
    if message.get("jsonrpc") != Some(&Value::from("2.0")) {
        return Err(invalid("`jsonrpc` must be \"2.0\""));
    }
    let is_response = message.contains_key("result") || message.contains_key("error");
    let method = match message.get("method") {
        Some(_) if is_response => return Err(invalid("a request has neither `result` nor `error`")),
        Some(Value::Str(method)) => method.as_str(),
        Some(_) => return Err(invalid("`method` must be a string")),
        None if is_response => return Err(invalid("this server asks nothing, so it takes no responses")),
        None => return Err(invalid("`method` is missing")),
    };
    let params = match message.get("params") {
        Some(Value::Map(params)) => Some(params),
        None => None,
        Some(_) => return Err(invalid_params("`params` must be an object")),
    };
    if is_request && method == "tools/call" { tool_call(params) } else { Ok(()) }
}

/// The library takes a call of another shape for a method that it does not know.
fn tool_call(params: Option<&Map>) -> Result<(), Rejection> {
    match params.and_then(|params| params.get("name")) {
        Some(Value::Str(_)) => {}
        Some(_) => return Err(invalid_params("`name` must be a string")),
        None => return Err(invalid_params("`name` is missing")),
    }
    match params.and_then(|params| params.get("arguments")) {
        Some(Value::Map(_) | Value::Null) | None => Ok(()),
        Some(_) => Err(invalid_params("`arguments` must be an object")),
    }
}

fn invalid_params(what: &str) -> Rejection {
    Rejection::new(None, Code::InvalidParams, format!("invalid params: {what}"))
}

fn asks(message: &Map, is_request: bool) -> Asks {
    let (Some(Value::Str(method)), params) = (message.get("method"), message.get("params")) else {
        return Asks::Nothing;
    };
    match (method.as_str(), params) {
        ("initialize", _) if is_request => Asks::Handshake,
        ("notifications/cancelled", Some(Value::Map(params))) if !is_request => {
            params.get("requestId").cloned().map_or(Asks::Nothing, Asks::CallOff)
        }
        (_, _) => Asks::Nothing,
    }
}

fn is_id(id: &Value) -> bool {
    match id {
        Value::Str(_) => true,
        Value::Int(number) => number.to_i64().is_some(),
        Value::Null | Value::Bool(_) | Value::Float(_) | Value::List(_) | Value::Map(_) => false,
    }
}

fn meta(message: &Map) -> Option<&Map> {
    let Value::Map(params) = message.get("params")? else {
        return None;
    };
    match params.get("_meta")? {
        Value::Map(meta) => Some(meta),
        Value::Null | Value::Bool(_) | Value::Int(_) | Value::Float(_) | Value::Str(_) | Value::List(_) => None,
    }
}

/// Recursion is safe here: what was read is at most [`MAX_DEPTH`] deep.
fn has_private_key(members: &Map) -> bool {
    members.iter().any(|(key, member)| key.starts_with(PRIVATE_KEYS) || holds_private_key(member))
}

fn holds_private_key(value: &Value) -> bool {
    match value {
        Value::Map(members) => has_private_key(members),
        Value::List(items) => items.iter().any(holds_private_key),
        Value::Null | Value::Bool(_) | Value::Int(_) | Value::Float(_) | Value::Str(_) => false,
    }
}

#[cfg(test)]
mod tests;
