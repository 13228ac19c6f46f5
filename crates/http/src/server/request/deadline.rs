//! The overall timeout of a call.

use std::{future::poll_fn, pin::Pin, sync::Arc, task::Poll, time::Duration};

use couplet_core::{BoxFuture, Call, Reply, Service, Wrap};
use couplet_types::RpcError;
use tokio::time::{Sleep, sleep};

use crate::server::metrics::Metrics;

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
    metrics: Metrics,
}

impl Timed {
    pub(crate) fn new(service: Arc<dyn Service>, limit: Duration, metrics: Metrics) -> Self {
        Self { service, limit, metrics }
    }
}

impl Wrap for Timed {
    fn inner(&self) -> &Arc<dyn Service> {
        &self.service
    }

    fn call(&self, call: Call) -> BoxFuture<'static, Reply> {
        let timer = self.metrics.call(&call.method);
        let (limit, handler) = (self.limit, self.service.call(call));
        Box::pin(async move {
            let Some(reply) = within(limit, handler).await else {
                timer.timed_out();
                let seconds = limit.as_secs_f64();
                return Reply::Error(RpcError::internal(format!("the request took longer than {seconds} s")));
            };
            timer.replied(&reply);
            reply
        })
    }
}
