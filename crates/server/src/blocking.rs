//! Blocking functions: on a thread for blocking work, or with a warning where they block their connection.

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

/// The time after which a function that is not `async` is reported.
const LONG: Duration = Duration::from_millis(100);

/// Erases the type of a handler that runs on a thread for blocking work.
pub(crate) fn erase<K: Kind, M, S: Send + 'static, H: Handler<K, M, S>>(handler: H) -> Run<K, S> {
    Arc::new(move |invocation, state| {
        let handler = handler.clone();
        // Without a runtime there are no threads.
        let Ok(runtime) = runtime::Handle::try_current() else { return handler.call(invocation, state) };
        let span = Span::current();
        let work = move || span.in_scope(|| runtime.block_on(handler.call(invocation, state)));
        // Spawned by the first poll, and not before: middleware may never poll the handler.
        Box::pin(async move { OnThread(spawn_blocking(work)).await })
    })
}

/// A function on a thread. Dropped before it starts, it does not run; later it cannot be stopped.
struct OnThread<T>(JoinHandle<Result<T, Rejection>>);

impl<T> Future for OnThread<T> {
    type Output = Result<T, Rejection>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        Poll::Ready(match ready!(Pin::new(&mut self.0).poll(cx)) {
            Ok(result) => result,
            Err(error) => match error.try_into_panic() {
                // It is caught where every panic of a handler is.
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

/// Adds a warning to a handler, with debug assertions: logged the first time that it takes long.
pub(crate) fn watched<K: Kind, S: 'static>(name: &str, run: Run<K, S>) -> Run<K, S> {
    if !cfg!(debug_assertions) {
        return run;
    }
    let watch = Arc::new(Watch { name: name.to_owned(), has_warned: AtomicBool::new(false), now: Instant::now });
    Arc::new(move |invocation, state| {
        let (watch, running) = (watch.clone(), run(invocation, state));
        Box::pin(async move { watch.over(running).await })
    })
}

/// The stopwatch of a function that is not `async`.
struct Watch {
    name: String,
    has_warned: AtomicBool,
    now: fn() -> Instant,
}

impl Watch {
    async fn over<T>(&self, running: impl Future<Output = T>) -> T {
        let began = (self.now)();
        let result = running.await;
        let took = (self.now)().duration_since(began);
        if took >= LONG && !self.has_warned.swap(true, Ordering::Relaxed) {
            tracing::warn!(
                tool = self.name,
                ?took,
                "a function that is not `async` blocked its connection; make it `async`, or `blocking`"
            );
        }
        result
    }
}

#[cfg(test)]
mod tests {
    use std::{cell::Cell, sync::LazyLock};

    use super::*;

    static BEGAN: LazyLock<Instant> = LazyLock::new(Instant::now);

    thread_local! {
        static PASSED: Cell<Duration> = const { Cell::new(Duration::ZERO) };
    }

    #[tokio::test]
    async fn a_function_that_holds_up_its_connection_is_noticed() {
        let now = || *BEGAN + PASSED.get();
        let watch = Watch { name: "slow".to_owned(), has_warned: AtomicBool::new(false), now };
        for (takes, warned) in [(Duration::ZERO, false), (LONG - Duration::from_nanos(1), false), (LONG, true)] {
            let result = watch.over(async { PASSED.set(PASSED.get() + takes) });
            result.await;
            assert_eq!(watch.has_warned.load(Ordering::Relaxed), warned, "{takes:?}");
        }
    }
}
