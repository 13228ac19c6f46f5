//! What a server does with keys.

use std::time::Duration;

use couplet::{
    server::{
        Server,
        outcomes::{MemoryOutcomes, Outcomes},
        tool,
    },
    types::ProtocolVersion,
};
use couplet_tasks::{Task, TaskTool, Tasks};
use couplet_testing::Wire;
use serde_json::{Value, json};

use super::kit::{Link, Seen, answer, call, eventually, keyed, open, open_as, tools};

#[tokio::test]
async fn a_repeated_call_gets_the_first_outcome() {
    for &version in ProtocolVersion::ALL {
        let seen = Seen::new();
        let server = tools(&seen).outcomes(MemoryOutcomes::new()).build();
        let mut wire = open(&server, version).await;
        for (number, (name, expected)) in
            [("pay", "0: run 1"), ("fail", "failed in run 2"), ("broken", "broken in run 3")].into_iter().enumerate()
        {
            for _ in 0..3 {
                assert_eq!(call(&mut wire, name, name).await, expected, "{version}");
            }
            // On another connection, too.
            let mut other = open(&server, version).await;
            let mut first = wire.request("tools/call", keyed(name, name)).await;
            let mut repeated = other.request("tools/call", keyed(name, name)).await;
            first["id"] = Value::Null;
            repeated["id"] = Value::Null;
            assert_eq!(first, repeated, "{version}");
            assert_eq!(seen.started(), number + 1, "{version}");
        }
        assert_eq!(call(&mut wire, "pay", "another").await, "0: run 4", "{version}");
    }
}

#[tokio::test]
async fn the_capability_is_declared_where_there_is_a_store() {
    for &version in ProtocolVersion::ALL {
        let (with, without) = (tools(&Seen::new()).outcomes(MemoryOutcomes::new()), tools(&Seen::new()));
        for (server, declared) in [(with.build(), true), (without.build(), false)] {
            let about = Wire::new(server, version).open().await;
            let capability = &about["result"]["capabilities"]["experimental"]["io.couplet/idempotency"];
            assert_eq!(capability.is_object(), declared, "{version}: {about}");
        }
    }
}

#[tokio::test]
async fn a_call_without_a_key_is_not_looked_up() {
    for &version in ProtocolVersion::ALL {
        let (seen, link) = (Seen::new(), Link::default());
        let server = tools(&seen).outcomes(link.clone()).build();
        let mut wire = open(&server, version).await;
        for run in 1..=3 {
            let response = wire.request("tools/call", json!({ "name": "pay", "arguments": {} })).await;
            assert_eq!(answer(&response), format!("0: run {run}"), "{version}");
        }
        assert_eq!(link.begun.load(std::sync::atomic::Ordering::SeqCst), 0, "{version}");
        // Without a store, keys have no effect.
        let mut wire = open(&tools(&seen).build(), version).await;
        assert_eq!(call(&mut wire, "pay", "k").await, "0: run 4", "{version}");
        assert_eq!(call(&mut wire, "pay", "k").await, "0: run 5", "{version}");
    }
}

#[tokio::test]
async fn a_repeated_call_waits_for_the_first() {
    for &version in ProtocolVersion::ALL {
        let seen = Seen::new();
        let server = tools(&seen).outcomes(MemoryOutcomes::new()).build();
        let (mut one, mut two) = (open(&server, version).await, open(&server, version).await);
        let first = tokio::spawn(async move { call(&mut one, "gate", "k").await });
        eventually(|| seen.started() == 1).await;
        let second = tokio::spawn(async move { call(&mut two, "gate", "k").await });
        for _ in 0..100 {
            tokio::task::yield_now().await;
        }
        assert!(!second.is_finished() && seen.started() == 1, "{version}");
        seen.gate.add_permits(1);
        assert_eq!((first.await.unwrap(), second.await.unwrap()), ("run 1".into(), "run 1".into()), "{version}");
        assert_eq!(seen.started(), 1, "{version}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_repeated_call_does_not_wait_longer_than_its_timeout() {
    for &version in ProtocolVersion::ALL {
        let (seen, store) = (Seen::new(), MemoryOutcomes::new());
        let slow = tools(&seen).timeout(None).outcomes(store.clone()).build();
        let server = tools(&seen).timeout(Duration::from_secs(10)).outcomes(store).build();
        let (mut one, mut two) = (open(&slow, version).await, open(&server, version).await);
        let first = one.start("tools/call", keyed("gate", "k"));
        let _ = one.ready();
        eventually(|| seen.started() == 1).await;
        let response = two.request("tools/call", keyed("gate", "k")).await;
        assert_eq!(response["error"]["data"], json!({ "outcome": "running" }), "{version}: {response}");
        seen.gate.add_permits(1);
        assert_eq!(answer(&one.response(first).await), "run 1", "{version}");
        assert_eq!(call(&mut two, "gate", "k").await, "run 1", "{version}");
    }
}

#[tokio::test]
async fn a_key_belongs_to_one_call_of_one_caller() {
    for &version in ProtocolVersion::ALL {
        let seen = Seen::new();
        let server = tools(&seen).outcomes(MemoryOutcomes::new()).build();
        let mut wire = open(&server, version).await;
        assert_eq!(call(&mut wire, "pay", "k").await, "0: run 1");
        for (name, arguments) in [("pay", json!({ "amount": 1 })), ("fail", json!({}))] {
            let mut params = keyed(name, "k");
            params["arguments"] = arguments;
            let response = wire.request("tools/call", params).await;
            assert_eq!(response["error"]["code"], -32602, "{version}: {response}");
        }
        // The same arguments in another order, and with other `_meta`.
        let mut params = keyed("pay", "k");
        params["_meta"]["com.example/attempt"] = json!(2);
        assert_eq!(answer(&wire.request("tools/call", params).await), "0: run 1", "{version}");
        assert_eq!(seen.started(), 1, "{version}");

        let (mut alice, mut bob) = (open_as(&server, version, "alice").await, open_as(&server, version, "bob").await);
        assert_eq!(call(&mut alice, "pay", "k").await, "0: run 2", "{version}");
        assert_eq!(call(&mut bob, "pay", "k").await, "0: run 3", "{version}");
        assert_eq!(call(&mut alice, "pay", "k").await, "0: run 2", "{version}");
        assert_eq!(call(&mut wire, "pay", "k").await, "0: run 1", "{version}");
    }
}

#[tokio::test]
async fn invalid_keys_are_refused() {
    for &version in ProtocolVersion::ALL {
        let seen = Seen::new();
        let server = tools(&seen).outcomes(MemoryOutcomes::new()).build();
        let mut wire = open(&server, version).await;
        let long = "k".repeat(129);
        for key in [json!(""), json!(long), json!("a b"), json!("ä"), json!("a\nb"), json!(7), json!({})] {
            let mut params = keyed("pay", "");
            params["_meta"]["io.couplet/idempotencyKey"] = key.clone();
            let response = wire.request("tools/call", params).await;
            assert_eq!(response["error"]["code"], -32602, "{version}: {key}: {response}");
        }
        assert_eq!(seen.started(), 0, "{version}");
        let longest = "k".repeat(128);
        assert_eq!(call(&mut wire, "pay", &longest).await, "0: run 1", "{version}");
    }
}

#[tokio::test]
async fn a_call_that_reaches_no_tool_is_not_an_outcome() {
    for &version in ProtocolVersion::ALL {
        let seen = Seen::new();
        let secret = seen.clone();
        let admin = tool("admin", move || secret.gate.add_permits(1)).scopes(["admin"]);
        let server = tools(&seen).tool(admin).outcomes(MemoryOutcomes::new()).build();
        let mut wire = open(&server, version).await;
        let refused = call(&mut wire, "later", "k").await;
        assert!(refused.contains("no tool `later`"), "{version}: {refused}");
        server.add_tool(tool("later", || "here")).unwrap();
        assert_eq!(call(&mut wire, "later", "k").await, "here", "{version}");
        let refused = call(&mut wire, "admin", "a").await;
        assert!(refused.contains("admin"), "{version}: {refused}");
        assert_eq!(seen.gate.available_permits(), 0, "{version}");
    }
}

#[tokio::test]
async fn a_lost_connection_does_not_end_the_call() {
    for &version in ProtocolVersion::ALL {
        let seen = Seen::new();
        let server = tools(&seen).outcomes(MemoryOutcomes::new()).build();
        let mut wire = open(&server, version).await;
        wire.start("tools/call", keyed("gate", "k"));
        let _ = wire.ready();
        eventually(|| seen.started() == 1).await;
        drop(wire);
        seen.gate.add_permits(1);
        let mut wire = open(&server, version).await;
        assert_eq!(call(&mut wire, "gate", "k").await, "run 1", "{version}");
        assert_eq!((seen.started(), seen.dropped()), (1, 0), "{version}");
    }
}

#[tokio::test]
async fn a_client_can_cancel_the_call() {
    for &version in ProtocolVersion::ALL {
        let seen = Seen::new();
        let server = tools(&seen).outcomes(MemoryOutcomes::new()).build();
        let mut wire = open(&server, version).await;
        let id = wire.start("tools/call", keyed("gate", "k"));
        let _ = wire.ready();
        eventually(|| seen.started() == 1).await;
        let cancelled = json!({ "requestId": id });
        wire.send(&json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": cancelled }));
        eventually(|| seen.dropped() == 1).await;
        let response = wire.request("tools/call", keyed("gate", "k")).await;
        assert_eq!(response["error"]["data"], json!({ "outcome": "cancelled" }), "{version}: {response}");
        assert_eq!(seen.started(), 1, "{version}");
    }
}

#[tokio::test]
async fn the_number_of_calls_is_limited() {
    for &version in ProtocolVersion::ALL {
        let seen = Seen::new();
        let server = tools(&seen).outcomes(Outcomes::new(MemoryOutcomes::new()).max_running(1)).build();
        let (mut one, mut two) = (open(&server, version).await, open(&server, version).await);
        let first = tokio::spawn(async move { call(&mut one, "gate", "k").await });
        eventually(|| seen.started() == 1).await;
        let response = two.request("tools/call", keyed("pay", "other")).await;
        assert_eq!(response["error"]["data"], json!({ "outcome": "not executed" }), "{version}: {response}");
        seen.gate.add_permits(1);
        assert_eq!(first.await.unwrap(), "run 1", "{version}");
        // The place is free when the task has ended.
        tokio::task::yield_now().await;
        assert_eq!(call(&mut two, "pay", "other").await, "0: run 2", "{version}");
    }
}

#[tokio::test]
async fn a_result_that_is_too_large_is_not_computed_again() {
    for &version in ProtocolVersion::ALL {
        let seen = Seen::new();
        let server = tools(&seen).outcomes(MemoryOutcomes::new()).build();
        let mut wire = open(&server, version).await;
        assert_eq!(call(&mut wire, "large", "k").await.len(), 1 << 20, "{version}");
        let response = wire.request("tools/call", keyed("large", "k")).await;
        assert_eq!(response["error"]["data"], json!({ "outcome": "too large" }), "{version}");
        assert_eq!(seen.started(), 1, "{version}");
    }
}

#[tokio::test]
async fn an_outcome_is_converted_to_the_revision_of_the_repeated_call() {
    let seen = Seen::new();
    let server = tools(&seen).outcomes(MemoryOutcomes::new()).build();
    for &first in ProtocolVersion::ALL {
        let key = first.as_str();
        let expected = call(&mut open(&server, first).await, "pay", key).await;
        for &version in ProtocolVersion::ALL {
            let response = open(&server, version).await.request("tools/call", keyed("pay", key)).await;
            assert_eq!(answer(&response), expected, "{first} {version}");
            let fresh = open(&server, version).await.request("tools/call", json!({ "name": "pay" })).await;
            let members =
                |response: &Value| -> Vec<String> { response["result"].as_object().unwrap().keys().cloned().collect() };
            assert_eq!(members(&response), members(&fresh), "{first} {version}");
        }
    }
}

#[tokio::test]
async fn tools_of_mounted_servers_are_called_once() {
    for &version in ProtocolVersion::ALL {
        let (seen, store) = (Seen::new(), MemoryOutcomes::new());
        // Both share the store.
        let inner = tools(&seen).outcomes(store.clone());
        let outer = tools(&seen).mount("m", inner).outcomes(store).build();
        let mut wire = open(&outer, version).await;
        for _ in 0..2 {
            assert_eq!(call(&mut wire, "m_pay", "k").await, "0: run 1", "{version}");
        }
        assert_eq!(call(&mut wire, "key", "seen").await, "seen", "a handler knows the key: {version}");
        assert_eq!(call(&mut wire, "m_key", "unseen").await, "", "a mounted server does not: {version}");
        let bare = Server::<()>::new("outer", "1").mount("m", tools(&seen).outcomes(MemoryOutcomes::new())).build();
        let mut wire = open(&bare, version).await;
        for _ in 0..2 {
            assert_eq!(call(&mut wire, "m_pay", "k").await, "0: run 2", "it is left to the mounted server: {version}");
        }
    }
}

#[tokio::test]
async fn a_repeated_call_finds_its_task() {
    let task = |response: &Value| {
        let result = &response["result"];
        let task = if result["task"].is_object() { &result["task"] } else { result };
        task["taskId"].as_str().unwrap_or_else(|| panic!("no task: {response}")).to_owned()
    };
    let tasks = "io.modelcontextprotocol/tasks";
    for (version, params) in
        [(ProtocolVersion::V2025_11_25, json!({ "task": {} })), (ProtocolVersion::V2026_07_28, json!({}))]
    {
        let server = Server::<()>::new("jobs", "1")
            .tool(tool("job", || async { std::future::pending::<String>().await }).task(Task::optional()))
            .extension(Tasks::in_memory())
            .outcomes(MemoryOutcomes::new())
            .build();
        let capabilities = serde_json::from_value(json!({ "extensions": { tasks: {} } })).unwrap();
        let mut wire = Wire::with(server, version, capabilities, couplet_core::Limits::default());
        wire.open().await;
        let mut call = async |key: &str| {
            let mut params = params.clone();
            keyed("job", key).as_object().unwrap().iter().for_each(|(key, value)| params[key] = value.clone());
            task(&wire.request("tools/call", params).await)
        };
        let (first, repeated, other) = (call("a").await, call("a").await, call("b").await);
        assert!(first == repeated && first != other, "{version}: {first} {repeated} {other}");
    }
}
