//! The overall timeout of a call.

use std::{collections::BTreeSet, future::poll_fn, pin::Pin, sync::Arc, task::Poll, time::Duration};

use couplet_core::{
    BoxFuture, Call, Caller, ClientNotification, Description, Hub, Metric, Refusals, Reply, Service,
    http::headers::ParamHeader, message::Params,
};
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

impl Service for Timed {
    fn describe(&self) -> Arc<Description> {
        self.service.describe()
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

    fn hub(&self) -> &Hub {
        self.service.hub()
    }

    fn notified(&self, note: ClientNotification) {
        self.service.notified(note);
    }

    fn header_params(&self, tool: &str) -> Option<Arc<[ParamHeader]>> {
        self.service.header_params(tool)
    }

    fn required_scopes(&self, method: &str, params: &Params) -> Option<Arc<[String]>> {
        self.service.required_scopes(method, params)
    }

    fn has_resource(&self, uri: &str) -> bool {
        self.service.has_resource(uri)
    }

    fn may_subscribe(&self, uri: &str, caller: Option<&Caller>) -> bool {
        self.service.may_subscribe(uri, caller)
    }

    fn subscribing(&self, uris: &BTreeSet<String>) -> Option<BoxFuture<'static, Refusals>> {
        self.service.subscribing(uris)
    }

    fn background(&self) -> Option<BoxFuture<'static, ()>> {
        self.service.background()
    }

    fn metrics(&self) -> Vec<Metric> {
        self.service.metrics()
    }

    fn drain(&self, grace: Duration) -> Option<BoxFuture<'static, ()>> {
        self.service.drain(grace)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use couplet_core::{Limits, ServerConnection};
    use couplet_types::{Implementation, ServerCapabilities};

    use crate::server::request::deadline::*;

    /// Answers every method with something that no default would.
    #[derive(Default)]
    struct Sentinel {
        hub: Hub,
        notes: AtomicUsize,
    }

    impl Service for Sentinel {
        fn describe(&self) -> Arc<Description> {
            Arc::new(Description::new(Implementation::new("sentinel", "1"), ServerCapabilities::default()))
        }

        fn call(&self, _: Call) -> BoxFuture<'static, Reply> {
            Box::pin(std::future::ready(Reply::Error(RpcError::internal("sentinel"))))
        }

        fn hub(&self) -> &Hub {
            &self.hub
        }

        fn notified(&self, _: ClientNotification) {
            self.notes.fetch_add(1, Ordering::SeqCst);
        }

        fn header_params(&self, _: &str) -> Option<Arc<[ParamHeader]>> {
            Some(Arc::new([]))
        }

        fn required_scopes(&self, method: &str, _: &Params) -> Option<Arc<[String]>> {
            Some(Arc::new([method.to_owned()]))
        }

        fn has_resource(&self, _: &str) -> bool {
            false
        }

        fn may_subscribe(&self, _: &str, _: Option<&Caller>) -> bool {
            false
        }

        fn subscribing(&self, _: &BTreeSet<String>) -> Option<BoxFuture<'static, Refusals>> {
            Some(Box::pin(std::future::ready(Refusals::new())))
        }

        fn background(&self) -> Option<BoxFuture<'static, ()>> {
            Some(Box::pin(std::future::ready(())))
        }

        fn metrics(&self) -> Vec<Metric> {
            vec![Metric::gauge("sentinel", "one", 1)]
        }

        fn drain(&self, _: Duration) -> Option<BoxFuture<'static, ()>> {
            self.background()
        }
    }

    #[test]
    fn every_method_reaches_the_service_inside() {
        let inner = Arc::new(Sentinel::default());
        let timed = Arc::new(Timed::new(inner.clone(), Duration::from_secs(1), Metrics::default()));
        assert_eq!(timed.describe().info.name, "sentinel");
        assert!(std::ptr::eq(timed.hub(), inner.hub()));
        assert!(timed.header_params("any").is_some());
        assert_eq!(timed.required_scopes("one", &Params::default()).as_deref(), Some(&["one".to_owned()][..]));
        assert!(!timed.has_resource("any"));
        assert!(!timed.may_subscribe("any", None));
        assert!(timed.subscribing(&BTreeSet::new()).is_some());
        assert!(timed.background().is_some());
        assert_eq!(timed.metrics().len(), 1);
        assert!(timed.drain(Duration::ZERO).is_some());
        let mut connection = ServerConnection::new(timed, Limits::default());
        connection.receive(br#"{"jsonrpc":"2.0","method":"notifications/any"}"#[..].into());
        assert_eq!(inner.notes.load(Ordering::SeqCst), 1);
    }
}
