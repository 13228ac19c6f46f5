//! The HTTP request of a call, for handlers.

use std::{fmt, net::SocketAddr, ops::Deref, sync::Arc};

use couplet_core::RequestContext;
use http::request::Parts;

/// The head of the HTTP request of a call: method, URI, headers and extensions, as in [`Parts`].
/// Handlers take it with `couplet_server::extract::Request<HttpRequest>`, middleware with `Call::request`.
///
/// All headers are there, `authorization` too: never send a client's token to another server.
///
/// ```
/// use couplet_http::server::HttpRequest;
/// use couplet_server::{Server, extract::Request, tool};
///
/// fn tenant(request: Request<HttpRequest>) -> String {
///     let name = request.headers.get("x-tenant").and_then(|name| name.to_str().ok());
///     name.unwrap_or("unknown").to_owned()
/// }
///
/// let server: Server = Server::new("tenants", "1.0.0").tool(tool("tenant", tenant));
/// ```
pub struct HttpRequest {
    parts: Parts,
    remote: Option<SocketAddr>,
    pub(crate) session: Option<Arc<str>>,
}

impl HttpRequest {
    pub(crate) fn new(parts: Parts, remote: Option<SocketAddr>) -> Self {
        Self { parts, remote, session: None }
    }

    /// The same request as a client sent it to another replica: with its target, only these fields, and its peer. `None`
    /// if the target is malformed.
    #[cfg(feature = "replicas")]
    pub(crate) fn forwarded(&self, target: &str, fields: &[String], remote: Option<SocketAddr>) -> Option<Self> {
        let (mut parts, ()) = http::Request::new(()).into_parts();
        (parts.method, parts.version) = (self.parts.method.clone(), self.parts.version);
        parts.uri = target.parse().ok()?;
        for name in fields {
            let name = http::HeaderName::from_bytes(name.as_bytes()).ok()?;
            let values: Vec<_> = self.parts.headers.get_all(&name).iter().cloned().collect();
            values.into_iter().for_each(|value| {
                parts.headers.append(&name, value);
            });
        }
        Some(Self::new(parts, remote))
    }

    /// Returns the peer address of the connection, if the built-in listener accepted it over TCP. In axum it is in the
    /// extensions, as `ConnectInfo`. Behind a reverse proxy it is the proxy's.
    pub fn remote_addr(&self) -> Option<SocketAddr> {
        self.remote
    }
}

impl Deref for HttpRequest {
    type Target = Parts;

    fn deref(&self) -> &Parts {
        &self.parts
    }
}

impl RequestContext for HttpRequest {
    fn session_id(&self) -> Option<&str> {
        self.session.as_deref()
    }
}

impl fmt::Debug for HttpRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Headers and sessions are secrets.
        let Parts { method, uri, .. } = &self.parts;
        f.debug_struct("HttpRequest").field("method", method).field("path", &uri.path()).finish_non_exhaustive()
    }
}
