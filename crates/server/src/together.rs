//! Several futures as one.

use std::{future::poll_fn, task::Poll};

use couplet_core::BoxFuture;

/// Runs futures at once, until all of them have completed; `None` if there are none.
pub(crate) fn together(mut all: Vec<BoxFuture<'static, ()>>) -> Option<BoxFuture<'static, ()>> {
    match all.len() {
        0 | 1 => all.pop(),
        _ => Some(Box::pin(poll_fn(move |cx| {
            all.retain_mut(|work| work.as_mut().poll(cx).is_pending());
            if all.is_empty() { Poll::Ready(()) } else { Poll::Pending }
        }))),
    }
}
