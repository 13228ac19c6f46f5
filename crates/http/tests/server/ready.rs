//! `/ready`, `/health` and the time between the beginning of a shutdown and its end.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use couplet_core::{Limits, Transport};
use couplet_http::server::{HttpTransport, Shutdown};
use serde_json::json;
use tokio::{
    net::{TcpListener, TcpStream},
    task::JoinHandle,
};

use crate::{
    listen::{ask, post},
    support::{Seen, call, endpoint, server},
};

struct Site {
    address: String,
    shutdown: Shutdown,
    task: JoinHandle<Result<(), couplet_core::Error>>,
}

async fn site(configure: impl FnOnce(HttpTransport) -> HttpTransport) -> Site {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let transport = configure(HttpTransport::from_listener(listener));
    let shutdown = transport.shutdown();
    let task = tokio::spawn(transport.serve(Arc::new(server(&Seen::default())), Limits::default()));
    Site { address, shutdown, task }
}

impl Site {
    /// The status of a path, over a connection of its own.
    async fn status(&self, path: &str) -> u16 {
        let request = format!("GET {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n");
        let text = ask(&mut TcpStream::connect(&self.address).await.unwrap(), &request).await;
        text.split(' ').nth(1).unwrap_or_else(|| panic!("no status in {text:?}")).parse().unwrap()
    }

    async fn ping(&self, connection: &str) -> String {
        let request = post(&call(1, "ping", &json!({})), "").replace("connection: close", connection);
        ask(&mut TcpStream::connect(&self.address).await.unwrap(), &request).await
    }
}

#[tokio::test]
async fn new_connections_are_served_in_the_lame_duck_time() {
    // Longer than the test takes: its end is not waited for.
    let site = site(|transport| transport.lame_duck(Duration::from_secs(600))).await;
    assert_eq!((site.status("/ready").await, site.status("/health").await), (200, 200));
    site.shutdown.trigger();
    // The listener hears of it in its own task.
    while site.status("/ready").await == 200 {
        tokio::task::yield_now().await;
    }
    assert_eq!((site.status("/ready").await, site.status("/health").await), (503, 200));
    // Each response asks the load balancer to go elsewhere next time; without that, `ask` would wait for more.
    let text = site.ping("connection: keep-alive").await;
    assert!(text.starts_with("HTTP/1.1 200") && text.contains("connection: close\r\n"), "{text}");
    assert!(!site.task.is_finished());
    site.task.abort();
}

#[tokio::test]
async fn the_listener_closes_after_the_lame_duck_time() {
    let site = site(|transport| transport.lame_duck(Duration::from_millis(100))).await;
    assert_eq!(site.status("/ready").await, 200);
    site.shutdown.trigger();
    site.task.await.unwrap().unwrap();
    assert!(TcpStream::connect(&site.address).await.is_err());
}

#[tokio::test]
async fn a_failing_check_makes_it_not_ready() {
    let is_up = Arc::new(AtomicBool::new(false));
    let check = is_up.clone();
    let site = site(|transport| {
        transport.endpoint(|endpoint| {
            endpoint.ready_when(move || {
                let is_up = check.load(Ordering::SeqCst);
                Box::pin(std::future::ready(is_up))
            })
        })
    })
    .await;
    assert_eq!((site.status("/ready").await, site.status("/health").await), (503, 200));
    assert!(site.ping("connection: close").await.starts_with("HTTP/1.1 200"), "it is served nevertheless");
    is_up.store(true, Ordering::SeqCst);
    let ready = async || site.status("/ready").await == 200;
    for _ in 0..200 {
        if ready().await {
            return;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("it is never ready");
}

#[tokio::test]
async fn an_endpoint_without_a_listener_says_so_too() {
    let (endpoint, _) = endpoint();
    assert!(endpoint.is_ready().await);
    endpoint.begin_drain();
    assert!(!endpoint.is_ready().await);
    let (endpoint, _) = self::endpoint();
    endpoint.shut_down();
    assert!(!endpoint.is_ready().await);
}
