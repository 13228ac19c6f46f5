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
use hyper::{
    body::{Body as _, Incoming},
    client::conn::http1::{Builder, SendRequest},
};
use tokio::{
    runtime::Handle,
    time::{Instant, sleep},
};
use tower_service::Service;

use super::{
    address::host_header,
    dial::{Failure, Timed},
    fetch::Body,
    hyper::{MAX_HEAD, Pieces},
    proxy::Proxied,
};

type Sender = SendRequest<Full<Bytes>>;

/// The number of idle connections to one server.
const IDLE: usize = 128;
/// The time after which an idle connection is closed.
const IDLE_TIME: Duration = Duration::from_secs(90);

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
    servers: Vec<(Authority, Vec<(Instant, Sender)>)>,
    /// Whether a task closes connections that are idle for too long.
    is_swept: bool,
}

impl PlainPool {
    pub(crate) fn new(connector: Timed<Proxied>) -> Self {
        Self(Arc::new(Inner { connector, idle: Mutex::default() }))
    }

    /// Takes an idle connection. Only servers without a proxy on the way have some.
    pub(crate) fn take(&self, server: &Authority) -> Option<Idled> {
        let mut idle = lock(&self.0.idle);
        let (_, senders) = idle.servers.iter_mut().find(|(name, _)| name == server)?;
        while let Some((since, sender)) = senders.pop() {
            if !sender.is_closed() && since.elapsed() < IDLE_TIME {
                return Some(Idled(sender));
            }
        }
        None
    }

    /// Sends a request to a server without a proxy on the way, on an idle connection if there is one.
    pub(crate) async fn send(
        self,
        mut idle: Option<Idled>,
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
        while let Some(Idled(mut sender)) = idle {
            // A connection that was closed meanwhile gives the request back, if nothing of it was written.
            if sender.ready().await.is_ok() {
                match sender.try_send_request(request).await {
                    Ok(response) => return Ok(self.reusing(response, server, sender)),
                    Err(mut error) => match error.take_message() {
                        Some(unsent) => request = unsent,
                        None => return Err(PlainError::Http(error.into_error())),
                    },
                }
            }
            idle = self.take(&server);
        }
        let mut sender = self.connect(uri).await?;
        let response = sender.send_request(request).await.map_err(PlainError::Http)?;
        Ok(self.reusing(response, server, sender))
    }

    async fn connect(&self, server: Uri) -> Result<Sender, PlainError> {
        let stream = self.0.connector.clone().call(server).await.map_err(PlainError::Connect)?;
        let (sender, connection) =
            Builder::new().max_buf_size(MAX_HEAD).handshake(stream).await.map_err(PlainError::Http)?;
        tokio::spawn(async move {
            if let Err(error) = connection.await {
                tracing::debug!(%error, "a connection ended");
            }
        });
        Ok(sender)
    }

    /// The response, whose connection is idle once its body was read.
    fn reusing(self, response: Response<Incoming>, server: Authority, sender: Sender) -> Response<Body> {
        let connection = BusyConnection { pool: self, server, sender };
        response.map(|body| Body::new(Reusing { body: Pieces(body), connection: Some(connection) }))
    }

    fn put(self, server: Authority, sender: Sender) {
        if sender.is_closed() {
            return;
        }
        let mut idle = lock(&self.0.idle);
        let used = (Instant::now(), sender);
        match idle.servers.iter_mut().find(|(name, _)| *name == server) {
            Some((_, senders)) if senders.len() >= IDLE => {}
            Some((_, senders)) => senders.push(used),
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

/// Closes connections that are idle for too long, until there are none.
async fn sweep(pool: Weak<Inner>) {
    loop {
        sleep(IDLE_TIME).await;
        let Some(pool) = pool.upgrade() else { return };
        let mut idle = lock(&pool.idle);
        for (_, senders) in &mut idle.servers {
            senders.retain(|(since, sender)| !sender.is_closed() && since.elapsed() < IDLE_TIME);
        }
        idle.servers.retain(|(_, senders)| !senders.is_empty());
        if idle.servers.is_empty() {
            idle.is_swept = false;
            return;
        }
    }
}

/// A connection that was idle.
pub(crate) struct Idled(Sender);

/// A connection that is in use.
struct BusyConnection {
    pool: PlainPool,
    server: Authority,
    sender: Sender,
}

/// A body after which the connection is idle again. If the body is dropped before its end, the connection is closed.
struct Reusing {
    body: Pieces<Incoming>,
    connection: Option<BusyConnection>,
}

impl Reusing {
    fn end(&mut self) {
        if let Some(BusyConnection { pool, server, sender }) = self.connection.take() {
            pool.put(server, sender);
        }
    }
}

impl Stream for Reusing {
    type Item = Result<Bytes, couplet_core::Error>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let piece = ready!(Pin::new(&mut self.body).poll_next(cx));
        if piece.is_none() {
            self.end();
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
}

impl fmt::Display for PlainError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Connect(_) => f.write_str("no connection"),
            Self::Http(_) => f.write_str("the request failed"),
        }
    }
}

impl std::error::Error for PlainError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Connect(error) => Some(&**error),
            Self::Http(error) => Some(error),
        }
    }
}
