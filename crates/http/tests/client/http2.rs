//! HTTP/2 without TLS, where the program knows that the server speaks it.

use std::{
    convert::Infallible,
    future::poll_fn,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    task::Poll,
    time::Duration,
};

use bytes::Bytes;
use couplet_core::BoxFuture;
use couplet_core::ErrorKind;
use couplet_http::client::{Body, ConnectFailure, HttpClient, HyperClient};
use http::{Request, Response, Version};
use http_body_util::{BodyExt, Full};
use hyper::{
    body::Incoming,
    server::conn::{http1, http2},
    service::service_fn,
};
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    sync::{Barrier, mpsc, oneshot},
    task::JoinSet,
    time::timeout,
};

use crate::{
    mock::{Mock, empty, event, reply, says, stream, text, tools},
    wire::{Wire, connect},
};

/// The time within which everything here is done.
const SOON: Duration = Duration::from_secs(10);

fn sender() -> HyperClient {
    HyperClient::builder().direct().http2_prior_knowledge().build().unwrap()
}

/// Serves each connection with a function.
async fn listening<F>(serve: impl Fn(TcpStream) -> F + Send + 'static) -> (String, Arc<AtomicUsize>)
where
    F: Future<Output = ()> + Send + 'static,
{
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    let connections = Arc::new(AtomicUsize::new(0));
    let count = connections.clone();
    tokio::spawn(async move {
        while let Ok((socket, _)) = listener.accept().await {
            count.fetch_add(1, Ordering::SeqCst);
            tokio::spawn(serve(socket));
        }
    });
    (url, connections)
}

/// Serves a connection in HTTP/2, at most so many requests at a time.
async fn serve_streams(
    socket: TcpStream,
    streams: u32,
    answer: impl Fn(Request<Incoming>) -> BoxFuture<'static, Response<Full<Bytes>>> + Send + Sync + 'static,
) {
    let answer = Arc::new(answer);
    let service = service_fn(move |request| {
        let answer = answer.clone();
        async move { Ok::<_, Infallible>(answer(request).await) }
    });
    let mut server = http2::Builder::new(TokioExecutor::new());
    let _ = server.max_concurrent_streams(streams).serve_connection(TokioIo::new(socket), service).await;
}

fn get(url: &str) -> Request<Bytes> {
    Request::get(url).body(Bytes::new()).unwrap()
}

async fn read(response: Response<Body>) -> Bytes {
    response.into_body().read(64 << 20).await.unwrap()
}

#[tokio::test]
async fn requests_in_both_eras_share_a_connection() {
    let answer = |seen: &crate::mock::Seen| match seen.what() {
        "GET" => text(405, "text/plain", "Method Not Allowed"),
        "tools/list" => reply(200, &seen.result(tools(&[]))),
        "tools/call" => stream([event(&seen.result(says("done")))]),
        _ => empty(202),
    };
    for mock in [Mock::legacy(answer), Mock::modern(answer)] {
        let wire = Wire::plain(&mock).await;
        let client = connect(format!("http://{}/mcp", wire.address), sender()).await.unwrap();
        let mut calls = JoinSet::new();
        for _ in 0..80 {
            let client = client.clone();
            calls.spawn(async move { client.call("x", ()).await.unwrap().text() });
        }
        assert!(calls.join_all().await.iter().all(|said| said == "done"));
        client.tools().await.unwrap();
        client.close().await.unwrap();
        assert!(wire.versions().len() > 80 && wire.versions().iter().all(|version| *version == Version::HTTP_2));
        assert_eq!(wire.connections(), 1);
    }
}

#[tokio::test]
async fn a_server_that_allows_few_requests_at_a_time_gets_more_connections() {
    let all = Arc::new(Barrier::new(10));
    let (url, connections) = listening(move |socket| {
        let all = all.clone();
        serve_streams(socket, 2, move |_| {
            let all = all.clone();
            Box::pin(async move {
                all.wait().await;
                Response::new(Full::default())
            })
        })
    })
    .await;
    let sender = sender();
    let mut requests = JoinSet::new();
    // All wait for each other at the server, so none is answered while one has to wait for another one's end. The first
    // connection takes those that come before its settings are known; two of them are served.
    for _ in 0..2 {
        requests.spawn(sender.send(get(&url)));
    }
    while connections.load(Ordering::SeqCst) < 1 {
        tokio::task::yield_now().await;
    }
    tokio::time::sleep(Duration::from_millis(100)).await;
    for _ in 0..8 {
        requests.spawn(sender.send(get(&url)));
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    let answered = timeout(SOON, requests.join_all()).await.expect("none waits for another");
    assert!(answered.into_iter().all(|answer| answer.is_ok()));
    assert_eq!(connections.load(Ordering::SeqCst), 5);
}

#[tokio::test]
async fn a_response_that_is_not_read_holds_up_no_other() {
    const SIZE: usize = 1 << 20;
    let (url, connections) = listening(|socket| {
        serve_streams(socket, 200, |_| Box::pin(async { Response::new(Full::from(vec![b'x'; SIZE])) }))
    })
    .await;
    let sender = sender();
    let mut unread = Vec::new();
    for _ in 0..99 {
        unread.push(sender.send(get(&url)).await.unwrap());
    }
    let response = timeout(SOON, sender.send(get(&url))).await.expect("there is room for its head").unwrap();
    assert_eq!(timeout(SOON, read(response)).await.expect("there is room for its body").len(), SIZE);
    for response in unread {
        assert_eq!(read(response).await.len(), SIZE);
    }
    assert_eq!(connections.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn a_long_request_is_sent_as_far_as_the_server_reads() {
    const SIZE: usize = 8 << 20;
    let (url, _) = listening(|socket| {
        serve_streams(socket, 10, |request| {
            Box::pin(async move {
                let body = request.into_body().collect().await.unwrap().to_bytes();
                Response::new(Full::from(body.len().to_string()))
            })
        })
    })
    .await;
    let request = Request::post(&url).body(Bytes::from(vec![b'x'; SIZE])).unwrap();
    let response = timeout(SOON, sender().send(request)).await.expect("all of it is read").unwrap();
    assert_eq!(read(response).await, SIZE.to_string());
}

#[tokio::test]
async fn a_request_that_is_dropped_ends_at_the_server_and_leaves_the_others() {
    struct Dropped(Option<oneshot::Sender<()>>);
    impl Drop for Dropped {
        fn drop(&mut self) {
            self.0.take().map(|dropped| dropped.send(()));
        }
    }
    let (begun, mut beginning) = mpsc::channel(1);
    let (url, connections) = listening(move |socket| {
        let begun = begun.clone();
        serve_streams(socket, 10, move |request| {
            let begun = begun.clone();
            Box::pin(async move {
                if request.uri().path() == "/mcp" {
                    return Response::new(Full::default());
                }
                let (dropped, ended) = oneshot::channel();
                let _dropped = Dropped(Some(dropped));
                begun.send(ended).await.unwrap();
                std::future::pending().await
            })
        })
    })
    .await;
    let sender = sender();
    let waiting = tokio::spawn(sender.send(get(&url.replace("/mcp", "/wait"))));
    let ended = beginning.recv().await.unwrap();
    waiting.abort();
    timeout(SOON, ended).await.expect("the server is notified").expect("by the end of its future");
    assert_eq!(sender.send(get(&url)).await.unwrap().status(), 200);
    assert_eq!(connections.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn a_connection_that_was_closed_is_replaced() {
    let (close, closing) = tokio::sync::watch::channel(());
    let (url, connections) = listening(move |socket| {
        let mut closing = closing.clone();
        closing.mark_unchanged();
        async move {
            tokio::select! {
                () = serve_streams(socket, 10, |_| Box::pin(async { Response::new(Full::default()) })) => {}
                _ = closing.changed() => {}
            }
        }
    })
    .await;
    let sender = sender();
    for round in 1..=3 {
        assert_eq!(sender.send(get(&url)).await.unwrap().status(), 200);
        assert_eq!(connections.load(Ordering::SeqCst), round);
        close.send(()).unwrap();
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

#[tokio::test]
async fn a_connection_that_breaks_is_an_error_of_its_requests() {
    let (url, _) = listening(|socket| async move {
        tokio::select! {
            () = serve_streams(socket, 10, |_| Box::pin(std::future::pending())) => {}
            () = tokio::time::sleep(Duration::from_millis(100)) => {}
        }
    })
    .await;
    let error = timeout(SOON, sender().send(get(&url))).await.expect("it is noticed").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Transport);
    assert!(error.to_string().contains("did not answer: "), "{error}");
    assert_eq!(ConnectFailure::of(&error), None);
}

#[tokio::test]
async fn a_server_that_speaks_http1_only_is_named() {
    // One that closes, one that says why, and one that sends something else.
    let (closes, _) = listening(|socket| async move {
        let service = service_fn(|_| async { Ok::<_, Infallible>(Response::new(Full::<Bytes>::default())) });
        let _ = http1::Builder::new().serve_connection(TokioIo::new(socket), service).await;
    })
    .await;
    let says = |text: &'static str| {
        listening(move |mut socket| async move {
            let _ = socket.read(&mut [0; 1024]).await;
            let _ = socket.write_all(text.as_bytes()).await;
            let _ = socket.read(&mut [0; 1024]).await;
        })
    };
    let (explains, _) = says("HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n\r\n").await;
    let (else_, _) = says("220 mail.example ESMTP\r\n").await;
    for url in [closes, explains, else_] {
        let error = timeout(SOON, sender().send(get(&url))).await.expect("it is noticed").unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Transport);
        assert_eq!(ConnectFailure::of(&error), Some(ConnectFailure::NotHttp2), "{error:?}");
        assert!(
            error
                .to_string()
                .contains("did not answer in HTTP/2, which is demanded of it without TLS; it may speak HTTP/1.1 only"),
            "{error}"
        );
    }
    let error = sender().send(get("http://127.0.0.1:1/mcp")).await.unwrap_err();
    assert_eq!(ConnectFailure::of(&error), Some(ConnectFailure::Refused), "{error:?}");
}

/// A clock that is advanced by hand alone, until this is dropped. The runtime would advance it while sockets are waited for.
struct Clock {
    _held: std::sync::mpsc::Sender<()>,
}

impl Clock {
    fn stopped() -> Self {
        tokio::time::pause();
        let (held, hold) = std::sync::mpsc::channel();
        // It is not advanced while a blocking task runs.
        tokio::task::spawn_blocking(move || hold.recv());
        Self { _held: held }
    }

    /// Advances it, and gives the sockets time to follow.
    async fn pass(&self, seconds: u64) {
        for _ in 0..seconds / 5 {
            tokio::time::advance(Duration::from_secs(5)).await;
            tokio::task::spawn_blocking(|| std::thread::sleep(Duration::from_millis(5))).await.unwrap();
        }
    }
}

#[tokio::test]
async fn a_connection_is_closed_when_it_was_idle_for_long() {
    let (ended, mut ends) = mpsc::channel(1);
    let (url, connections) = listening(move |socket| {
        let ended = ended.clone();
        async move {
            serve_streams(socket, 10, |_| Box::pin(async { Response::new(Full::default()) })).await;
            let _ = ended.send(()).await;
        }
    })
    .await;
    let (sender, clock) = (sender(), Clock::stopped());
    for _ in 0..4 {
        assert_eq!(sender.send(get(&url)).await.unwrap().status(), 200);
        clock.pass(60).await;
        assert_eq!(connections.load(Ordering::SeqCst), 1, "it is used again");
    }
    assert!(ends.try_recv().is_err());
    clock.pass(90).await;
    ends.try_recv().expect("it was not used");
    assert_eq!(sender.send(get(&url)).await.unwrap().status(), 200);
    assert_eq!(connections.load(Ordering::SeqCst), 2);
}

#[tokio::test]
async fn a_connection_whose_peer_is_silent_is_replaced() {
    let (silent, silence) = tokio::sync::watch::channel(false);
    let (url, connections) = listening(move |socket| {
        let silence = silence.clone();
        async move {
            let mut connection = Box::pin(serve_streams(socket, 10, |request| {
                Box::pin(async move {
                    if request.uri().path() == "/wait" {
                        tokio::time::sleep(Duration::from_secs(300)).await;
                    }
                    Response::new(Full::default())
                })
            }));
            // From some time on nothing is read and nothing is written, and the connection stays open.
            poll_fn(|cx| if *silence.borrow() { Poll::Pending } else { connection.as_mut().poll(cx) }).await;
        }
    })
    .await;
    let (sender, clock) = (sender(), Clock::stopped());
    // As long as pings are answered a response may take its time.
    let waiting = tokio::spawn(sender.send(get(&url.replace("/mcp", "/wait"))));
    tokio::task::yield_now().await;
    clock.pass(320).await;
    assert_eq!(waiting.await.unwrap().unwrap().status(), 200);
    assert_eq!(connections.load(Ordering::SeqCst), 1);
    silent.send(true).unwrap();
    let unanswered = tokio::spawn(sender.send(get(&url)));
    tokio::task::yield_now().await;
    clock.pass(60).await;
    assert!(unanswered.is_finished(), "it is noticed");
    assert_eq!(unanswered.await.unwrap().unwrap_err().kind(), ErrorKind::Transport);
    silent.send(false).unwrap();
    assert_eq!(sender.send(get(&url)).await.unwrap().status(), 200);
    assert_eq!(connections.load(Ordering::SeqCst), 2);
}
