//! Middleware: functions around every call.

use std::{fmt, future::Future, sync::Arc};

use couplet_core::{BoxFuture, Call, Reply};

use crate::inner::Inner;

/// A type-erased middleware.
pub(crate) type Middleware = Arc<dyn Fn(Call, Next) -> BoxFuture<'static, Reply> + Send + Sync>;

/// Erases the type of a middleware.
pub(crate) fn erase<F, Fut>(middleware: F) -> Middleware
where
    F: Fn(Call, Next) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Reply> + Send + 'static,
{
    Arc::new(move |call, next| Box::pin(middleware(call, next)))
}

/// The rest of the middleware chain, ending with the handler. See [`Server::middleware`](crate::Server::middleware).
#[derive(Clone)]
pub struct Next {
    inner: Arc<Inner>,
    at: usize,
}

impl Next {
    pub(crate) fn first(inner: Arc<Inner>) -> Self {
        Self { inner, at: 0 }
    }

    /// Runs the next middleware, or the handler. Dropping the future cancels the call.
    pub fn run(mut self, call: Call) -> BoxFuture<'static, Reply> {
        match self.inner.middleware.get(self.at).cloned() {
            Some(middleware) => {
                self.at += 1;
                middleware(call, self)
            }
            None => crate::dispatch::dispatch(self.inner, call),
        }
    }
}

impl fmt::Debug for Next {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Next").field("at", &self.at).finish_non_exhaustive()
    }
}
