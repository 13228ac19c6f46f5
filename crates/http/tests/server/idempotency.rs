//! Calls with an idempotency key whose connection is lost.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use couplet_http::server::Endpoint;
use couplet_server::{
    Ctx, Server, ServerHandle,
    outcomes::{MemoryOutcomes, Outcomes},
    tool,
};
use serde_json::{Value, json};
use tokio::sync::Semaphore;

use crate::support::{Session, VERSIONS, alone, call, eventually, meta, send};

/// A replica whose tool counts its runs, and ends each when there is a permit.
pub(crate) fn replica(store: &MemoryOutcomes, runs: &Arc<AtomicUsize>, gate: &Arc<Semaphore>) -> Endpoint {
    Endpoint::new(shop(store, runs, gate))
}

pub(crate) fn shop(store: &MemoryOutcomes, runs: &Arc<AtomicUsize>, gate: &Arc<Semaphore>) -> ServerHandle {
    let (runs, gate) = (runs.clone(), gate.clone());
    let pay = move |ctx: Ctx| {
        let (runs, gate) = (runs.clone(), gate.clone());
        async move {
            let run = runs.fetch_add(1, Ordering::SeqCst) + 1;
            ctx.progress(0.5, "working").await;
            gate.acquire().await.unwrap().forget();
            format!("run {run}")
        }
    };
    Server::<()>::new("shop", "1").tool(tool("pay", pay)).outcomes(Outcomes::new(store.clone())).build()
}

pub(crate) fn keyed(mut meta: Value) -> Value {
    meta["io.couplet/idempotencyKey"] = json!("k");
    json!({ "name": "pay", "arguments": {}, "_meta": meta })
}

#[tokio::test(start_paused = true)]
async fn a_stateless_call_is_finished_and_its_outcome_found_on_another_replica() {
    let (store, runs, gate) = (MemoryOutcomes::new(), Arc::default(), Arc::new(Semaphore::new(0)));
    let (here, there) = (replica(&store, &runs, &gate), replica(&store, &runs, &gate));
    let mut first = send(&here, alone("tools/call", keyed(meta()), &[])).await;
    first.body.message().await.unwrap();
    // The client disconnects, which would cancel another call.
    drop(first);
    let second = tokio::spawn(async move {
        let mut reply = send(&there, alone("tools/call", keyed(meta()), &[])).await;
        String::from_utf8(reply.body.text().await.to_vec()).unwrap()
    });
    tokio::time::sleep(std::time::Duration::from_secs(5)).await;
    gate.add_permits(1);
    let text = second.await.unwrap();
    assert!(text.contains("run 1"), "{text}");
    assert_eq!(runs.load(Ordering::SeqCst), 1);
}

#[tokio::test(start_paused = true)]
async fn a_call_of_a_session_that_is_gone_is_found_in_the_next_one() {
    for version in VERSIONS {
        let (store, runs, gate) = (MemoryOutcomes::new(), Arc::default(), Arc::new(Semaphore::new(0)));
        let endpoint = replica(&store, &runs, &gate);
        let params = keyed(json!({ "progressToken": 1 }));
        let session = Session::open(&endpoint, version).await;
        let mut first = session.post(&call(1, "tools/call", &params)).await;
        first.body.message().await.unwrap();
        session.delete().await;
        drop((first, session));
        eventually(|| endpoint.session_count() == 0).await;
        let session = Session::open(&endpoint, version).await;
        gate.add_permits(1);
        let mut second = session.post(&call(1, "tools/call", &params)).await;
        let text = String::from_utf8(second.body.text().await.to_vec()).unwrap();
        assert!(text.contains("run 1"), "{version}: {text}");
        assert_eq!(runs.load(Ordering::SeqCst), 1, "{version}");
    }
}
