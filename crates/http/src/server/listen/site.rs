//! The paths of the listener.

use std::{net::SocketAddr, sync::Arc};

use http::{HeaderValue, Request, StatusCode, Version, header};
use hyper::body::Incoming;

use crate::server::{
    endpoint::Endpoint,
    limits::HttpLimits,
    listen::{forwarded::TrustedProxies, network::Network},
    request::{Answering, access_log::Access},
    response,
};

/// The path that answers whether the process runs.
const HEALTH: &str = "/health";
/// The path that answers whether the server accepts work.
const READY: &str = "/ready";

/// The endpoint at its path, and what is beside it.
#[derive(Clone, Debug)]
pub(super) struct Site {
    path: Arc<str>,
    endpoint: Endpoint,
    proxies: Arc<Proxies>,
}

/// The peers that are believed when they name a client.
#[derive(Debug, Default)]
pub(super) struct Proxies {
    /// Those whose requests do, in headers.
    pub(super) by_header: TrustedProxies,
    /// Those whose connections do, at their beginning.
    pub(super) by_connection: Vec<Network>,
}

impl Site {
    pub(super) fn new(path: String, endpoint: Endpoint, proxies: Proxies) -> Self {
        Self { path: path.into(), endpoint, proxies: Arc::new(proxies) }
    }

    pub(super) fn limits(&self) -> &HttpLimits {
        &self.endpoint.config.limits
    }

    /// Returns whether the connections of a peer begin with a header of the PROXY protocol.
    pub(super) fn has_proxy_header(&self, remote: Option<SocketAddr>) -> bool {
        let address = remote.map(|remote| remote.ip());
        self.proxies.by_connection.iter().any(|network| network.contains(address))
    }

    /// The site is not ready from now on, and serves as before.
    pub(super) fn begin_drain(&self) {
        self.endpoint.begin_drain();
    }

    /// The site serves no new requests from now on.
    pub(super) fn shut_down(&self) {
        self.endpoint.shut_down();
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
        match request.uri().path() {
            path if path == &*self.path || self.endpoint.has_document(path) => {
                self.endpoint.call_from(request, remote, client)
            }
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
}
