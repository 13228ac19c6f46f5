//! The time that a call may take in all.

use std::{future::poll_fn, pin::Pin, sync::Arc, task::Poll, time::Duration};

use couplet_core::{BoxFuture, Call, Description, Hub, Note, Reply, Service, http::headers::ParamHeader};
use couplet_types::RpcError;
use tokio::time::{Sleep, sleep};

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
        let limit = self.limit;
        let mut handler = self.service.call(call);
        // Most calls are done at once and need no timer.
        let mut timer: Option<Pin<Box<Sleep>>> = None;
        Box::pin(poll_fn(move |cx| {
            if let Poll::Ready(reply) = handler.as_mut().poll(cx) {
                return Poll::Ready(reply);
            }
            timer.get_or_insert_with(|| Box::pin(sleep(limit))).as_mut().poll(cx).map(|()| {
                let seconds = limit.as_secs_f64();
                Reply::Error(RpcError::internal(format!("the request took longer than {seconds} s")))
            })
        }))
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

    fn has_resource(&self, uri: &str) -> bool {
        self.service.has_resource(uri)
    }
}
