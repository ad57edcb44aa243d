//! The tools that the protocol's conformance suite asks for, behind the daemon's own HTTP transport.
//!
//! What passes here passes through the same code as the daemon's three tools. Only the tests start it: it prints where
//! it listens and serves everyone on loopback until its standard input ends.

mod fixtures;
mod rounds;

use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

use codemoded::identity::{Identity, Subject, SubjectId};
use codemoded::listener::{Listener, Times};
use codemoded::mcp::guard::Names;
use codemoded::mcp::http::{Door, DoorSettings, Http, Reached, Served, Settings, Snapshot};
use codemoded::metrics::Metrics;
use codemoded::rate::{self, Rates};
use rmcp::model::{
    CacheScope, CallToolRequestParams, CallToolResponse, ErrorData, Implementation, ListToolsResult,
    PaginatedRequestParams, ProgressNotificationParam, ServerCapabilities, ServerConfig, Tool,
};
use rmcp::service::RequestContext;
use rmcp::{RoleServer, ServerHandler};
use tokio::io::{AsyncReadExt, stdin};
use tokio::net::TcpListener;

/// Between the notifications of one call, as the suite wants it.
const PAUSE: Duration = Duration::from_millis(50);

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let listener = Listener::from(TcpListener::bind("127.0.0.1:0").await?);
    let patience = Duration::from_secs(30);
    let reached = Reached::through(&listener, "/mcp");
    let door = DoorSettings {
        names: Names::default(),
        identity: Identity::Static(Subject::new(SubjectId::new("suite")?)),
        protection: None,
        rates: Arc::new(Rates::new(rate::Settings::plenty())),
    };
    let fixtures = Fixtures(Arc::new(Door::new(&reached, door)));
    let settings = Settings {
        reached,
        times: Times { head: patience, body: patience, idle: patience },
        max_connections: 100,
        metrics: Metrics::default(),
        sessions: None,
    };
    let http = Http::start(listener, settings, fixtures);
    println!("listening {}", http.url());
    stdin().read_to_end(&mut Vec::new()).await?;
    Ok(())
}

/// Serves the fixture tools, and nothing else.
#[derive(Clone, Debug)]
struct Fixtures(Arc<Door>);

impl Served for Fixtures {
    type Snapshot = Self;

    fn snapshot(&self) -> Self {
        self.clone()
    }
}

impl Snapshot for Fixtures {
    fn door(&self) -> &Door {
        &self.0
    }

    fn max_request_bytes(&self) -> usize {
        1 << 20
    }
}

impl ServerHandler for Fixtures {
    #[expect(deprecated, reason = "the handshake revisions have logging")]
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder().enable_tools().enable_logging().build();
        ServerConfig::new(capabilities).with_server_info(Implementation::new("fixtures", "1"))
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let listed = ListToolsResult::with_all_items(fixtures::tools());
        Ok(listed.with_ttl_ms(0).with_cache_scope(CacheScope::Private))
    }

    #[expect(deprecated, reason = "the handshake revisions have logging")]
    async fn set_level(
        &self,
        _: rmcp::model::SetLevelRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        Ok(())
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        fixtures::tools().into_iter().find(|tool| tool.name == name)
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        match &*request.name {
            "test_tool_with_progress" => progress(&context).await,
            "test_tool_with_logging" => logging(&context).await,
            _ => {}
        }
        if let Some(result) = fixtures::result(&request.name) {
            return Ok(result.into());
        }
        rounds::respond(&request, &context.meta)
    }
}

async fn progress(context: &RequestContext<RoleServer>) {
    for done in [0.0, 50.0, 100.0] {
        if let Some(token) = context.meta.get_progress_token() {
            let progress = ProgressNotificationParam::new(token, done).with_total(100.0);
            // Whoever no longer listens is told nothing.
            let _ = context.peer.notify_progress(progress).await;
        }
        tokio::time::sleep(PAUSE).await;
    }
}

#[expect(deprecated, reason = "the handshake revisions have it")]
async fn logging(context: &RequestContext<RoleServer>) {
    for text in ["Tool execution started", "Tool processing data", "Tool execution completed"] {
        let message = rmcp::model::LoggingMessageNotificationParam::new(rmcp::model::LoggingLevel::Info, text.into());
        let _ = context.peer.notify_logging_message(message).await;
        tokio::time::sleep(PAUSE).await;
    }
}
