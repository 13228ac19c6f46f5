//! A shutdown of the listener, and work that has no connection.

use std::{sync::Arc, time::Duration};

use couplet_http::server::HttpTransport;
use couplet_server::outcomes::MemoryOutcomes;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    sync::Semaphore,
};

use crate::{
    idempotency::{keyed, replica, shop},
    listen::post,
    support::{STATELESS, alone, call, meta, send},
};

/// Runs a listener with a call whose client is gone, and shuts it down. Returns whether the shutdown waited for the call, and
/// whether the outcome of the call was stored when the shutdown was over.
async fn shut_down(grace: Duration, ends: bool) -> (bool, bool) {
    let (store, runs, gate) = (MemoryOutcomes::new(), Arc::default(), Arc::new(Semaphore::new(0)));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let transport = HttpTransport::from_listener(listener).grace(grace);
    let shutdown = transport.shutdown();
    let serving = tokio::spawn(shop(&store, &runs, &gate).serve(transport));
    let headers = format!("mcp-protocol-version: {STATELESS}\r\nmcp-method: tools/call\r\nmcp-name: pay\r\n");
    let mut client = TcpStream::connect(address).await.unwrap();
    client.write_all(post(&call(1, "tools/call", &keyed(meta())), &headers).as_bytes()).await.unwrap();
    assert!(client.read(&mut [0; 100]).await.unwrap() > 0, "there is progress");
    drop(client);
    shutdown.trigger();
    // The call ends a while after the listener has.
    while TcpStream::connect(address).await.is_ok() {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    tokio::time::sleep(Duration::from_millis(500)).await;
    let waited = !serving.is_finished();
    if ends {
        gate.add_permits(1);
    }
    serving.await.unwrap().unwrap();
    // What another replica finds.
    let there = replica(&store, &runs, &gate);
    let repeated = tokio::spawn(async move {
        let mut reply = send(&there, alone("tools/call", keyed(meta()), &[])).await;
        String::from_utf8(reply.body.text().await.to_vec()).unwrap()
    });
    let found = tokio::time::timeout(Duration::from_millis(300), repeated).await;
    (waited, found.is_ok_and(|text| text.unwrap().contains("run 1")))
}

#[tokio::test]
async fn a_shutdown_waits_for_a_call_whose_client_is_gone() {
    assert_eq!(shut_down(Duration::from_secs(60), true).await, (true, true));
}

#[tokio::test]
async fn a_shutdown_does_not_wait_beyond_the_grace_period() {
    let (_, is_stored) = shut_down(Duration::from_millis(50), false).await;
    assert!(!is_stored);
}
