//! The paths of the listener.

use std::{net::SocketAddr, sync::Arc};

use http::{HeaderValue, Request, StatusCode, Version, header};
use hyper::body::Incoming;

use crate::server::{
    endpoint::Endpoint,
    limits::HttpLimits,
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
}

impl Site {
    pub(super) fn new(path: String, endpoint: Endpoint) -> Self {
        Self { path: path.into(), endpoint }
    }

    pub(super) fn limits(&self) -> &HttpLimits {
        &self.endpoint.config.limits
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
        match request.uri().path() {
            path if path == &*self.path || self.endpoint.has_document(path) => self.endpoint.call_from(request, remote),
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
                if let Some(access) = Access::begin(request.method(), request.uri()) {
                    access.ends_with(&mut reply);
                }
                Answering::ready(reply)
            }
        }
    }
}
