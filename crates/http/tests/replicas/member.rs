//! A replica, with a listener for the others.

use std::{
    convert::Infallible,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use bytes::Bytes;
use couplet_http::server::{Endpoint, EndpointBody, Node, Replica, SessionStore};
use couplet_server::ServerHandle;
use http::{Request, Response, StatusCode, request::Parts};
use http_body_util::{BodyExt, Either, Empty, Full};
use hyper::body::Incoming;
use hyper_util::{
    rt::{TokioExecutor, TokioIo},
    server::conn::auto,
};
use tokio::{
    net::TcpListener,
    task::{JoinHandle, JoinSet},
};
use tower_service::Service;

use crate::{
    store::TestStore,
    support::{Seen, server},
};

pub(crate) const KEY: [u8; 32] = [7; 32];

/// A replica.
pub(crate) struct Member {
    pub(crate) endpoint: Endpoint,
    pub(crate) url: String,
    pub(crate) handle: ServerHandle,
    pub(crate) seen: Seen,
    pub(crate) wire: Arc<Wire>,
    task: JoinHandle<()>,
}

/// The requests that other replicas sent.
#[derive(Default)]
pub(crate) struct Wire {
    requests: Mutex<Vec<(Parts, Bytes)>>,
    /// Whether they are answered with an error instead of being handled.
    intercepts: AtomicBool,
}

impl Wire {
    pub(crate) fn count(&self) -> usize {
        self.requests.lock().unwrap().len()
    }

    /// The last request.
    pub(crate) fn last(&self) -> Request<Full<Bytes>> {
        let (parts, body) = self.requests.lock().unwrap().last().expect("there was a request").clone();
        Request::from_parts(parts, Full::new(body))
    }

    /// From now on no request gets further.
    pub(crate) fn intercept(&self, intercepts: bool) {
        self.intercepts.store(intercepts, Ordering::SeqCst);
    }
}

/// Replicas that share a store.
pub(crate) fn store() -> Arc<TestStore> {
    Arc::new(TestStore::default())
}

impl Member {
    pub(crate) async fn new(store: &Arc<TestStore>) -> Self {
        Self::with(store, |endpoint, url| endpoint.replica(Replica::new(url, KEY).unwrap())).await
    }

    pub(crate) async fn with(store: &Arc<TestStore>, configure: impl FnOnce(Endpoint, String) -> Endpoint) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/mcp", listener.local_addr().unwrap());
        let seen = Seen::default();
        let handle = server(&seen);
        let endpoint = Endpoint::new(handle.clone()).sessions(store.clone()).events(store.clone());
        let endpoint = configure(endpoint, url.clone());
        let wire = Arc::new(Wire::default());
        let task = tokio::spawn(serve(listener, endpoint.clone(), wire.clone()));
        Self { endpoint, url, handle, seen, wire, task }
    }

    /// Closes its listener and its connections; calls that were sent to the endpoint itself go on.
    pub(crate) async fn stop_listening(&mut self) {
        self.task.abort();
        let _ = (&mut self.task).await;
    }

    /// Ends it as a crash would: its connections are cut, and its leases stay until they expire.
    pub(crate) async fn kill(self) {
        self.task.abort();
        let _ = self.task.await;
    }
}

type Answer = Response<Either<EndpointBody, Empty<Bytes>>>;

async fn serve(listener: TcpListener, endpoint: Endpoint, wire: Arc<Wire>) {
    // Dropping the set closes the connections.
    let mut connections = JoinSet::new();
    loop {
        let (stream, _) = listener.accept().await.unwrap();
        let (endpoint, wire) = (endpoint.clone(), wire.clone());
        let answer = hyper::service::service_fn(move |request| answer(request, endpoint.clone(), wire.clone()));
        connections.spawn(async move {
            let _ = auto::Builder::new(TokioExecutor::new()).serve_connection(TokioIo::new(stream), answer).await;
        });
    }
}

async fn answer(request: Request<Incoming>, mut endpoint: Endpoint, wire: Arc<Wire>) -> Result<Answer, Infallible> {
    let (parts, body) = request.into_parts();
    let body = body.collect().await.unwrap().to_bytes();
    wire.requests.lock().unwrap().push((parts.clone(), body.clone()));
    if wire.intercepts.load(Ordering::SeqCst) {
        let mut refused = Response::new(Either::Right(Empty::new()));
        *refused.status_mut() = StatusCode::IM_A_TEAPOT;
        return Ok(refused);
    }
    Ok(endpoint.call(Request::from_parts(parts, Full::new(body))).await?.map(Either::Left))
}

/// Ends the lease of a session, as if its time had passed.
pub(crate) async fn expire(store: &TestStore, id: &str, generation: u64) -> Node {
    let (_, owner) = store.sessions.load(id).await.unwrap().unwrap();
    let owner = owner.expect("there is an owner");
    let renewed = store.sessions.renew(&[(id.into(), generation)], &owner, Duration::ZERO).await.unwrap();
    assert!(renewed.lost.is_empty(), "that is its generation");
    owner
}
