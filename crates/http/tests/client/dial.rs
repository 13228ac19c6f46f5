//! Which addresses are dialled, and how often.

use std::{
    net::SocketAddr,
    sync::{Arc, Mutex},
};

use couplet_client::Client;
use couplet_core::ErrorKind;
use couplet_http::client::HyperClient;
use serde_json::Value;

use crate::{
    mock::{Mock, empty, event, reply, says, stream, text, tools, with},
    wire::{Wire, connect},
};

#[tokio::test]
async fn connections_are_used_again() {
    let mock = Mock::legacy(|seen| match seen.what() {
        "GET" => text(405, "text/plain", "Method Not Allowed"),
        "tools/list" => reply(200, &seen.result(tools(&[]))),
        "tools/call" => stream([event(&seen.result(says("done")))]),
        "ping" => reply(404, &seen.error(-32601, Value::Null)),
        _ => text(202, "text/plain", "Accepted"),
    });
    let wire = Wire::plain(&mock).await;
    let client =
        Client::new("test", "1").connect(couplet_http::connect(format!("http://{}/mcp", wire.address))).await.unwrap();
    for _ in 0..10 {
        client.tools().await.unwrap();
        client.call("x", ()).await.unwrap();
        client.ping().await.unwrap_err();
    }
    client.close().await.unwrap();
    assert_eq!(wire.versions().len(), 35);
    // One, but for a race between the end of a response and the next request.
    assert!(wire.connections() <= 3, "{}", wire.connections());
}

/// A sender that only dials what is allowed, and what it was asked.
fn guarded(allows: impl Fn(SocketAddr) -> bool + Send + Sync + 'static) -> (HyperClient, Arc<Mutex<Vec<SocketAddr>>>) {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let shown = seen.clone();
    let builder = HyperClient::builder().direct().allow_address(move |address| {
        shown.lock().unwrap().push(address);
        allows(address)
    });
    (builder.build().unwrap(), seen)
}

#[tokio::test]
async fn every_address_is_shown_before_it_is_dialled() {
    let mock = Mock::modern(|_| empty(404));
    let wire = Wire::plain(&mock).await;
    let port = wire.address.port();
    for host in ["127.0.0.1", "localhost", "LOCALHOST"] {
        let before = wire.connections();
        let url = format!("http://{host}:{port}/mcp");
        let (sender, shown) = guarded(|address| !address.ip().is_loopback());
        let error = connect(&*url, sender).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Transport);
        assert!(error.to_string().contains("does not allow connections to its address"), "{error}");
        assert!(shown.lock().unwrap().contains(&wire.address));
        assert_eq!(wire.connections(), before);
        let (sender, shown) = guarded(|address| address.is_ipv4());
        connect(&*url, sender).await.unwrap();
        assert!(shown.lock().unwrap().iter().all(|a| a.ip().is_loopback() && a.port() == port));
        assert_eq!(wire.connections(), before + 1);
    }
}

#[tokio::test]
async fn a_redirect_is_shown_too() {
    let hidden = Mock::modern(|_| empty(404));
    let inside = Wire::plain(&hidden).await;
    let to = format!("http://localhost:{}/mcp", inside.address.port());
    let outside = Wire::plain(&Mock::new(move |_| with(empty(307), "location", &to))).await;
    let allowed = outside.address;
    let (sender, shown) = guarded(move |address| address == allowed);
    let error = connect(format!("http://{}/mcp", outside.address), sender).await.unwrap_err();
    assert!(error.to_string().contains("does not allow"), "{error}");
    assert!(shown.lock().unwrap().contains(&inside.address));
    assert_eq!((outside.connections(), inside.connections()), (1, 0));
}
