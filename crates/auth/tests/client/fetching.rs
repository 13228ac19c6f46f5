//! The fetcher, over real sockets and without them.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use bytes::Bytes;
use couplet_auth::fetch::{Fetcher, Reach};
use http::Response;
use serde_json::json;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpListener,
};

use crate::{skipped::skipped, world::World};

/// A server on this machine, and how many connections it has seen.
async fn listen() -> (u16, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let (port, count) = (listener.local_addr().unwrap().port(), Arc::new(AtomicUsize::new(0)));
    let seen = count.clone();
    tokio::spawn(async move {
        loop {
            let (mut stream, _) = listener.accept().await.unwrap();
            seen.fetch_add(1, Ordering::SeqCst);
            tokio::spawn(async move {
                let _ = stream.read(&mut [0; 4096]).await;
                let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}").await;
            });
        }
    });
    (port, count)
}

#[tokio::test]
async fn line_438_this_machine_is_asked_only_if_that_is_allowed() {
    let (port, count) = listen().await;
    for host in ["127.0.0.1", "localhost"] {
        let url = format!("http://{host}:{port}/");
        for reach in [Reach::Loopback, Reach::Private, Reach::Anywhere] {
            let before = count.load(Ordering::SeqCst);
            let fetched = Fetcher::new(reach).unwrap().get(&url).await.unwrap();
            assert_eq!(fetched.json::<serde_json::Value>().unwrap(), json!({}));
            assert!(count.load(Ordering::SeqCst) > before);
        }
        let before = count.load(Ordering::SeqCst);
        for url in [url.clone(), url.replace("http:", "https:")] {
            Fetcher::new(Reach::Public).unwrap().get(&url).await.unwrap_err();
        }
        assert_eq!(count.load(Ordering::SeqCst), before);
    }
}

/// A name that says nothing, but leads here: what is dialled counts.
#[tokio::test]
async fn line_438_what_a_name_leads_to_counts() {
    let (port, count) = listen().await;
    let name = "localhost.";
    let leads_here =
        tokio::net::lookup_host((name, port)).await.is_ok_and(|mut found| found.any(|a| a.ip().is_loopback()));
    // Behind a proxy names are looked up by the proxy.
    let proxied = std::env::vars().any(|(name, _)| name.to_ascii_lowercase().ends_with("_proxy"));
    if !leads_here || proxied {
        return skipped(&format!("`{name}` does not resolve to this machine, or there is a proxy"));
    }
    let url = format!("https://{name}:{port}/");
    let error = Fetcher::new(Reach::Public).unwrap().get(&url).await.unwrap_err();
    assert!(error.to_string().contains("does not allow"), "{error}");
    assert_eq!(count.load(Ordering::SeqCst), 0);
    // The same with more reach gets as far as TLS, which nobody speaks there.
    let error = Fetcher::new(Reach::Loopback).unwrap().get(&url).await.unwrap_err();
    assert!(!error.to_string().contains("does not allow"), "{error}");
    assert!(count.load(Ordering::SeqCst) > 0);
}

fn moved(to: &str) -> Option<Response<Bytes>> {
    Some(Response::builder().status(302).header("location", to).body(Bytes::new()).unwrap())
}

#[tokio::test]
async fn redirects_are_few_and_never_weaker() {
    let world = World::new();
    world.inner().documents.insert("https://a.example/3".to_owned(), json!("there"));
    world.rule(|seen| match seen.url.as_str() {
        "https://a.example/0" => moved("https://b.example/1"),
        "https://b.example/1" => moved("/2"),
        "https://b.example/2" => moved("https://a.example/3"),
        "https://a.example/loop" => moved("/loop"),
        "https://a.example/weak" => moved("http://a.example/3"),
        "https://a.example/inside" => moved("https://192.168.0.1/"),
        "https://a.example/other" => moved("ftp://a.example/"),
        "https://a.example/none" => Some(Response::builder().status(302).body(Bytes::new()).unwrap()),
        _ => None,
    });
    let fetcher = Fetcher::with_client(Reach::Public, Arc::new(world.clone()));
    assert_eq!(fetcher.get("https://a.example/0").await.unwrap().json::<String>().unwrap(), "there");
    for (place, requests) in [("loop", 4), ("weak", 1), ("inside", 1), ("other", 1), ("none", 1)] {
        let before = world.inner().log.len();
        fetcher.get(&format!("https://a.example/{place}")).await.unwrap_err();
        assert_eq!(world.inner().log.len() - before, requests, "{place}");
    }
    let weak = Fetcher::with_client(Reach::Anywhere, Arc::new(world.clone()));
    assert!(weak.get("https://a.example/weak").await.unwrap_err().to_string().contains("https to http"));
}

#[tokio::test]
async fn answers_are_bounded() {
    let world = World::new();
    world.rule(|_| Some(Response::new(Bytes::from(vec![b' '; (1 << 20) + 1]))));
    let fetcher = Fetcher::with_client(Reach::Public, Arc::new(world.clone()));
    assert!(fetcher.get("https://a.example/").await.unwrap_err().to_string().contains("1048576"));
    assert!(fetcher.limit(2 << 20).get("https://a.example/").await.is_ok());
}

struct Silent;

impl couplet_http::client::HttpClient for Silent {
    fn send(
        &self,
        _: http::Request<Bytes>,
    ) -> couplet_core::BoxFuture<'static, Result<Response<couplet_http::client::Body>, couplet_core::Error>> {
        Box::pin(std::future::pending())
    }
}

#[tokio::test(start_paused = true)]
async fn answers_come_in_time() {
    let fetcher = Fetcher::with_client(Reach::Public, Arc::new(Silent));
    assert!(fetcher.get("https://a.example/").await.unwrap_err().to_string().contains("10s"));
    let request = http::Request::get("https://a.example/").body(Bytes::new()).unwrap();
    let fetcher = fetcher.timeout(Duration::from_secs(3));
    assert!(fetcher.send(request).await.unwrap_err().to_string().contains("3s"));
}
