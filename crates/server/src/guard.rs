//! What stands between a handler and the connection: a panic is one failed call, and so is one that takes too long.

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

/// Makes a handler's future; a panic becomes an error.
pub(crate) fn made(handler: impl FnOnce() -> BoxFuture<'static, Reply>) -> BoxFuture<'static, Reply> {
    catch_unwind(AssertUnwindSafe(handler)).unwrap_or_else(|panic| Box::pin(std::future::ready(failed(&*panic))))
}

/// Runs a handler; a panic becomes an error that says nothing of the inside.
pub(crate) fn contained<F: Future<Output = Reply>>(handler: F) -> Contained<F> {
    Contained { handler }
}

/// Runs a handler for as long as it may take. While it waits for the client's answer, the time does not run.
pub(crate) fn timed<F: Future<Output = Reply>>(limit: Option<Duration>, inputs: Inputs, handler: F) -> Timed<F> {
    Timed { handler, limit, inputs, timer: None }
}

pin_project! {
    /// A handler whose panics stay inside.
    pub(crate) struct Contained<F> {
        #[pin]
        handler: F,
    }
}

pin_project! {
    /// A handler with a limit. The timer is set only when the handler is not done at once, as most are.
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

/// A question that changes between rounds is a mistake of the developer's, who reads the server's log.
fn complain(inputs: &Inputs) {
    if let Some(changed) = inputs.changed() {
        tracing::warn!(error = ?changed.message, "a handler asks something else in each round");
    }
}

fn failed(panic: &(dyn Any + Send)) -> Reply {
    let what = panic.downcast_ref::<&str>().copied().or(panic.downcast_ref::<String>().map(String::as_str));
    tracing::error!(panic = what.unwrap_or("of an unknown kind"), "a handler panicked");
    Reply::Error(RpcError::internal("the handler failed unexpectedly"))
}
