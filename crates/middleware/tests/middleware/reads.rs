//! The cache, retries, circuit breakers and coercion.

use std::time::Duration;

use couplet_client::Client;
use couplet_middleware::{CircuitBreaker, Coercion, ResponseCache, Retry};
use couplet_server::{Ctx, Server, ToolError, extract::Args, resource, tool};
use couplet_types::{ElicitSchema, PrimitiveSchema, ProtocolVersion, RpcError};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use crate::kit::{Count, call, client, in_each_revision};

const SECOND: Duration = Duration::from_secs(1);

#[derive(Deserialize, JsonSchema)]
struct Input {
    n: u32,
    tags: Option<Vec<String>>,
}

#[test]
fn results_of_read_only_tools_are_cached() {
    in_each_revision(async |version| {
        let (reads, writes) = (Count::default(), Count::default());
        let (read, write) = (reads.clone(), writes.clone());
        let cache = ResponseCache::new(60 * SECOND);
        let server = Server::new("s", "1")
            .tool(tool("read", move |Args(input): Args<Input>| format!("{}: {}", input.n, read.add())).read_only())
            .tool(tool("write", move || write.add().to_string()))
            .middleware(cache.clone());
        let client = client(server, version).await;
        assert_eq!(call(&client, "read", json!({ "n": 1 })).await.0, "1: 1");
        assert_eq!(call(&client, "read", json!({ "n": 1 })).await.0, "1: 1");
        assert_eq!(call(&client, "read", json!({ "n": 2 })).await.0, "2: 2");
        tokio::time::advance(61 * SECOND).await;
        assert_eq!(call(&client, "read", json!({ "n": 1 })).await.0, "1: 3");
        cache.clear();
        assert_eq!(call(&client, "read", json!({ "n": 1 })).await.0, "1: 4");
        assert_eq!(
            (call(&client, "write", json!({})).await.0, call(&client, "write", json!({})).await.0),
            ("1".into(), "2".into())
        );
        assert_eq!((reads.get(), writes.get()), (4, 2));
    });
}

#[test]
fn the_cache_is_bounded_and_has_no_failures() {
    in_each_revision(async |version| {
        let count = Count::default();
        let server = Server::new("s", "1")
            .tool(tool("read", {
                let count = count.clone();
                move |Args(input): Args<Input>| match input.n {
                    0 => Err(ToolError::new(format!("failed {}", count.add()))),
                    n => Ok(format!("{n}: {}", count.add())),
                }
            }))
            .middleware(ResponseCache::new(60 * SECOND).tool("read").max_entries(1).max_bytes(1_000));
        let client = client(server, version).await;
        assert_eq!(call(&client, "read", json!({ "n": 0 })).await.0, "failed 1");
        assert_eq!(call(&client, "read", json!({ "n": 0 })).await.0, "failed 2");
        assert_eq!(call(&client, "read", json!({ "n": 1 })).await.0, "1: 3");
        assert_eq!(call(&client, "read", json!({ "n": 2 })).await.0, "2: 4");
        assert_eq!(call(&client, "read", json!({ "n": 2 })).await.0, "2: 4");
        assert_eq!(call(&client, "read", json!({ "n": 1 })).await.0, "1: 5");
        // Arguments are stored with the result.
        let long = json!({ "n": 3, "tags": ["x".repeat(1_000)] });
        assert_eq!(call(&client, "read", long.clone()).await.0, "3: 6");
        assert_eq!(call(&client, "read", long).await.0, "3: 7");
    });
}

/// A tool that elicits input, which has sessions or rounds.
async fn asking(version: ProtocolVersion) -> Option<Client> {
    let ask = tool("ask", async |ctx: Ctx| {
        let schema = ElicitSchema::new().required("name", PrimitiveSchema::string());
        let form = couplet_types::ElicitParams::form("Name?", &schema);
        let answer = ctx.elicit_with("name", form).await?;
        Ok::<_, RpcError>(serde_json::to_string(&answer.content).unwrap())
    });
    let server = Server::new("s", "1")
        .tool(ask.read_only())
        .middleware(ResponseCache::new(60 * SECOND))
        .middleware(Retry::new(3));
    let asked = Count::default();
    let client = couplet_client::Client::new("test", "1").versions([version]).on_elicit(move |ask| {
        let number = asked.add();
        async move { ask.accept(json!({ "name": number.to_string() })) }
    });
    let client = client.connect(server.build()).await.unwrap();
    // Elicitation exists since 2025-06-18.
    let can = client.call("ask", json!({})).await.is_ok_and(|result| !result.is_error());
    can.then_some(client)
}

#[test]
fn results_that_needed_input_are_not_cached() {
    let ran = Count::default();
    in_each_revision(async |version| {
        let Some(client) = asking(version).await else { return };
        assert_eq!(call(&client, "ask", json!({})).await.0, r#"{"name":"2"}"#);
        assert_eq!(call(&client, "ask", json!({})).await.0, r#"{"name":"3"}"#);
        ran.add();
    });
    assert_eq!(ran.get(), 3, "three revisions have elicitation");
}

#[test]
fn failed_reads_are_repeated() {
    in_each_revision(async |version| {
        let (reads, writes, refusals, pages) = (Count::default(), Count::default(), Count::default(), Count::default());
        let failing = |count: Count, good: u32| {
            move || match count.add() {
                n if n < good => Err(RpcError::internal("not yet")),
                n => Ok(n.to_string()),
            }
        };
        let (refused, page) = (refusals.clone(), pages.clone());
        let server = Server::new("s", "1")
            .tool(tool("read", failing(reads.clone(), 3)).read_only())
            .tool(tool("write", failing(writes.clone(), 2)))
            .tool(
                tool("refused", move || {
                    refused.add();
                    Err::<String, _>(RpcError::invalid_params("never"))
                })
                .read_only(),
            )
            .resource(resource("test://page", move || match page.add() {
                1 => Err(RpcError::internal("not yet")),
                _ => Ok("page"),
            }))
            .middleware(Retry::new(3));
        let client = client(server, version).await;
        assert_eq!(call(&client, "read", json!({})).await, ("3".into(), false));
        assert!(client.call("write", json!({})).await.is_err(), "a write is not repeated");
        assert!(client.call("refused", json!({})).await.is_err());
        client.read("test://page").await.unwrap();
        assert_eq!((reads.get(), writes.get(), refusals.get(), pages.get()), (3, 1, 1, 2));
    });
}

#[test]
fn a_failing_tool_is_not_called_for_a_while() {
    in_each_revision(async |version| {
        let count = Count::default();
        let calls = count.clone();
        let failing = tool("failing", move || match calls.add() {
            1..=3 => Err(RpcError::internal("down")),
            n => Ok(n.to_string()),
        });
        let server = Server::new("s", "1")
            .tool(failing)
            .tool(tool("fine", || "fine"))
            .middleware(CircuitBreaker::new(2, 30 * SECOND));
        let client = client(server, version).await;
        for _ in 0..2 {
            assert!(client.call("failing", json!({})).await.is_err());
        }
        let (text, failed) = call(&client, "failing", json!({})).await;
        assert!(failed && text.contains("is not called for now; retry in "), "{text}");
        assert_eq!(call(&client, "fine", json!({})).await.0, "fine");
        assert_eq!(count.get(), 2);
        // The trial fails, and the next one succeeds.
        tokio::time::advance(30 * SECOND).await;
        assert!(client.call("failing", json!({})).await.is_err());
        assert!(call(&client, "failing", json!({})).await.1);
        tokio::time::advance(30 * SECOND).await;
        assert_eq!(call(&client, "failing", json!({})).await, ("4".into(), false));
        assert_eq!(call(&client, "failing", json!({})).await, ("5".into(), false));
    });
}

#[test]
fn arguments_are_converted_where_the_schema_says_so() {
    in_each_revision(async |version| {
        let show = |Args(input): Args<Input>| format!("{} {:?}", input.n, input.tags);
        let with = client(Server::new("s", "1").tool(tool("show", show)).middleware(Coercion::new()), version).await;
        let arguments = json!({ "n": "3", "tags": "red" });
        assert_eq!(call(&with, "show", arguments.clone()).await, ("3 Some([\"red\"])".into(), false));
        let list = json!({ "n": 3, "tags": "[\"red\",\"blue\"]" });
        assert_eq!(call(&with, "show", list).await.0, "3 Some([\"red\", \"blue\"])");
        let without = client(Server::new("s", "1").tool(tool("show", show)), version).await;
        let refused = without.call("show", arguments).await;
        assert!(refused.is_err() || refused.is_ok_and(|result| result.is_error()));
    });
}
