//! Servers and clients with one middleware each.

use std::{sync::Arc, time::Duration};

use couplet::{
    core::{Caller, IntoService, Service},
    middleware::{
        Audit, AuditRecord, CircuitBreaker, Coercion, ConcurrencyLimit, ErrorPolicy, Item, RateLimit, ResponseCache,
        ResponseLimit, Retry, Spill, Tags, Timing, Visibility,
        client::{ClientLog, ClientRecord, ClientRetry, ClientTiming},
    },
    prelude::*,
    transform::{ToolSearch, ToolTransform, Transform},
};
use serde_json::json;

use crate::kit::{Wire, request};

/// The rows of the table. Those of clients include the server.
pub(crate) const ROWS: [&str; 24] = [
    "none",
    "Audit",
    "CircuitBreaker",
    "Coercion",
    "Coercion, converting",
    "ConcurrencyLimit",
    "ErrorPolicy",
    "RateLimit",
    "ResponseCache, hit",
    "ResponseCache, miss",
    "ResponseLimit",
    "ResponseLimit with Spill",
    "Retry",
    "Timing",
    "ToolSearch",
    "ToolSearch, call_tool",
    "Transform, renamed",
    "Transform, preset",
    "Visibility",
    "Visibility by Tags",
    "client, none",
    "client, ClientLog",
    "client, ClientRetry",
    "client, ClientTiming",
];

const VERSION: &str = "2025-11-25";
const HOUR: Duration = Duration::from_secs(3600);

/// Makes a number of calls.
pub(crate) type Calls = Box<dyn FnMut(u32)>;

pub(crate) fn calls(row: &str) -> Calls {
    if row.starts_with("client") {
        return from_client(row);
    }
    let arguments = match row {
        "Coercion, converting" => json!({ "text": "hello, world", "times": "1" }),
        _ => json!({ "text": "hello, world" }),
    };
    let call = match row {
        "ToolSearch, call_tool" => {
            json!({ "name": "call_tool", "arguments": { "name": "echo", "arguments": arguments } })
        }
        "Transform, renamed" => json!({ "name": "say", "arguments": arguments }),
        _ => json!({ "name": "echo", "arguments": arguments }),
    };
    let request = request(VERSION, "tools/call", call);
    let mut wire = Wire::with(service(row), VERSION);
    Box::new(move |count| {
        for _ in 0..count {
            let answer = wire.ask(request.clone());
            assert!(answer.len() > 40 && answer.len() < 300, "{answer:?}");
        }
    })
}

/// Return the text unchanged
#[tool(read_only)]
fn echo(
    /// text to return
    text: String,
    /// how often
    times: Option<u32>,
) -> String {
    text.repeat(times.unwrap_or(1) as usize)
}

fn server() -> Server {
    Server::new("bench", "1.0.0").tool(echo)
}

fn service(row: &str) -> Arc<dyn Service> {
    let server = server();
    let nothing = |_: &AuditRecord| {};
    let all = |_: Option<&Caller>, item: Item<'_>| item != Item::Tool("hidden");
    let server = match row {
        "none" => server,
        "Audit" => server.middleware(Audit::new(nothing)),
        "CircuitBreaker" => server.middleware(CircuitBreaker::new(5, HOUR)),
        "Coercion" | "Coercion, converting" => server.middleware(Coercion::new()),
        "ConcurrencyLimit" => server.middleware(ConcurrencyLimit::new(8).tool("echo", 4)),
        "ErrorPolicy" => server.middleware(ErrorPolicy::new().hide_internal().redact(str::to_owned)),
        "RateLimit" => server.middleware(RateLimit::in_memory(u32::MAX, HOUR).per_tool()),
        "ResponseCache, hit" => server.middleware(ResponseCache::new(HOUR)),
        "ResponseCache, miss" => server.middleware(ResponseCache::new(Duration::ZERO)),
        "ResponseLimit" => server.middleware(ResponseLimit::new(100_000)),
        "ResponseLimit with Spill" => {
            let spill = Spill::new();
            server.resource(spill.resource()).middleware(ResponseLimit::new(100_000).spill(&spill))
        }
        "Retry" => server.middleware(Retry::new(3)),
        "Timing" => server.middleware(Timing::new()),
        "ToolSearch" | "ToolSearch, call_tool" => return ToolSearch::new(server).into_service(),
        "Transform, renamed" => {
            return Transform::new(server).tool("echo", ToolTransform::new().name("say")).into_service();
        }
        "Transform, preset" => {
            let echo = ToolTransform::new().preset("times", json!(1));
            return Transform::new(server).tool("echo", echo).into_service();
        }
        "Visibility" => return Visibility::new(server, all).into_service(),
        "Visibility by Tags" => {
            return Visibility::by_tags(server, Tags::new().tools("plain", ["echo"])).into_service();
        }
        _ => panic!("there is no row `{row}`"),
    };
    server.into_service()
}

fn from_client(row: &str) -> Calls {
    let client = Client::new("bench", "1.0.0");
    let client = match row {
        "client, none" => client,
        "client, ClientLog" => client.middleware(ClientLog::new(|_: &ClientRecord| {})),
        "client, ClientRetry" => client.middleware(ClientRetry::new(3).tool("echo")),
        "client, ClientTiming" => client.middleware(ClientTiming::new()),
        _ => panic!("there is no row `{row}`"),
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    let client = runtime.block_on(client.connect(server().build())).expect("a connection");
    let arguments = json!({ "text": "hello, world" });
    Box::new(move |count| {
        runtime.block_on(async {
            for _ in 0..count {
                let answer = client.call("echo", &arguments).await.expect("an answer");
                assert_eq!(answer.text().len(), 12);
            }
        });
    })
}
