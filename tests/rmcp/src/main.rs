//! What every client is put through, by the Rust SDK: list, search, describe, execute, an error, a cancel and a close.
//!
//!     codemoded-rmcp-walk URL handshake|discover

use std::sync::Arc;
use std::time::Duration;

use rmcp::model::{
    CallToolRequest, CallToolRequestParams, CallToolResult, ClientRequest, ProgressNotificationParam, ProtocolVersion,
};
use rmcp::service::{
    ClientLifecycleMode, ClientServiceExt, NotificationContext, Peer, PeerRequestOptions, RoleClient,
};
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::ClientHandler;
use serde_json::{json, Value};
use tokio::sync::Notify;

const PROGRAM: &str = "def main():\n    records.put(key = \"fruit\", value = {\"name\": \"apple\"})\n    \
return records.lookup(key = \"fruit\")[\"count\"] > 0\n";
const MISTAKEN: &str = "def main():\n    return records.lookup(ky = \"a\")\n";
/// Nobody waits for it to the end.
const LONG: &str = "def main():\n    faulty.note(text = \"begun\")\n    faulty.wait()\n";

type Failure = Box<dyn std::error::Error>;

/// Wakes whoever waits for word of a run.
#[derive(Clone, Default)]
struct Client(Arc<Notify>);

impl ClientHandler for Client {
    async fn on_progress(&self, _: ProgressNotificationParam, _: NotificationContext<RoleClient>) {
        self.0.notify_one();
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Failure> {
    let mut arguments = std::env::args().skip(1);
    let (Some(url), Some(how)) = (arguments.next(), arguments.next()) else {
        return Err("usage: codemoded-rmcp-walk URL handshake|discover".into());
    };
    let lifecycle = match how.as_str() {
        "handshake" => ClientLifecycleMode::Initialize,
        "discover" => ClientLifecycleMode::Discover { preferred_versions: vec![ProtocolVersion::V_2026_07_28] },
        _ => return Err(format!("unknown: {how}").into()),
    };
    let client = Client::default();
    let word = Arc::clone(&client.0);
    let running = client.serve_with_lifecycle(StreamableHttpClientTransport::from_uri(url), lifecycle).await?;
    tokio::time::timeout(Duration::from_secs(60), walk(running.peer(), &word)).await??;
    running.cancel().await?;
    done("close");
    Ok(())
}

async fn walk(peer: &Peer<RoleClient>, word: &Notify) -> Result<(), Failure> {
    let names: Vec<_> = peer.list_all_tools().await?.into_iter().map(|tool| tool.name).collect();
    assert_eq!(names, ["search_api", "describe_api", "execute"]);
    done("list");

    let found = structured(call(peer, "search_api", json!({ "query": "count the entries under a key" })).await?);
    assert_eq!(found["results"][0]["name"], "records.lookup");
    done("search");

    let described = structured(call(peer, "describe_api", json!({ "name": "records.lookup" })).await?);
    assert!(described["signature"].as_str().unwrap().starts_with("records.lookup(*, key: str"), "{described}");
    done("describe");

    let executed = structured(call(peer, "execute", json!({ "source": PROGRAM })).await?);
    assert_eq!(executed, json!({ "result": true }));
    done("execute");

    let failed = call(peer, "execute", json!({ "source": MISTAKEN })).await?;
    assert_eq!((failed.is_error, &failed.structured_content), (Some(true), &None));
    let text = serde_json::to_string(&failed.content)?;
    assert!(text.contains("unknown argument") && text.contains("did you mean"), "{text}");
    done("error");

    // Word of the runs before says nothing of this one.
    tokio::select! {
        biased;
        () = word.notified() => {}
        () = std::future::ready(()) => {}
    }
    let request = ClientRequest::CallToolRequest(CallToolRequest::new(parameters("execute", json!({ "source": LONG }))));
    let request = peer.send_cancellable_request(request, PeerRequestOptions::no_options()).await?;
    word.notified().await;
    request.cancel(Some("enough".to_owned())).await?;
    let executed = structured(call(peer, "execute", json!({ "source": PROGRAM })).await?);
    assert_eq!(executed, json!({ "result": true }));
    done("cancel");
    Ok(())
}

async fn call(peer: &Peer<RoleClient>, tool: &'static str, arguments: Value) -> Result<CallToolResult, Failure> {
    Ok(peer.call_tool(parameters(tool, arguments)).await?)
}

fn parameters(tool: &'static str, arguments: Value) -> CallToolRequestParams {
    CallToolRequestParams::new(tool).with_arguments(arguments.as_object().unwrap().clone())
}

fn structured(result: CallToolResult) -> Value {
    result.structured_content.expect("a structured result")
}

fn done(step: &str) {
    println!("ok: {step}");
}
