//! Sessions over HTTP that are opened and never deleted.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use couplet_http::server::HttpLimits;
use serde_json::json;
use tokio::task::JoinSet;

use crate::{
    kit::{File, SHORT, Upstream, size},
    wire::{Wire, is_alone, memory, serve},
};

/// The variable with the number of open sessions.
const SESSIONS: &str = "COUPLET_IDLE_SESSIONS";
/// The memory of an idle session in bytes, and with so few sessions that the memory of connections and of the allocator
/// counts.
const EACH: usize = 4 << 10;
const EACH_OF_FEW: usize = 16 << 10;
/// Of so many sessions, one calls a tool before it is idle, and one is used again in the end.
const CALLS: usize = 10;
const USED_AGAIN: usize = 100;

/// Opens sessions on eight connections; returns some of them.
async fn open(address: std::net::SocketAddr, sessions: usize) -> Vec<Arc<str>> {
    let next = Arc::new(AtomicUsize::new(0));
    let mut work = JoinSet::new();
    for _ in 0..8 {
        let next = next.clone();
        work.spawn(async move {
            let (mut wire, mut some) = (Wire::connect(address).await, Vec::new());
            loop {
                let at = next.fetch_add(1, Ordering::Relaxed);
                if at >= sessions {
                    return some;
                }
                let session = wire.open().await;
                let list = json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/list" });
                let list = wire.post(Some(&session), &list).await.body;
                assert!(list.contains("one__a"), "{list}");
                if at.is_multiple_of(CALLS) {
                    let text = wire.call(&session, "one__a").await;
                    assert!(text.contains("\"text\":\"a\""), "{text}");
                }
                if at.is_multiple_of(USED_AGAIN) {
                    some.push(session);
                }
            }
        });
    }
    work.join_all().await.concat()
}

/// A session that waits for its client needs little memory, and is there when the client comes back.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn acceptance_08_sessions_that_are_never_deleted_are_small() {
    let sessions = size(SESSIONS, 2_000);
    let one = Upstream::start(&["a"]).await;
    let file = File::new(&format!(r#"{{ "mcpServers": {{ "one": {} }} }}"#, one.entry("")));
    let gateway = file.start().await.unwrap();
    gateway.ready(SHORT).await;
    let most = sessions * 2;
    let limits = HttpLimits::default().sessions(most).sessions_per_address(most).openings(1 << 30);
    let (address, serving) = serve(&gateway, limits.idle(Duration::from_secs(6 * 60 * 60))).await;
    // Connections, caches and arenas are there first.
    open(address, sessions / 10).await;
    let (before, began) = (memory(), Instant::now());
    let some = open(address, sessions).await;
    let took = began.elapsed();
    let after = memory();
    let each = after.unwrap_or_default().saturating_sub(before.unwrap_or_default()) / sessions;
    let mut wire = Wire::connect(address).await;
    for session in &some {
        let text = wire.call(session, "one__a").await;
        assert!(text.contains("\"text\":\"a\""), "{text}");
    }
    println!(
        "acceptance 8: {sessions} sessions over HTTP that are never deleted, in {} s: {} MiB before, {} MiB after, {each} \
         bytes for each; {} of them are used again",
        took.as_secs(),
        before.unwrap_or_default() >> 20,
        after.unwrap_or_default() >> 20,
        some.len()
    );
    if is_alone(SESSIONS) {
        let bound = if std::env::var_os(SESSIONS).is_some() { EACH } else { EACH_OF_FEW };
        assert!(each <= bound, "{each} bytes for each session");
    }
    gateway.close().await;
    serving.abort();
}
