//! Connections without TLS in HTTP/2: many requests at a time on each.
//!
//! Without TLS a server cannot offer HTTP/2 while a connection is opened, so the program has to know that the server speaks
//! it ("prior knowledge"). Requests that are sent at the same time share a write, and so do their responses: that is most of
//! the cost of a small request on the same machine or network.

mod connection;
mod pulse;

use std::sync::{Arc, Mutex};

use bytes::Bytes;
use couplet_core::sync::lock;
use http::{Request, Response, Uri, Version, header, uri::Authority};
use tower_service::Service;

use super::{dial::Timed, fetch::Body, plain::PlainError, proxy::Proxied};
use connection::{Http2Connection, Http2Stream, Streams};

/// The connections to all servers. Clones share them.
#[derive(Clone)]
pub(crate) struct Http2Pool(Arc<Http2Servers>);

struct Http2Servers {
    connector: Timed<Proxied>,
    /// Few servers at a time, so they are compared one by one.
    servers: Mutex<Vec<Arc<Server>>>,
}

/// The connections to a server.
struct Server {
    name: Authority,
    open: Mutex<Vec<Http2Connection>>,
    /// Held while a connection is opened: requests that come meanwhile wait for it.
    opening: tokio::sync::Mutex<()>,
}

impl Http2Pool {
    pub(crate) fn new(connector: Timed<Proxied>) -> Self {
        Self(Arc::new(Http2Servers { connector, servers: Mutex::default() }))
    }

    /// Whether a request was sent to a server before, so that there is no proxy on the way.
    pub(crate) fn knows(&self, server: &Authority) -> bool {
        lock(&self.0.servers).iter().any(|known| known.name == *server)
    }

    /// Sends a request to a server without a proxy on the way.
    pub(crate) async fn send(self, server: Authority, request: Request<Bytes>) -> Result<Response<Body>, PlainError> {
        let (mut parts, body) = request.into_parts();
        parts.version = Version::HTTP_2;
        // HTTP/2 has it in `:authority`.
        parts.headers.remove(header::HOST);
        let server = self.0.server(server);
        while let Some(mut stream) = server.stream() {
            if stream.ready().await.is_ok() {
                return stream.send(Request::from_parts(parts, ()), body).await;
            }
            // The connection has ended, and nothing was sent.
            server.remove(&stream.streams);
        }
        let mut stream = Box::pin(server.open(&self.0, &parts.uri)).await?;
        stream.ready().await?;
        stream.send(Request::from_parts(parts, ()), body).await
    }
}

impl Http2Servers {
    fn server(&self, name: Authority) -> Arc<Server> {
        let mut servers = lock(&self.servers);
        if let Some(server) = servers.iter().find(|server| server.name == name) {
            return server.clone();
        }
        // Those without a connection and a request are of no use any more.
        servers.retain(|server| Arc::strong_count(server) > 1 || !lock(&server.open).is_empty());
        let server = Arc::new(Server { name, open: Mutex::default(), opening: tokio::sync::Mutex::default() });
        servers.push(server.clone());
        server
    }
}

impl Server {
    /// Takes a stream of a connection that has room for one.
    fn stream(&self) -> Option<Http2Stream> {
        lock(&self.open).iter().find_map(Http2Connection::stream)
    }

    /// The same, after a connection was opened if there is none with room.
    async fn open(self: &Arc<Self>, pool: &Http2Servers, uri: &Uri) -> Result<Http2Stream, PlainError> {
        let _opening = self.opening.lock().await;
        if let Some(stream) = self.stream() {
            return Ok(stream);
        }
        let io = pool.connector.clone().call(uri.clone()).await.map_err(PlainError::Connect)?;
        let (connection, stream) = Http2Connection::new(io, Arc::downgrade(self)).await?;
        lock(&self.open).push(connection);
        Ok(stream)
    }

    fn remove(&self, streams: &Streams) {
        lock(&self.open).retain(|connection| !connection.has(streams));
    }
}
