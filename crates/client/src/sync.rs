//! Locks without poisoning, and two combinators of futures.

use std::{
    future::{Future, poll_fn},
    panic::{AssertUnwindSafe, catch_unwind},
    pin::pin,
    task::Poll,
};

use couplet_core::BoxFuture;
pub(crate) use couplet_core::sync::lock;
use couplet_types::RpcError;

/// Runs futures concurrently, and returns their outputs in order.
pub(crate) async fn join<T>(futures: Vec<BoxFuture<'static, T>>) -> Vec<T> {
    let mut waiting: Vec<_> = futures.into_iter().map(Some).collect();
    let mut done: Vec<Option<T>> = waiting.iter().map(|_| None).collect();
    poll_fn(|cx| {
        let mut open = false;
        for (future, result) in waiting.iter_mut().zip(&mut done) {
            let Some(running) = future else { continue };
            match running.as_mut().poll(cx) {
                Poll::Ready(value) => (*future, *result) = (None, Some(value)),
                Poll::Pending => open = true,
            }
        }
        if open { Poll::Pending } else { Poll::Ready(()) }
    })
    .await;
    done.into_iter().flatten().collect()
}

/// Runs a callback. A panic becomes an error for the server.
pub(crate) async fn guarded<T>(work: impl Future<Output = Result<T, RpcError>>) -> Result<T, RpcError> {
    let mut work = pin!(work);
    poll_fn(|cx| {
        catch_unwind(AssertUnwindSafe(|| work.as_mut().poll(cx)))
            .unwrap_or_else(|_| Poll::Ready(Err(RpcError::internal("the client's callback panicked"))))
    })
    .await
}
