//! What the figures are held against: the same work without a daemon in between.

use std::convert::Infallible;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::Router;
use axum::body::Body;
use http::Request;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use hyper_util::service::TowerToHyperService;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, ErrorData, ServerCapabilities, ServerConfig,
};
use rmcp::service::RequestContext;
use rmcp::transport::streamable_http_server::session::never::NeverSessionManager;
use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService};
use rmcp::{RoleServer, ServerHandler};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tower::ServiceExt;

use super::kill::DEADLINE;

/// Arguments by which this executable becomes one of the floors.
pub(crate) const BARE_TOOL: &str = "--bare-tool";
pub(crate) const ECHO: &str = "--echo";

/// The name under which the bare tool sleeps until the deadline of (f) before it answers.
pub(crate) const SLEEP: &str = "sleep";

/// An MCP server whose tool answers at once, or after a sleep.
#[derive(Clone)]
struct BareTool;

impl ServerHandler for BareTool {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        if request.name == SLEEP {
            // A thread's sleep is exact where the runtime's clock rounds to milliseconds.
            tokio::task::spawn_blocking(|| std::thread::sleep(DEADLINE)).await.unwrap();
        }
        let mut result = CallToolResult::success(vec![ContentBlock::text(r#"{"result":{"sum":120,"count":5}}"#)]);
        result.structured_content = Some(serde_json::json!({ "result": { "sum": 120, "count": 5 } }));
        Ok(result.into())
    }
}

/// Serves the bare tool with the daemon's own library, settings and kind of runtime, until killed.
pub(crate) fn serve_bare_tool() {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        println!("listening http://{}/mcp", listener.local_addr().unwrap());
        let config = StreamableHttpServerConfig::default().with_legacy_session_mode(false).with_json_response(true);
        let library: StreamableHttpService<BareTool, NeverSessionManager> =
            StreamableHttpService::new(|| Ok(BareTool), Arc::default(), config);
        loop {
            let (stream, _) = listener.accept().await.unwrap();
            stream.set_nodelay(true).unwrap();
            let library = library.clone();
            let answer = move |request: Request<Body>| {
                let library = library.clone();
                async move {
                    let Ok(response) = library.oneshot(request).await;
                    Ok::<_, Infallible>(response.map(Body::new))
                }
            };
            let service = Router::new().fallback_service(tower::service_fn(answer));
            tokio::spawn(async move {
                let mut builder = Builder::new(TokioExecutor::new());
                builder.http1().timer(TokioTimer::new()).header_read_timeout(None);
                // A client that goes away is no failure.
                let _ = builder.serve_connection(TokioIo::new(stream), TowerToHyperService::new(service)).await;
            });
        }
    });
}

/// Gives back each byte that comes in, until the other end hangs up.
pub(crate) fn serve_echo() {
    let mut byte = [0];
    let (mut input, mut output) = (std::io::stdin(), std::io::stdout());
    while input.read_exact(&mut byte).is_ok() && output.write_all(&byte).is_ok() && output.flush().is_ok() {}
}

/// One byte to another process over a Unix socket and back, from an async runtime, as a worker's frames go.
pub(crate) async fn round_trips(count: usize) -> Vec<Duration> {
    let (ours, theirs) = UnixStream::pair().unwrap();
    let output = theirs.try_clone().unwrap();
    let mut child = Command::new(std::env::current_exe().unwrap())
        .arg(ECHO)
        .stdin(Stdio::from(std::os::fd::OwnedFd::from(theirs)))
        .stdout(Stdio::from(std::os::fd::OwnedFd::from(output)))
        .spawn()
        .unwrap();
    ours.set_nonblocking(true).unwrap();
    let mut stream = tokio::net::UnixStream::from_std(ours).unwrap();
    let mut times = Vec::with_capacity(count);
    for _ in 0..count {
        let sent = Instant::now();
        stream.write_all(&[1]).await.unwrap();
        stream.read_u8().await.unwrap();
        times.push(sent.elapsed());
    }
    drop(stream);
    child.wait().unwrap();
    times
}

/// Starting and reaping the smallest program there is.
pub(crate) fn spawn_true(count: usize) -> Vec<Duration> {
    let spawn = |_| {
        let started = Instant::now();
        let status = Command::new("/bin/true").env_clear().stdin(Stdio::null()).status().unwrap();
        assert!(status.success());
        started.elapsed()
    };
    (0..count).map(spawn).collect()
}
