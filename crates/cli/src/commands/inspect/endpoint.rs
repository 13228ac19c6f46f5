//! The HTTP endpoint in front of a target.

use std::sync::Arc;

use couplet::{
    core::{BoxFuture, Service},
    http::server::{Endpoint, HttpLimits},
};
use couplet_inspector::{Body, Mounted};
use http::{Request, Response};
use http_body_util::BodyExt;
use hyper::body::Incoming;
use tower_service::Service as _;

struct Front(Endpoint);

/// Creates the endpoint of a service, for the page.
pub(super) fn mount(service: Arc<dyn Service>) -> Arc<dyn Mounted> {
    let mut limits = HttpLimits::default();
    // The page is the only client, and a call may wait for its user.
    limits.request_time = std::time::Duration::from_secs(24 * 3600);
    Arc::new(Front(Endpoint::from_shared(service).limits(limits)))
}

impl Mounted for Front {
    fn respond(&self, request: Request<Incoming>) -> BoxFuture<'static, Response<Body>> {
        let answering = self.0.clone().call(request);
        Box::pin(async move {
            let reply = answering.await.unwrap_or_else(|never| match never {});
            reply.map(|body| body.boxed_unsync())
        })
    }

    fn shut_down(&self) {
        self.0.shut_down();
    }
}
