//! The paths of the listener.

use std::{net::SocketAddr, sync::Arc, time::Duration};

use http::{HeaderValue, Request, StatusCode, Version, header};
use hyper::body::Incoming;
use tokio::task::JoinSet;

use crate::server::{
    endpoint::Endpoint,
    limits::HttpLimits,
    listen::{forwarded::TrustedProxies, network::Network, routes::Routes},
    metrics::OpenConnection,
    request::{Answering, access_log::Access},
    response::{self, Reply},
};

/// The path that answers whether the process runs.
const HEALTH: &str = "/health";
/// The path that answers whether the server accepts work.
const READY: &str = "/ready";

/// What a listener serves: the endpoint at its path, what operators need beside it, or only that.
#[derive(Clone, Debug)]
pub(super) struct Site {
    endpoint: Endpoint,
    path: Option<Arc<str>>,
    metrics: Option<Arc<str>>,
    proxies: Arc<ProxyTrust>,
    routes: Routes,
}

/// The peers that are believed when they name a client.
#[derive(Debug, Default)]
pub(super) struct ProxyTrust {
    /// Those whose requests do, in headers.
    pub(super) by_header: TrustedProxies,
    /// Those whose connections do, at their beginning.
    pub(super) by_connection: Vec<Network>,
}

impl Site {
    pub(super) fn new(
        path: String,
        metrics: Option<String>,
        endpoint: Endpoint,
        proxies: ProxyTrust,
        routes: Routes,
    ) -> Self {
        let metrics = metrics.map(Into::into);
        Self { endpoint, path: Some(path.into()), metrics, proxies: Arc::new(proxies), routes }
    }

    /// The same without the endpoint: metrics at a path, and whether the server is ready.
    #[cfg(feature = "metrics")]
    pub(super) fn for_operators(&self, metrics: &str) -> Self {
        let (endpoint, metrics) = (self.endpoint.clone(), Some(metrics.into()));
        Self { endpoint, path: None, metrics, proxies: Arc::default(), routes: Routes::new() }
    }

    pub(super) fn limits(&self) -> &HttpLimits {
        &self.endpoint.config.limits
    }

    /// Returns whether the connections of a peer begin with a header of the PROXY protocol.
    pub(super) fn has_proxy_header(&self, remote: Option<SocketAddr>) -> bool {
        let address = remote.map(|remote| remote.ip());
        self.proxies.by_connection.iter().any(|network| network.contains(address))
    }

    /// Counts a connection until the value is dropped.
    pub(super) fn connected(&self) -> Option<OpenConnection> {
        self.path.is_some().then(|| self.endpoint.config.metrics.connected())
    }

    /// Counts a connection that could not be accepted.
    pub(super) fn accept_failed(&self) {
        self.endpoint.config.metrics.accept_failed();
    }

    /// Starts the work that the service does beside requests.
    pub(super) fn start(&self) {
        self.endpoint.run_background();
        self.routes.start();
    }

    /// Completes the work that the service does without a request.
    pub(super) async fn drain(&self, grace: Duration) {
        let mut draining: JoinSet<()> = self.routes.all().into_iter().map(|endpoint| endpoint.drain(grace)).collect();
        draining.spawn(self.endpoint.drain(grace));
        while draining.join_next().await.is_some() {}
    }

    /// Waits for the calls of clients that have lost their connections.
    pub(super) async fn finish_calls(&self) {
        self.endpoint.finish_calls().await;
        self.routes.finish_calls().await;
    }

    /// Lets other replicas go on with the sessions, once the connections are drained.
    pub(super) async fn end(&self) {
        self.endpoint.release_sessions().await;
        self.routes.end().await;
    }

    /// The site is not ready from now on, and serves as before.
    pub(super) fn begin_drain(&self) {
        self.endpoint.begin_drain();
        self.routes.begin_drain();
    }

    /// The site serves no new requests from now on.
    pub(super) fn shut_down(&self, grace: Duration) {
        self.endpoint.shut_down_within(grace);
        self.routes.shut_down(grace);
    }

    pub(super) fn answer(&self, request: Request<Incoming>, remote: Option<SocketAddr>) -> Answering {
        let closes = request.version() != Version::HTTP_2 && self.endpoint.is_draining();
        let answering = self.route(request, remote);
        if !closes {
            return answering;
        }
        // The load balancer opens its next connection to another replica.
        answering.map(|reply| {
            reply.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
        })
    }

    fn route(&self, request: Request<Incoming>, remote: Option<SocketAddr>) -> Answering {
        let client = self.proxies.by_header.client(remote, request.headers());
        let path = request.uri().path();
        if self.path.as_deref().is_some_and(|own| own == path || self.endpoint.has_document(path)) {
            return self.endpoint.call_from(request, remote, client);
        }
        if let Some(endpoint) = self.routes.find(path) {
            return endpoint.call_from(request, remote, client);
        }
        #[cfg(feature = "inspector")]
        if let Some(endpoint) = self.inspected(path) {
            return endpoint.call_from(request, remote, client);
        }
        if self.metrics.as_deref() == Some(path) {
            return Answering::ready(self.metrics(request));
        }
        match path {
            HEALTH => Answering::ready(response::empty(StatusCode::OK)),
            READY => {
                let endpoint = self.endpoint.clone();
                Answering::new(async move {
                    let is_ready = endpoint.is_ready().await;
                    response::empty(if is_ready { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE })
                })
            }
            _ => {
                let mut reply = response::empty(StatusCode::NOT_FOUND);
                if let Some(access) = Access::begin(request.method(), request.uri(), client.address) {
                    access.ends_with(&mut reply);
                }
                Answering::ready(reply)
            }
        }
    }

    /// The endpoint whose page is at a path.
    #[cfg(feature = "inspector")]
    fn inspected(&self, path: &str) -> Option<Endpoint> {
        let place = crate::server::inspector::place(path)?;
        let own = self.path.as_deref().is_some_and(|own| own.trim_end_matches('/') == place);
        let endpoint = if own { Some(self.endpoint.clone()) } else { self.routes.find(place) };
        endpoint.filter(|endpoint| endpoint.config.inspector)
    }

    #[cfg(feature = "metrics")]
    fn metrics(&self, request: Request<Incoming>) -> Reply {
        let (parts, _) = request.into_parts();
        if !matches!(parts.method, http::Method::GET | http::Method::HEAD) {
            return response::not_allowed("GET, HEAD");
        }
        if !self.endpoint.config.guard.allows_operator(&parts) {
            return response::error(StatusCode::FORBIDDEN, "this host name is not served here");
        }
        let mut reply = response::json(StatusCode::OK, bytes::Bytes::from(self.endpoint.metrics()));
        let kind = HeaderValue::from_static(crate::server::metrics::text::TYPE);
        reply.headers_mut().insert(header::CONTENT_TYPE, kind);
        reply
    }

    #[cfg(not(feature = "metrics"))]
    fn metrics(&self, _: Request<Incoming>) -> Reply {
        response::empty(StatusCode::NOT_FOUND)
    }
}
