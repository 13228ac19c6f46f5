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

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use couplet_core::{Connection, JsonText, Limits};
    use couplet_types::{Implementation, ServerCapabilities};

    use super::*;

    /// A service that answers each question about itself as no default does.
    #[derive(Default)]
    struct Sentinel {
        hub: Hub,
        notes: AtomicUsize,
    }

    impl Service for Sentinel {
        fn describe(&self) -> Arc<Description> {
            let info = Implementation::new("sentinel", "1.0.0");
            Arc::new(Description::new(info, ServerCapabilities::default()))
        }

        fn call(&self, _: Call) -> BoxFuture<'static, Reply> {
            Box::pin(std::future::ready(Reply::Error(RpcError::internal("sentinel"))))
        }

        fn hub(&self) -> &Hub {
            &self.hub
        }

        fn notified(&self, _: Note) {
            self.notes.fetch_add(1, Ordering::SeqCst);
        }

        fn mirrored(&self, _: &str) -> Option<Arc<[ParamHeader]>> {
            Some(Arc::new([]))
        }

        fn required_scopes(&self, method: &str, _: &Params) -> Option<Arc<[String]>> {
            Some(Arc::new([method.to_owned()]))
        }

        fn has_resource(&self, _: &str) -> bool {
            false
        }
    }

    #[test]
    fn everything_but_the_time_comes_from_the_service() {
        let sentinel = Arc::new(Sentinel::default());
        let timed = Timed::new(sentinel.clone(), Duration::from_secs(1));
        assert_eq!(timed.describe().info.name, "sentinel");
        assert!(std::ptr::eq(timed.hub(), &sentinel.hub));
        assert!(timed.mirrored("t").is_some() && !timed.has_resource("u"));
        let params = Params::from_text(JsonText::empty_object()).unwrap();
        assert_eq!(timed.required_scopes("m", &params).as_deref(), Some(&["m".to_owned()][..]));
        let mut connection = Connection::new(Arc::new(timed), Limits::default());
        let hello = r#"{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"c","version":"1"}}"#;
        for message in [
            format!(r#"{{"jsonrpc":"2.0","id":1,"method":"initialize","params":{hello}}}"#),
            r#"{"jsonrpc":"2.0","method":"notifications/roots/list_changed"}"#.to_owned(),
        ] {
            connection.receive(message.into());
        }
        assert_eq!(sentinel.notes.load(Ordering::SeqCst), 1);
    }
}
