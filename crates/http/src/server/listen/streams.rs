//! Requests in HTTP/2, of which a connection carries many at a time.
//!
//! hyper spawns a task for each. Then a small request wakes other threads, and its response is written alone. Here the
//! requests that arrived together are begun by the task of their connection, and the responses of those that need not wait
//! are written together. The others are spawned.

use std::{
    future::{Future, poll_fn},
    panic::{AssertUnwindSafe, catch_unwind},
    pin::pin,
    sync::{Arc, Mutex},
    task::{Context, Poll, Waker},
    time::Duration,
};

use couplet_core::{BoxFuture, sync::lock};
use hyper::rt::Executor;
use tokio::time::Instant;

/// The time after which requests that arrived together are spawned without a look at whether they have to wait.
const TURN: Duration = Duration::from_micros(500);

/// The requests of a connection that have arrived and are not begun.
#[derive(Clone, Default)]
pub(crate) struct Arrived(Arc<Mutex<Vec<BoxFuture<'static, ()>>>>);

impl<F: Future<Output = ()> + Send + 'static> Executor<F> for Arrived {
    fn execute(&self, request: F) {
        lock(&self.0).push(Box::pin(request));
    }
}

impl Arrived {
    /// Drives a connection, and begins the requests that arrive on it.
    pub(crate) async fn drive<C: Future>(&self, connection: C) -> C::Output {
        let mut connection = pin!(connection);
        poll_fn(|cx| {
            loop {
                let polled = connection.as_mut().poll(cx);
                // Responses that are ready now are written when the connection is polled again.
                if !self.begin() || polled.is_ready() {
                    return polled;
                }
            }
        })
        .await
    }

    /// Begins the requests. Returns whether there were any.
    fn begin(&self) -> bool {
        let arrived = std::mem::take(&mut *lock(&self.0));
        let any = !arrived.is_empty();
        let began = Instant::now();
        let mut arrived = arrived.into_iter();
        for mut request in arrived.by_ref() {
            // A spawned task has a waker of its own.
            let mut unwoken = Context::from_waker(Waker::noop());
            match catch_unwind(AssertUnwindSafe(|| request.as_mut().poll(&mut unwoken))) {
                Ok(Poll::Pending) => drop(tokio::spawn(request)),
                Ok(Poll::Ready(())) => {}
                // As in a task of its own, it ends this request alone.
                Err(_) => tracing::error!("a request panicked"),
            }
            if began.elapsed() > TURN {
                break;
            }
        }
        arrived.for_each(|request| drop(tokio::spawn(request)));
        any
    }
}
