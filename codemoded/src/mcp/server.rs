//! The MCP server behind every transport: it lists the tools, calls them, and has nothing else to offer.
//!
//! Who calls is settled before a request gets here, by the transport; nothing in a request's parameters, its `_meta`
//! included, can change it.

use std::sync::Arc;
use std::time::Instant;

use ::http::request::Parts;
use rmcp::model::{
    CacheScope, CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, CustomRequest, CustomResult,
    DiscoverResult, ErrorCode, ErrorData, GetPromptRequestParams, GetPromptResponse, Implementation,
    InitializeRequestParams, InitializeResult, ListPromptsResult, ListResourceTemplatesResult, ListResourcesResult,
    ListToolsResult, MetaObject, PaginatedRequestParams, ReadResourceRequestParams, ReadResourceResponse,
    RequestMetaObject, ServerCapabilities, ServerConfig,
};
use rmcp::service::RequestContext;
use rmcp::{RoleServer, ServerHandler};
use serde::Serialize;
use serde_json::{Value as Json, json};
use tokio::sync::watch;

use super::http::{Door, Served, Snapshot};
use super::progress::telling;
use super::tools::{Tool, definitions};
use super::{run_text, text};
use crate::failure::Failure;
use crate::generation::{Current, Generation};
use crate::identity::Subject;
use crate::run::trace::Remote;
use crate::run::{Report, Request as RunRequest, Runs};
use crate::text::{MAX_PUBLISHED_BYTES, printable};
use crate::value::{Map, Value};

/// How long a client may keep a list before it asks again. The tools never change; what the catalog holds is found
/// through them.
const LIST_TTL_MILLIS: u64 = 300_000;

const INSTRUCTIONS: &str = "Find capabilities with `search_api`, read exact types with `describe_api`, then do the \
task in one Starlark program with `execute`: only what its `main` returns comes back.";

/// One server for all requests; cheap to clone.
#[derive(Clone, Debug)]
pub struct Server {
    current: Current,
    runs: Runs,
    caller: Caller,
}

/// Who calls.
#[derive(Clone, Debug)]
enum Caller {
    /// The same subject in every request, as on stdio.
    Fixed(Subject),
    /// Whom the identity layer put beside the HTTP request.
    OfRequest,
}

/// What the HTTP layer knows of a request and puts beside it.
#[derive(Clone, Copy, Debug)]
pub struct Arrival {
    /// When its head was there; the run's deadline counts from here.
    pub at: Instant,
    /// Whether the client takes a stream of events for an answer.
    pub takes_stream: bool,
    /// The span of a trusted peer's that it came from.
    pub remote: Option<Remote>,
}

impl Server {
    /// Serves requests beside which an HTTP identity layer puts the [`Subject`] and [`Arrival`].
    pub fn new(current: Current, runs: Runs) -> Self {
        Self { current, runs, caller: Caller::OfRequest }
    }

    /// The same server for one subject alone.
    #[must_use]
    pub fn for_subject(self, subject: Subject) -> Self {
        Self { caller: Caller::Fixed(subject), ..self }
    }

    fn subject(&self, context: &RequestContext<RoleServer>) -> Option<Subject> {
        match &self.caller {
            Caller::Fixed(subject) => Some(subject.clone()),
            Caller::OfRequest => context.extensions.get::<Parts>()?.extensions.get::<Subject>().cloned(),
        }
    }

    /// What the HTTP layer has served the request with so far; on stdio, what is in force now.
    fn generation(&self, context: &RequestContext<RoleServer>) -> Arc<Generation> {
        let beside = context.extensions.get::<Parts>().and_then(|head| head.extensions.get::<Arc<Generation>>());
        beside.map_or_else(|| self.current.get(), Arc::clone)
    }

    async fn execute(
        &self,
        generation: Arc<Generation>,
        subject: Subject,
        source: String,
        context: &RequestContext<RoleServer>,
    ) -> CallToolResult {
        // Beside a message that came by another way than HTTP lies nothing.
        let arrival = context.extensions.get::<Parts>().and_then(|head| head.extensions.get::<Arrival>().copied());
        let arrival = arrival.unwrap_or_else(|| Arrival { at: Instant::now(), takes_stream: true, remote: None });
        let cancelled = context.ct.child_token();
        // Also where this future is dropped, the run has nobody to answer to.
        let _end = cancelled.clone().drop_guard();
        let (progress, calls) = watch::channel(0);
        let run = self.run(RunRequest {
            generation,
            subject,
            source,
            arrived: arrival.at,
            cancelled,
            progress,
            remote: arrival.remote,
        });
        let report = match context.meta.get_progress_token().filter(|_| arrival.takes_stream) {
            Some(token) => telling(run, calls, token, &context.peer).await,
            None => run.await,
        };
        match report {
            Some(Report { id, calls, outcome }) => {
                let result = match outcome {
                    Ok(value) => {
                        let value = Value::Map(Map::from([("result".to_owned(), value)]));
                        succeeded(value.to_json(), value.to_serde())
                    }
                    Err(failure) => failed(run_text(&failure, &calls)),
                };
                result.with_meta(Some(run_meta(&id.to_string(), calls.made)))
            }
            None => failed(text(&Failure::Internal)),
        }
    }

    /// A task of its own, so that a panic in it is an answer.
    async fn run(&self, request: RunRequest) -> Option<Report> {
        let runs = self.runs.clone();
        tokio::spawn(async move { runs.execute(request).await })
            .await
            .inspect_err(|error| tracing::error!(%error, "a run ended without a report"))
            .ok()
    }

    /// No tool has the name; a capability's name is a likely slip.
    async fn unknown_tool(generation: &Generation, subject: &Subject, name: &str) -> ErrorData {
        let known = match generation.catalog.get(name) {
            Some(capability) => generation.shows(subject, capability).await,
            None => false,
        };
        let name = printable(name, MAX_PUBLISHED_BYTES);
        let message = match known {
            true => format!("unknown tool `{name}`: it is a capability, so call it inside `execute`"),
            false => format!("unknown tool `{name}`: the tools are `search_api`, `describe_api` and `execute`"),
        };
        ErrorData::invalid_params(message, None)
    }
}

impl Served for Server {
    type Snapshot = Arc<Generation>;

    fn snapshot(&self) -> Arc<Generation> {
        self.current.get()
    }
}

impl Snapshot for Arc<Generation> {
    fn door(&self) -> &Door {
        &self.door
    }

    fn max_request_bytes(&self) -> usize {
        self.limits.max_request_bytes
    }
}

impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder().enable_tools().enable_prompts().enable_resources().build();
        ServerConfig::new(capabilities)
            .with_server_info(Implementation::new("codemoded", env!("CARGO_PKG_VERSION")).with_title("codemoded"))
            .with_instructions(INSTRUCTIONS)
    }

    async fn initialize(
        &self,
        request: InitializeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<InitializeResult, ErrorData> {
        if speaks_without_handshake(&context.meta) {
            return Err(unknown_method("initialize"));
        }
        context.peer.set_peer_info(request.clone());
        self.negotiate_initialize(&request)
    }

    async fn discover(&self, _: RequestContext<RoleServer>) -> Result<DiscoverResult, ErrorData> {
        let versions = self.supported_protocol_versions().into_owned();
        let found = DiscoverResult::from_server_info(versions, self.get_info());
        Ok(found.with_ttl_ms(LIST_TTL_MILLIS).with_cache_scope(CacheScope::Private))
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let tools = definitions(self.generation(&context).limits.max_result_bytes);
        let listed = ListToolsResult::with_all_items(tools);
        // Handshake revisions do not know the hints; their schemas are left as they are.
        Ok(match speaks_without_handshake(&context.meta) {
            true => listed.with_ttl_ms(LIST_TTL_MILLIS).with_cache_scope(CacheScope::Private),
            false => listed,
        })
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let Some(subject) = self.subject(&context) else {
            return Ok(failed(text(&Failure::Unauthenticated)).into());
        };
        let generation = self.generation(&context);
        let Some(tool) = Tool::named(&request.name) else {
            return Err(Self::unknown_tool(&generation, &subject, &request.name).await);
        };
        let argument = match tool.read(request.arguments) {
            Ok(argument) => argument,
            Err(fault) => return Ok(failed(format!("invalid tool arguments: {fault}")).into()),
        };
        let result = match tool {
            Tool::SearchApi => answer(generation.search(&subject, &argument).await),
            Tool::DescribeApi => answer(generation.describe(&subject, &argument).await),
            Tool::Execute => self.execute(generation, subject, argument, &context).await,
        };
        Ok(result.into())
    }

    async fn list_prompts(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        Ok(ListPromptsResult::default())
    }

    async fn list_resources(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        Ok(ListResourcesResult::default())
    }

    async fn list_resource_templates(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        Ok(ListResourceTemplatesResult::default())
    }

    async fn get_prompt(
        &self,
        _: GetPromptRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        Err(ErrorData::invalid_params("unknown prompt", None))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        Err(ErrorData::resource_not_found("unknown resource", Some(json!({ "uri": request.uri }))))
    }

    /// What the library did not recognise: a method that nobody knows, or a known one with parameters of a wrong shape.
    async fn on_custom_request(
        &self,
        request: CustomRequest,
        context: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        let handshake = matches!(request.method.as_str(), "initialize" | "ping");
        let known = handshake && !speaks_without_handshake(&context.meta) || METHODS.contains(&&*request.method);
        match known {
            true => Err(ErrorData::invalid_params("invalid params: not what the method takes", None)),
            false => Err(unknown_method(&request.method)),
        }
    }
}

/// The methods that are served in every revision.
const METHODS: [&str; 8] = [
    "server/discover",
    "tools/list",
    "tools/call",
    "prompts/list",
    "prompts/get",
    "resources/list",
    "resources/read",
    "resources/templates/list",
];

/// The request names a revision that has no handshake.
fn speaks_without_handshake(meta: &RequestMetaObject) -> bool {
    meta.protocol_version().is_some_and(|version| !version.has_initialize())
}

fn unknown_method(name: &str) -> ErrorData {
    let message = format!("unknown method `{}`", printable(name, MAX_PUBLISHED_BYTES));
    ErrorData::new(ErrorCode::METHOD_NOT_FOUND, message, None)
}

fn answer(outcome: Result<impl Serialize, Failure>) -> CallToolResult {
    let json = outcome.and_then(|found| {
        serde_json::to_value(found).map_err(|error| {
            tracing::error!(%error, "what discovery found is no JSON");
            Failure::Internal
        })
    });
    match json {
        Ok(json) => succeeded(json.to_string(), json),
        Err(failure) => failed(text(&failure)),
    }
}

/// The text is the same JSON as the structured content, to the byte.
fn succeeded(text: String, json: Json) -> CallToolResult {
    let mut result = CallToolResult::success(vec![ContentBlock::text(text)]);
    result.structured_content = Some(json);
    result
}

fn failed(text: String) -> CallToolResult {
    CallToolResult::error(vec![ContentBlock::text(text)])
}

fn run_meta(id: &str, calls: u64) -> MetaObject {
    let mut meta = MetaObject::default();
    meta.0.insert("codemoded/run".to_owned(), json!(id));
    meta.0.insert("codemoded/calls".to_owned(), json!(calls));
    meta
}
