//! A server with ready-made middleware, and a client with its own: limits, large results in parts, a cache, conversions of
//! arguments, tools that only some callers see. The guide explains the order.

use std::{
    sync::atomic::{AtomicU32, Ordering},
    time::Duration,
};

use couplet::{
    ProtocolVersion,
    core::{Caller, IntoService},
    middleware::{
        Audit, AuditRecord, Coercion, ErrorPolicy, Item, RateLimit, ResponseCache, ResponseLimit, Spill, Timing,
        Visibility,
        client::{ClientRetry, ClientTiming},
    },
    prelude::*,
    types::{ContentBlock, RpcError},
};
use serde_json::json;

static SEARCHES: AtomicU32 = AtomicU32::new(0);

/// Finds lines of a large archive.
#[tool(read_only)]
fn search(word: String, lines: usize) -> String {
    SEARCHES.fetch_add(1, Ordering::SeqCst);
    (1..=lines).map(|line| format!("{line}: {word}\n")).collect()
}

/// Reads the clock in the tower.
#[tool]
fn clock() -> Result<String, RpcError> {
    Err(RpcError::internal("cannot open /srv/tower/clock"))
}

/// Deletes everything.
#[tool]
fn delete_all() -> &'static str {
    "gone"
}

/// Hides what deletes from callers who are not administrators.
fn rule(caller: Option<&Caller>, item: Item<'_>) -> bool {
    match item {
        Item::Tool(name) if name.starts_with("delete") => caller.is_some_and(|caller| caller.has_scope("admin")),
        _ => true,
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> couplet::Result<()> {
    for &version in ProtocolVersion::ALL {
        SEARCHES.store(0, Ordering::SeqCst);
        let (timing, spill) = (Timing::new(), Spill::new());
        let audit = Audit::new(|record: &AuditRecord| {
            println!("{:?} with {}: {:?}", record.target, record.arguments, record.outcome);
        });
        let server = Server::new("archive", "1.0.0")
            .tool(search)
            .tool(clock)
            .tool(delete_all)
            .resource(spill.resource())
            .middleware(audit)
            .middleware(timing.clone())
            .middleware(ErrorPolicy::new().hide_internal())
            .middleware(RateLimit::in_memory(5, Duration::from_secs(60)).per_tool().tools_only())
            .middleware(ResponseLimit::new(2_000).spill(&spill))
            .middleware(Coercion::new())
            .middleware(ResponseCache::new(Duration::from_secs(60)));
        let service = Visibility::new(server, rule).into_service();

        let times = ClientTiming::new();
        let client = Client::new("desk", "1.0.0").versions([version]);
        let client = client.middleware(times.clone()).middleware(ClientRetry::new(3)).connect(service).await?;

        // The number is in a string, as some models send it, and the second call is answered from the cache.
        for lines in [json!("2"), json!(2)] {
            let found = client.call("search", json!({ "word": "tram", "lines": lines })).await?;
            assert_eq!(found.into_result()?.text(), "1: tram\n2: tram\n");
        }
        assert_eq!(SEARCHES.load(Ordering::SeqCst), 1);

        // A large result is truncated, and can be read in parts.
        let found = client.call("search", json!({ "word": "bus", "lines": 300 })).await?;
        let mut whole = String::new();
        for block in found.content() {
            if let ContentBlock::ResourceLink(link) = block {
                whole += &client.read(link.uri.as_str()).await?.all_text();
            }
        }
        // Older revisions have the links as text.
        assert!(whole.is_empty() || whole.starts_with("1: bus\n2: bus\n"), "{whole}");

        // An internal error reveals nothing, and a hidden tool does not exist.
        let error = client.call("clock", ()).await.expect_err("the clock is broken");
        assert!(error.to_string().contains("internal error 1"), "{error}");
        assert!(client.tools().await?.iter().all(|tool| tool.name != "delete_all"));
        assert!(client.call("delete_all", ()).await.is_err());

        // Too many calls of one tool.
        let mut refused = 0;
        for _ in 0..5 {
            refused += u32::from(client.call("search", json!({ "word": "tram", "lines": 2 })).await?.is_error());
        }
        assert_eq!(refused, 3);
        assert_eq!(timing.times().iter().find(|times| times.name == "search").map(|times| times.count), Some(8));
        assert!(times.times().iter().any(|times| times.name == "search" && times.count == 8));
        println!("{version}: {refused} calls were refused");
        client.close().await?;
    }
    Ok(())
}
