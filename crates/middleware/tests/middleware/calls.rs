//! Audit, timing and errors.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use couplet_core::Caller;
use couplet_middleware::{Audit, AuditOutcome, AuditRecord, ErrorPolicy, Timing};
use couplet_server::{Server, ToolError, tool};
use couplet_types::RpcError;
use serde_json::json;

use crate::kit::{as_caller, call, client, in_each_revision};

fn server() -> Server {
    Server::new("s", "1")
        .tool(tool("fine", || "fine").input_schema(json!({ "type": "object" })))
        .tool(tool("failed", || Err::<String, _>(ToolError::new("no /srv/data/x"))))
        .tool(tool("broken", || Err::<String, _>(RpcError::internal("the password is 1234"))))
        .tool(tool("slow", async || {
            tokio::time::sleep(Duration::from_secs(2)).await;
            "slow"
        }))
}

#[test]
fn calls_are_recorded_without_values() {
    in_each_revision(async |version| {
        let records: Arc<Mutex<Vec<AuditRecord>>> = Arc::default();
        let all = records.clone();
        let audit = Audit::new(move |record: &AuditRecord| all.lock().unwrap().push(record.clone()));
        let client = client(server().middleware(as_caller(Caller::new("ada"))).middleware(audit), version).await;
        call(&client, "fine", json!({ "secret": "hunter2", "n": 1 })).await;
        call(&client, "failed", json!({})).await;
        assert!(client.call("broken", json!({})).await.is_err());
        let late = client.call("slow", json!({})).timeout(Duration::from_secs(1)).await;
        assert!(late.is_err());
        tokio::time::sleep(Duration::from_secs(1)).await;
        let records: Vec<_> = records.lock().unwrap().iter().filter(|r| r.method == "tools/call").cloned().collect();
        let outcomes: Vec<_> = records.iter().map(|record| record.outcome).collect();
        use AuditOutcome as O;
        assert_eq!(outcomes, [O::Succeeded, O::ToolFailed, O::Error(-32603), O::Cancelled]);
        let first = &records[0];
        assert_eq!(first.target.as_deref(), Some("fine"));
        assert_eq!(first.principal.as_deref(), Some("ada"));
        assert_eq!(first.arguments, "{n: number, secret: string(7)}");
        assert!(!format!("{records:?}").contains("hunter2"));
        assert!(records[3].time >= Duration::from_secs(1), "{:?}", records[3]);
    });
}

#[test]
fn values_are_recorded_on_request() {
    in_each_revision(async |version| {
        let records: Arc<Mutex<Vec<String>>> = Arc::default();
        let all = records.clone();
        let audit = Audit::new(move |record: &AuditRecord| all.lock().unwrap().push(record.arguments.clone())).values();
        let client = client(server().middleware(audit).middleware(Audit::tracing()), version).await;
        call(&client, "fine", json!({ "n": 1 })).await;
        assert!(records.lock().unwrap().contains(&r#"{"n":1}"#.to_owned()));
    });
}

#[test]
fn times_have_percentiles() {
    in_each_revision(async |version| {
        let timing = Timing::new();
        let client = client(server().middleware(timing.clone()), version).await;
        for _ in 0..3 {
            call(&client, "slow", json!({})).await;
        }
        assert!(client.call("broken", json!({})).await.is_err());
        assert!(client.call("there-is-none", json!({})).await.is_err());
        let times = timing.times();
        let slow = times.iter().find(|times| times.name == "slow").unwrap();
        assert_eq!((slow.count, slow.failed), (3, 0));
        let expected = Duration::from_secs(2)..Duration::from_secs(3);
        assert!(
            expected.contains(&slow.p50) && expected.contains(&slow.p99) && expected.contains(&slow.max),
            "{slow:?}"
        );
        let broken = times.iter().find(|times| times.name == "broken").unwrap();
        assert_eq!((broken.count, broken.failed), (1, 1));
        assert!(times.iter().all(|times| times.name != "there-is-none"), "names of callers are not stored: {times:?}");
        timing.reset();
        assert!(timing.times().is_empty());
    });
}

#[test]
fn errors_are_hidden_mapped_and_redacted() {
    in_each_revision(async |version| {
        let policy = ErrorPolicy::new()
            .hide_internal()
            .map(|error| if error.code == -32602 { RpcError::new(-32602, "MAPPED /srv/data") } else { error })
            .redact(|text| text.replace("/srv/data", "…"));
        let client = client(server().middleware(policy), version).await;
        let error = client.call("broken", json!({})).await.unwrap_err();
        assert_eq!(error.rpc().unwrap().message, "internal error 1");
        assert_eq!(call(&client, "failed", json!({})).await, ("no …/x".into(), true));
        let error = client.call("there-is-none", json!({})).await.unwrap_err();
        assert_eq!(error.rpc().unwrap().message, "MAPPED …");
        assert_eq!(call(&client, "fine", json!({})).await, ("fine".into(), false));
    });
}
