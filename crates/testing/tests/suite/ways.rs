//! Ways from a handler to its client: who is at the other end, and whether anybody still is.

use std::sync::{Arc, Mutex};

use couplet_core::Outbox;
use couplet_server::{Ctx, Server, ServerHandle, tool};
use couplet_testing::connect;
use couplet_types::ProtocolVersion;

fn server(kept: Arc<Mutex<Vec<Outbox>>>) -> ServerHandle {
    let keep = move |ctx: Ctx| {
        let outbox = ctx.call().outbox.clone();
        kept.lock().expect("nobody panics here").extend([outbox.lasting(), outbox]);
        "kept"
    };
    Server::new("s", "1").tool(tool("keep", keep)).build()
}

#[tokio::test]
async fn a_way_is_known_by_its_client_and_ends_with_it() {
    for &version in ProtocolVersion::ALL {
        let kept: Arc<Mutex<Vec<Outbox>>> = Arc::default();
        let server = server(kept.clone());
        let first = connect(server.clone(), version).await.unwrap();
        let second = connect(server.clone(), version).await.unwrap();
        for client in [&first, &first, &second] {
            client.call("keep", ()).await.unwrap();
        }
        let ways = kept.lock().unwrap().clone();
        let [once, over, again, _, other, _] = &ways[..] else { panic!("three calls, two ways each") };
        assert!(once.leads_to_same(again) && !once.leads_to_same(other), "{version}");
        assert!(over.is_closed(), "{version}: what is told about a call ends with its answer");
        assert!(!once.is_closed() && !other.is_closed(), "{version}");
        first.close().await.unwrap();
        assert!(once.is_closed() && !other.is_closed(), "{version}");
    }
}

#[tokio::test]
async fn a_weak_handle_does_not_keep_the_server() {
    let server = Server::new("s", "1").advertise_empty_lists().build();
    let weak = server.downgrade();
    weak.upgrade().unwrap().add_tool(tool("late", || "here")).unwrap();
    let client = connect(server, ProtocolVersion::V2025_11_25).await.unwrap();
    assert_eq!(client.call("late", ()).await.unwrap().text(), "here");
    client.close().await.unwrap();
    drop(client);
    assert!(weak.upgrade().is_none());
}
