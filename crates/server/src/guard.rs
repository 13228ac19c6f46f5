//! What stands between a handler and the connection: a panic is one failed call, and so is one that takes too long.

use std::{
    future::{Future, poll_fn},
    panic::{AssertUnwindSafe, catch_unwind},
    pin::pin,
    task::Poll,
    time::Duration,
};

use couplet_core::Reply;
use couplet_types::RpcError;

use crate::ctx::Asking;

/// Runs a handler; a panic becomes an error that says nothing of the inside.
pub(crate) async fn contained(handler: impl Future<Output = Reply>) -> Reply {
    let mut handler = pin!(handler);
    poll_fn(|cx| match catch_unwind(AssertUnwindSafe(|| handler.as_mut().poll(cx))) {
        Ok(poll) => poll,
        Err(panic) => {
            let what = panic.downcast_ref::<&str>().copied().or(panic.downcast_ref::<String>().map(String::as_str));
            tracing::error!(panic = what.unwrap_or("of an unknown kind"), "a handler panicked");
            Poll::Ready(Reply::Error(RpcError::internal("the handler failed unexpectedly")))
        }
    })
    .await
}

/// Runs a handler for as long as it may take. While it waits for the client's answer, the time does not run.
pub(crate) async fn timed(limit: Option<Duration>, asking: &Asking, handler: impl Future<Output = Reply>) -> Reply {
    let Some(limit) = limit else { return handler.await };
    let mut handler = pin!(handler);
    // Most handlers are done at once and need no timer.
    if let Some(reply) = poll_fn(|cx| {
        Poll::Ready(match handler.as_mut().poll(cx) {
            Poll::Ready(reply) => Some(reply),
            Poll::Pending => None,
        })
    })
    .await
    {
        return reply;
    }
    loop {
        match tokio::time::timeout(limit, handler.as_mut()).await {
            Ok(reply) => return reply,
            Err(_) if asking.is_going_on() => {}
            Err(_) => {
                let seconds = limit.as_secs_f64();
                return Reply::Error(RpcError::internal(format!("the handler took longer than {seconds} s")));
            }
        }
    }
}
