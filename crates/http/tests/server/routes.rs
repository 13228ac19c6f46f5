//! Further endpoints of a listener.

use std::{sync::Arc, time::Duration};

use couplet_core::{Limits, Transport};
use couplet_http::server::{Endpoint, HttpTransport, Routes};
use tokio::net::{TcpListener, TcpStream};

use crate::{
    listen::{ask, post},
    support::{Seen, initialize, server},
};

#[tokio::test]
async fn endpoints_come_and_go_and_end_with_the_listener() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let routes = Routes::new();
    let transport = HttpTransport::from_listener(listener).routes(&routes).grace(Duration::from_millis(10));
    let shutdown = transport.shutdown();
    let task = tokio::spawn(transport.serve(Arc::new(server(&Seen::default())), Limits::default()));
    let status = async |path: &str| {
        let request = post(&initialize("2025-11-25"), "").replacen("/mcp", path, 1);
        ask(&mut TcpStream::connect(&address).await.unwrap(), &request).await[9..12].to_owned()
    };
    assert_eq!((status("/mcp").await, status("/mcp/a").await), ("200".to_owned(), "404".to_owned()));

    let first = Endpoint::new(server(&Seen::default()));
    routes.insert("/mcp/a", first.clone());
    assert_eq!((status("/mcp/a").await, first.session_count()), ("200".to_owned(), 1));

    let second = Endpoint::new(server(&Seen::default()));
    routes.insert("/mcp/a", second.clone());
    assert_eq!((status("/mcp/a").await, second.session_count()), ("200".to_owned(), 1));
    assert!(!first.is_ready().await, "the endpoint that was replaced has ended");

    let other = Endpoint::new(server(&Seen::default()));
    routes.insert("/mcp/b", other.clone());
    assert_eq!(status("/mcp/b").await, "200");
    assert!(routes.remove("/mcp/a") && !routes.remove("/mcp/a"));
    assert_eq!((status("/mcp/a").await, status("/mcp").await), ("404".to_owned(), "200".to_owned()));

    shutdown.trigger();
    task.await.unwrap().unwrap();
    assert!(!other.is_ready().await, "it ends with the listener");
}
