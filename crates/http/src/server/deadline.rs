//! The time that a call may take in all.

use std::{future::poll_fn, pin::Pin, sync::Arc, task::Poll, time::Duration};

use couplet_core::{
    BoxFuture, Call, Description, Hub, Note, Reply, Service, http::headers::ParamHeader, message::Params,
};
use couplet_types::RpcError;
use tokio::time::{Sleep, sleep};

/// What a future gives, unless that takes longer than it may. Most are done at once and need no timer.
pub(crate) async fn within<F: Future + Unpin>(limit: Duration, mut future: F) -> Option<F::Output> {
    let mut timer: Option<Pin<Box<Sleep>>> = None;
    poll_fn(|cx| match Pin::new(&mut future).poll(cx) {
        Poll::Ready(done) => Poll::Ready(Some(done)),
        Poll::Pending => timer.get_or_insert_with(|| Box::pin(sleep(limit))).as_mut().poll(cx).map(|()| None),
    })
    .await
}

/// A service whose calls end, one way or another.
pub(crate) struct Timed {
    service: Arc<dyn Service>,
    limit: Duration,
}

impl Timed {
    pub(crate) fn new(service: Arc<dyn Service>, limit: Duration) -> Self {
        Self { service, limit }
    }
}

impl Service for Timed {
    fn describe(&self) -> Arc<Description> {
        self.service.describe()
    }

    fn call(&self, call: Call) -> BoxFuture<'static, Reply> {
        let (limit, handler) = (self.limit, self.service.call(call));
        Box::pin(async move {
            within(limit, handler).await.unwrap_or_else(|| {
                let seconds = limit.as_secs_f64();
                Reply::Error(RpcError::internal(format!("the request took longer than {seconds} s")))
            })
        })
    }

    fn hub(&self) -> &Hub {
        self.service.hub()
    }

    fn notified(&self, note: Note) {
        self.service.notified(note);
    }

    fn mirrored(&self, tool: &str) -> Option<Arc<[ParamHeader]>> {
        self.service.mirrored(tool)
    }

    fn required_scopes(&self, method: &str, params: &Params) -> Option<Arc<[String]>> {
        self.service.required_scopes(method, params)
    }

    fn has_resource(&self, uri: &str) -> bool {
        self.service.has_resource(uri)
    }
}
