//! Functions that block: on a thread of their own, or with a warning where they hold up their connection.

use std::{
    future::Future,
    panic::resume_unwind,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    task::{Context, Poll, ready},
    time::{Duration, Instant},
};

use couplet_types::RpcError;
use tokio::{
    runtime,
    task::{JoinHandle, spawn_blocking},
};
use tracing::Span;

use crate::{definition::Run, extract::Rejection, handler::Handler, reply::Kind};

/// A function that is not `async` should be done by then.
const LONG: Duration = Duration::from_millis(100);

/// Forgets the type of a handler that runs on a thread for blocking work.
pub(crate) fn erase<K: Kind, M, S: Send + 'static, H: Handler<K, M, S>>(handler: H) -> Run<K, S> {
    Arc::new(move |invocation, state| {
        let handler = handler.clone();
        // Without a runtime there are no threads to give.
        let Ok(runtime) = runtime::Handle::try_current() else { return handler.call(invocation, state) };
        let span = Span::current();
        let work = move || span.in_scope(|| runtime.block_on(handler.call(invocation, state)));
        // Begun by the first poll, and not before: what is around a handler may never let it run.
        Box::pin(async move { OnThread(spawn_blocking(work)).await })
    })
}

/// A function on a thread. Dropped before it begins, it does not run; later it cannot be stopped.
struct OnThread<T>(JoinHandle<Result<T, Rejection>>);

impl<T> Future for OnThread<T> {
    type Output = Result<T, Rejection>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        Poll::Ready(match ready!(Pin::new(&mut self.0).poll(cx)) {
            Ok(result) => result,
            Err(error) => match error.try_into_panic() {
                // Where every panic of a handler is caught.
                Ok(panic) => resume_unwind(panic),
                Err(_) => Err(RpcError::internal("the server is shutting down").into()),
            },
        })
    }
}

impl<T> Drop for OnThread<T> {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// The same handler, in a program with debug assertions with a warning the first time that it takes long.
pub(crate) fn watched<K: Kind, S: 'static>(name: &str, run: Run<K, S>) -> Run<K, S> {
    match cfg!(debug_assertions) {
        true => watched_by::<K, S>(name, run, Instant::now),
        false => run,
    }
}

fn watched_by<K: Kind, S: 'static>(name: &str, run: Run<K, S>, now: fn() -> Instant) -> Run<K, S> {
    let watch: Arc<(String, AtomicBool)> = Arc::new((name.to_owned(), AtomicBool::new(false)));
    Arc::new(move |invocation, state| {
        let (watch, running) = (watch.clone(), run(invocation, state));
        Box::pin(async move {
            let began = now();
            let result = running.await;
            let (took, (name, warned)) = (now().duration_since(began), &*watch);
            if took >= LONG && !warned.swap(true, Ordering::Relaxed) {
                tracing::warn!(
                    tool = name,
                    ?took,
                    "a function that is not `async` held up its connection; make it `async`, or `blocking`"
                );
            }
            result
        })
    })
}
