//! Connections without TLS and without a proxy: HTTP/1.1, one request at a time each, and reused.
//!
//! They lead to servers on the same machine or network, where the time of the client counts. The pool of hyper-util serves
//! all versions of HTTP, and costs several times as much for each request.

use std::{
    fmt, mem,
    pin::Pin,
    sync::{Arc, Mutex, Weak},
    task::{Context, Poll, ready},
    time::Duration,
};

use bytes::Bytes;
use couplet_core::sync::lock;
use futures_core::Stream;
use http::{Request, Response, Uri, header::HOST, uri::Authority};
use http_body_util::Full;
use hyper::body::{Body as _, Incoming};
use tokio::{
    runtime::Handle,
    time::{Instant, sleep},
};
use tower_service::Service;

use super::{
    address::host_header,
    dial::{Failure, Timed},
    failure::NotHttp2,
    fetch::Body,
    hyper::Pieces,
    inline::InlineConnection,
    proxy::Proxied,
};

/// A connection, and since when it is idle.
type IdleConnection = (Instant, Box<InlineConnection>);

/// The number of idle connections to one server.
const IDLE: usize = 128;
/// The time after which an idle connection is closed.
pub(super) const IDLE_TIME: Duration = Duration::from_secs(90);
/// The interval in which idle connections are looked at.
pub(super) const SWEEP: Duration = Duration::from_secs(15);

/// The idle connections, and the connector for others. Clones share them.
#[derive(Clone)]
pub(crate) struct PlainPool(Arc<Inner>);

struct Inner {
    connector: Timed<Proxied>,
    idle: Mutex<Idle>,
}

#[derive(Default)]
struct Idle {
    /// Few servers at a time, so they are compared one by one.
    servers: Vec<(Authority, Vec<IdleConnection>)>,
    /// Whether a task closes connections that are idle for too long.
    is_swept: bool,
}

impl PlainPool {
    pub(crate) fn new(connector: Timed<Proxied>) -> Self {
        Self(Arc::new(Inner { connector, idle: Mutex::default() }))
    }

    /// Takes an idle connection. Only servers without a proxy on the way have some.
    pub(crate) fn take(&self, server: &Authority) -> Option<Box<InlineConnection>> {
        loop {
            let (since, mut connection) = lock(&self.0.idle).of(server)?.pop()?;
            if since.elapsed() < IDLE_TIME && connection.is_idle() {
                return Some(connection);
            }
        }
    }

    /// Sends a request to a server without a proxy on the way, on an idle connection if there is one.
    pub(crate) async fn send(
        self,
        mut idle: Option<Box<InlineConnection>>,
        server: Authority,
        mut request: Request<Bytes>,
    ) -> Result<Response<Body>, PlainError> {
        let uri = mem::replace(request.uri_mut(), Uri::from_static("/"));
        if !request.headers().contains_key(HOST)
            && let Some(host) = host_header(&uri)
        {
            request.headers_mut().insert(HOST, host);
        }
        if let Some(path) = uri.path_and_query() {
            *request.uri_mut() = path.clone().into();
        }
        let mut request = request.map(Full::new);
        while let Some(mut connection) = idle {
            match connection.send(request).await {
                Ok(response) => return Ok(self.reusing(response, server, connection)),
                // A connection that was closed meanwhile gives the request back, if nothing of it was written.
                Err(mut error) => match error.take_message() {
                    Some(unsent) => request = unsent,
                    None => return Err(PlainError::Http(error.into_error())),
                },
            }
            idle = self.take(&server);
        }
        let mut connection = Box::pin(self.connect(uri)).await?;
        let response = connection.send(request).await.map_err(|error| PlainError::Http(error.into_error()))?;
        Ok(self.reusing(response, server, connection))
    }

    async fn connect(&self, server: Uri) -> Result<Box<InlineConnection>, PlainError> {
        let stream = self.0.connector.clone().call(server).await.map_err(PlainError::Connect)?;
        InlineConnection::new(stream).await.map_err(PlainError::Http)
    }

    /// The response, whose connection is idle once its body was read.
    fn reusing(
        self,
        response: Response<Incoming>,
        server: Authority,
        connection: Box<InlineConnection>,
    ) -> Response<Body> {
        let connection = BusyConnection { pool: self, server, connection };
        response.map(|body| Body::new(Reusing { body: Pieces(body), connection: Some(connection) }))
    }

    /// Whether it was closed is found out when it is taken.
    fn put(self, server: Authority, connection: Box<InlineConnection>) {
        let mut idle = lock(&self.0.idle);
        let used = (Instant::now(), connection);
        match idle.of(&server) {
            Some(connections) if connections.len() >= IDLE => {}
            Some(connections) => connections.push(used),
            None => idle.servers.push((server, vec![used])),
        }
        if !idle.is_swept
            && let Ok(runtime) = Handle::try_current()
        {
            idle.is_swept = true;
            runtime.spawn(sweep(Arc::downgrade(&self.0)));
        }
    }
}

impl Idle {
    fn of(&mut self, server: &Authority) -> Option<&mut Vec<IdleConnection>> {
        self.servers.iter_mut().find(|(name, _)| name == server).map(|(_, connections)| connections)
    }
}

/// Closes connections that are idle for too long, and those that the server has closed, until there are none.
async fn sweep(pool: Weak<Inner>) {
    loop {
        sleep(SWEEP).await;
        let Some(pool) = pool.upgrade() else { return };
        let mut idle = lock(&pool.idle);
        for (_, connections) in &mut idle.servers {
            connections.retain_mut(|(since, connection)| since.elapsed() < IDLE_TIME && connection.is_idle());
        }
        idle.servers.retain(|(_, connections)| !connections.is_empty());
        if idle.servers.is_empty() {
            idle.is_swept = false;
            return;
        }
    }
}

/// A connection that is in use.
struct BusyConnection {
    pool: PlainPool,
    server: Authority,
    connection: Box<InlineConnection>,
}

/// A body after which the connection is idle again. If the body is dropped before its end, the connection is closed.
struct Reusing {
    body: Pieces<Incoming>,
    connection: Option<BusyConnection>,
}

impl Reusing {
    fn end(&mut self) {
        if let Some(BusyConnection { pool, server, connection }) = self.connection.take() {
            pool.put(server, connection);
        }
    }
}

impl Stream for Reusing {
    type Item = Result<Bytes, couplet_core::Error>;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = self.get_mut();
        let Some(busy) = &mut this.connection else { return Poll::Ready(None) };
        let piece = ready!(busy.connection.poll_piece(&mut this.body, cx));
        if piece.is_none() {
            this.end();
        }
        Poll::Ready(piece)
    }
}

impl Drop for Reusing {
    fn drop(&mut self) {
        if self.body.0.is_end_stream() {
            self.end();
        }
    }
}

/// A request that failed.
#[derive(Debug)]
pub(crate) enum PlainError {
    /// There is no connection.
    Connect(Failure),
    /// The connection failed.
    Http(hyper::Error),
    /// The connection failed, or this request on it, in HTTP/2.
    Http2(h2::Error),
    /// The server does not speak HTTP/2.
    NotHttp2(NotHttp2),
}

impl fmt::Display for PlainError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Connect(_) => f.write_str("no connection"),
            Self::Http(_) | Self::Http2(_) | Self::NotHttp2(_) => f.write_str("the request failed"),
        }
    }
}

impl std::error::Error for PlainError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Connect(error) => Some(&**error),
            Self::Http(error) => Some(error),
            Self::Http2(error) => Some(error),
            Self::NotHttp2(error) => Some(error),
        }
    }
}
