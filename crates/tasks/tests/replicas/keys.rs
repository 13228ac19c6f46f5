//! Idempotency keys: a task whose id was lost is found again.

use std::time::Duration;

use couplet_tasks::CallTask;
use couplet_types::{TaskStatus, code};
use serde_json::json;

use crate::kit::{REVISIONS, Replica, count, shared, task, until};

#[tokio::test(start_paused = true)]
async fn a_key_finds_the_task_again_on_every_replica() {
    for version in REVISIONS {
        let store = shared();
        let (a, b) = (Replica::new(&store, version).await, Replica::new(&store, version).await);
        let call = |replica: &Replica, key: &str, number: usize| {
            replica.client.call_task("hold", json!({ "number": number })).idempotency_key(key).into_future()
        };
        let first = task(call(&a, "k", 1).await.unwrap());
        for replica in [&a, &b] {
            assert_eq!(task(call(replica, "k", 1).await.unwrap()).id(), first.id(), "{version}");
        }
        let other = task(call(&b, "other", 1).await.unwrap());
        assert_ne!(other.id(), first.id(), "{version}");
        until("both run", async || count(&a.log.runs) + count(&b.log.runs) == 2).await;
        let refused = call(&b, "k", 2).await.unwrap_err();
        assert_eq!(refused.rpc().map(|error| error.code), Some(code::INVALID_PARAMS), "{version}: {refused}");
        assert!(refused.to_string().contains("idempotency key"), "{version}: {refused}");
        a.log.go.notify_one();
        assert_eq!(first.wait().await.unwrap().text(), "number 1", "{version}");
        // Also when it is over.
        let again = task(call(&b, "k", 1).await.unwrap());
        assert_eq!(again.wait().await.unwrap().text(), "number 1", "{version}");
        assert_eq!((count(&a.log.runs), count(&b.log.runs)), (1, 1), "{version}");
    }
}

/// Many repetitions at once, and all of them have one task.
#[tokio::test(start_paused = true)]
async fn repetitions_at_once_run_once() {
    for version in REVISIONS {
        let store = shared();
        let (a, b) = (Replica::new(&store, version).await, Replica::new(&store, version).await);
        let calls = (0..20).map(|n| {
            let client = if n % 2 == 0 { &a.client } else { &b.client };
            tokio::spawn(client.call_task("hold", ()).idempotency_key("k").into_future())
        });
        let calls: Vec<_> = calls.collect();
        let mut ids = Vec::new();
        for call in calls {
            ids.push(task(call.await.unwrap().unwrap()).id().to_owned());
        }
        ids.dedup();
        assert_eq!(ids.len(), 1, "{version}");
        until("it runs", async || count(&a.log.runs) + count(&b.log.runs) == 1).await;
        a.client.task(&*ids[0]).cancel().await.unwrap();
        assert_eq!(b.client.task(&*ids[0]).state().await.unwrap().status, TaskStatus::Cancelled, "{version}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_key_that_is_not_valid_is_refused() {
    for version in REVISIONS {
        let replica = Replica::new(&shared(), version).await;
        for key in [String::new(), "a b".to_owned(), "ä".to_owned(), "x".repeat(129)] {
            let error = replica.client.call_task("hold", ()).idempotency_key(key).await.unwrap_err();
            assert!(error.to_string().contains("1 to 128 visible ASCII"), "{version}: {error}");
        }
        for key in [json!(""), json!(1), json!("a b"), json!("x".repeat(129))] {
            let meta = couplet_types::Meta::new().with("io.couplet/idempotencyKey", key);
            let mut params = couplet_types::CallToolParams::new("hold").task(couplet_types::TaskMetadata::new());
            params.meta = Some(meta);
            let error = replica.client.request::<couplet_types::CallTool>(params).raw_outcome().await.unwrap_err();
            assert_eq!(error.rpc().map(|error| error.code), Some(code::INVALID_PARAMS), "{version}: {error}");
        }
        assert_eq!(count(&replica.log.runs), 0, "{version}");
    }
}

/// The client is gone before it has the answer: the task runs, and the key finds it.
#[tokio::test(start_paused = true)]
async fn a_call_that_was_cut_has_begun() {
    for version in REVISIONS {
        let store = shared();
        let (a, b) = (Replica::new(&store, version).await, Replica::new(&store, version).await);
        let call = |replica: &Replica| replica.client.call_task("hold", ()).idempotency_key("k").into_future();
        a.link.slow(true);
        let cut = tokio::spawn(call(&a));
        tokio::time::sleep(Duration::from_millis(500)).await;
        cut.abort();
        drop(cut.await);
        assert_eq!(count(&a.log.runs), 0, "{version}");
        until("it runs", async || count(&a.log.runs) == 1).await;
        let found = task(call(&b).await.unwrap());
        a.log.go.notify_one();
        assert_eq!(found.wait().await.unwrap().text(), "number 0", "{version}");
        assert_eq!(count(&b.log.runs), 0, "{version}");
    }
}
