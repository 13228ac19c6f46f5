//! Guards around a handler: a panic or a timeout fails its call, and nothing else.

use std::{
    any::Any,
    future::Future,
    panic::{AssertUnwindSafe, catch_unwind},
    pin::Pin,
    task::{Context, Poll, ready},
    time::Duration,
};

use couplet_core::{BoxFuture, Inputs, Reply};
use couplet_types::RpcError;
use pin_project_lite::pin_project;
use tokio::time::{Instant, Sleep, sleep};

/// Calls a function that returns a handler's future; a panic becomes an error.
pub(crate) fn made(handler: impl FnOnce() -> BoxFuture<'static, Reply>) -> BoxFuture<'static, Reply> {
    catch_unwind(AssertUnwindSafe(handler)).unwrap_or_else(|panic| Box::pin(std::future::ready(failed(&*panic))))
}

/// Runs a handler; a panic becomes an error that reveals nothing of its message.
pub(crate) fn contained<F: Future<Output = Reply>>(handler: F) -> Contained<F> {
    Contained { handler }
}

/// Runs a handler with a timeout. While it waits for the client's answer, the timer does not count.
pub(crate) fn timed<F: Future<Output = Reply>>(limit: Option<Duration>, inputs: Inputs, handler: F) -> Timed<F> {
    Timed { handler, limit, inputs, timer: None }
}

pin_project! {
    /// A handler whose panics are caught.
    pub(crate) struct Contained<F> {
        #[pin]
        handler: F,
    }
}

pin_project! {
    /// A handler with a timeout. The timer is created only if the handler is pending after its first poll, as few are.
    pub(crate) struct Timed<F> {
        #[pin]
        handler: F,
        limit: Option<Duration>,
        inputs: Inputs,
        timer: Option<Pin<Box<Sleep>>>,
    }
}

impl<F: Future<Output = Reply>> Future for Contained<F> {
    type Output = Reply;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Reply> {
        let handler = self.project().handler;
        catch_unwind(AssertUnwindSafe(|| handler.poll(cx))).unwrap_or_else(|panic| Poll::Ready(failed(&*panic)))
    }
}

impl<F: Future<Output = Reply>> Future for Timed<F> {
    type Output = Reply;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Reply> {
        let this = self.project();
        if let Poll::Ready(reply) = this.handler.poll(cx) {
            if let Reply::Error(_) = &reply {
                complain(this.inputs);
            }
            return Poll::Ready(reply);
        }
        let Some(limit) = *this.limit else { return Poll::Pending };
        let timer = this.timer.get_or_insert_with(|| Box::pin(sleep(limit)));
        loop {
            ready!(timer.as_mut().poll(cx));
            if !this.inputs.are_awaited() {
                let seconds = limit.as_secs_f64();
                return Poll::Ready(Reply::Error(RpcError::internal(format!(
                    "the handler took longer than {seconds} s"
                ))));
            }
            timer.as_mut().reset(Instant::now() + limit);
        }
    }
}

/// Warns about a request that changes between rounds, which is a mistake of the developer's.
fn complain(inputs: &Inputs) {
    if let Some(changed) = inputs.changed() {
        tracing::warn!(error = ?changed.message, "a handler sends another request in each round: take values that change from `Ctx::step`");
    }
}

fn failed(panic: &(dyn Any + Send)) -> Reply {
    let what = panic.downcast_ref::<&str>().copied().or(panic.downcast_ref::<String>().map(String::as_str));
    tracing::error!(panic = what.unwrap_or("of an unknown kind"), "a handler panicked");
    Reply::Error(RpcError::internal("the handler failed unexpectedly"))
}

#[cfg(test)]
mod tests {
    use std::{
        fmt,
        sync::{
            Arc, Mutex,
            atomic::{AtomicU64, Ordering},
        },
        task::Waker,
    };

    use couplet_core::{Limits, ServerConnection};
    use serde_json::{Value, json};
    use tracing::{
        Event, Level, Metadata, Subscriber,
        field::{Field, Visit},
        span,
    };

    use super::*;
    use crate::{Ctx, Server, tool};

    /// Collects what is logged at `warn`.
    #[derive(Clone, Default)]
    struct Log(Arc<Mutex<Vec<String>>>);

    impl Subscriber for Log {
        fn enabled(&self, metadata: &Metadata<'_>) -> bool {
            metadata.is_event() && *metadata.level() == Level::WARN
        }

        fn new_span(&self, _: &span::Attributes<'_>) -> span::Id {
            span::Id::from_u64(1)
        }

        fn record(&self, _: &span::Id, _: &span::Record<'_>) {}

        fn record_follows_from(&self, _: &span::Id, _: &span::Id) {}

        fn event(&self, event: &Event<'_>) {
            event.record(&mut self.clone());
        }

        fn enter(&self, _: &span::Id) {}

        fn exit(&self, _: &span::Id) {}
    }

    impl Visit for Log {
        fn record_debug(&mut self, _: &Field, value: &dyn fmt::Debug) {
            self.0.lock().unwrap().push(format!("{value:?}"));
        }
    }

    #[derive(serde::Deserialize, schemars::JsonSchema)]
    struct Form {}

    fn ask(connection: &mut ServerConnection, more: &Value) -> Value {
        let meta = json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": { "elicitation": {} },
        });
        let mut params = json!({ "name": "unstable", "_meta": meta });
        more.as_object().unwrap().iter().for_each(|(key, value)| params[key] = value.clone());
        let message = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params });
        connection.receive(message.to_string().into());
        let Poll::Ready(Some(text)) = connection.poll_send(&mut Context::from_waker(Waker::noop())) else {
            panic!("it is answered at once")
        };
        serde_json::from_slice(&text.into_bytes()).unwrap()
    }

    #[test]
    fn a_question_that_changes_is_logged() {
        let count = Arc::new(AtomicU64::new(0));
        let unstable = move |ctx: Ctx| {
            let number = count.fetch_add(1, Ordering::SeqCst);
            async move { ctx.elicit::<Form>("a", format!("order {number}?")).await.map(|_| "done") }
        };
        let server = Server::<()>::new("s", "1").timeout(None).tool(tool("unstable", unstable)).build();
        let mut connection = ServerConnection::new(Arc::new(server), Limits::default());
        let log = Log::default();
        tracing::subscriber::set_global_default(log.clone()).expect("no other test of this crate sets one");
        let asked = ask(&mut connection, &json!({}));
        let answers = json!({ "a": { "action": "accept", "content": {} } });
        let more = json!({ "requestState": asked["result"]["requestState"], "inputResponses": answers });
        let answer = ask(&mut connection, &more);
        assert_eq!(answer["error"]["code"], -32603, "{answer}");
        let logged = log.0.lock().unwrap().join("\n");
        assert!(logged.contains("the question `a` was `order 0?` and is now `order 1?`"), "{logged}");
    }
}
