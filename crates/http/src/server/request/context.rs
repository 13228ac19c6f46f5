//! The HTTP request of a call, for handlers.

use std::{
    fmt,
    net::{IpAddr, SocketAddr},
    ops::Deref,
    sync::Arc,
};

use couplet_core::RequestContext;
use http::request::Parts;

use crate::server::request::client::HttpPeer;

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
    client: HttpPeer,
    pub(crate) session: Option<Arc<str>>,
}

impl HttpRequest {
    pub(crate) fn new(parts: Parts, remote: Option<SocketAddr>, client: HttpPeer) -> Self {
        Self { parts, remote, client, session: None }
    }

    /// The same request as a client sent it to another replica: with its target, only these fields, its peer and
    /// its client. `None` if the target is malformed.
    #[cfg(feature = "replicas")]
    pub(crate) fn forwarded(
        &self,
        target: &str,
        fields: &[String],
        (remote, client): (Option<SocketAddr>, Option<IpAddr>),
    ) -> Option<Self> {
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
        Some(Self::new(parts, remote, HttpPeer::from(client)))
    }

    /// Returns the peer address of the connection, if the built-in listener accepted it over TCP. In axum it is in the
    /// extensions, as `ConnectInfo`. Behind a reverse proxy it is the proxy's, or the address that its PROXY header
    /// names; see [`HttpRequest::client_ip`].
    ///
    /// ```
    /// use couplet_http::server::HttpRequest;
    /// use couplet_server::extract::Request;
    ///
    /// fn is_direct(request: Request<HttpRequest>) -> bool {
    ///     request.remote_addr().map(|peer| peer.ip()) == request.client_ip()
    /// }
    /// # let _ = is_direct;
    /// ```
    pub fn remote_addr(&self) -> Option<SocketAddr> {
        self.remote
    }

    /// Returns the IP address of the client: the one that [trusted proxies](crate::server::TrustedProxies) name, or else
    /// the peer address of the connection. `None` over a Unix domain socket whose peer is not trusted, and without the
    /// built-in listener, unless [`Endpoint::client_ip`](crate::server::Endpoint::client_ip) is set.
    pub fn client_ip(&self) -> Option<IpAddr> {
        self.client.address
    }

    /// Returns the scheme that the client used, `http` or `https`, if a trusted proxy names it.
    pub fn forwarded_scheme(&self) -> Option<&str> {
        self.client.scheme
    }

    /// Returns the host and perhaps the port that the client used, if a trusted proxy names it. It is not checked against
    /// the allowed hosts: clients can choose it where the proxy passes it on.
    ///
    /// ```
    /// use couplet_http::server::HttpRequest;
    ///
    /// /// The URL that the client used, for links in results.
    /// fn base(request: &HttpRequest) -> String {
    ///     let host = request.headers.get("host").and_then(|host| host.to_str().ok());
    ///     let host = request.forwarded_host().or(host).unwrap_or("localhost");
    ///     format!("{}://{host}", request.forwarded_scheme().unwrap_or("http"))
    /// }
    /// # let _ = base;
    /// ```
    pub fn forwarded_host(&self) -> Option<&str> {
        self.client.host.as_deref()
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
