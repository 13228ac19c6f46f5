//! Middleware: what runs around every call.

use std::{fmt, future::Future, ops::Deref, sync::Arc};

use couplet_core::{BoxFuture, Call, Reply};
use couplet_types::Tool;

use crate::{inner::Inner, tool::ToolDef};

/// Middleware around every call: a function from a call and the rest of the chain to a reply, or a type with settings.
///
/// ```
/// use couplet_core::{BoxFuture, Call, Reply};
/// use couplet_server::{Middleware, Next, Server};
///
/// struct ReadOnly;
///
/// impl Middleware for ReadOnly {
///     fn handle(&self, call: Call, next: Next) -> BoxFuture<'static, Reply> {
///         let writes = call.tool_name().is_some_and(|name| !next.tool(&name).is_some_and(|tool| tool.is_read_only()));
///         match writes {
///             true => Box::pin(async move { Reply::tool_error(&call, "the server is read-only for now") }),
///             false => next.run(call),
///         }
///     }
/// }
///
/// let server: Server = Server::new("app", "1.0.0").middleware(ReadOnly);
/// ```
#[doc = include_str!("docs/middleware.md")]
pub trait Middleware: Send + Sync + 'static {
    /// Handles a call, usually by running the rest of the chain. Dropping the future cancels the call.
    fn handle(&self, call: Call, next: Next) -> BoxFuture<'static, Reply>;
}

impl<F, Fut> Middleware for F
where
    F: Fn(Call, Next) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Reply> + Send + 'static,
{
    fn handle(&self, call: Call, next: Next) -> BoxFuture<'static, Reply> {
        Box::pin(self(call, next))
    }
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
                middleware.handle(call, self)
            }
            None => crate::dispatch::dispatch(self.inner, call),
        }
    }

    /// Returns a registered tool by its name; `None` if there is none, or if it belongs to a mounted server.
    pub fn tool(&self, name: &str) -> Option<RegisteredTool> {
        self.inner.tools.get().find(name).cloned().map(RegisteredTool)
    }
}

impl fmt::Debug for Next {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Next").field("at", &self.at).finish_non_exhaustive()
    }
}

/// A registered tool, as [`Next::tool`] returns it. It dereferences to the tool as it is listed.
#[derive(Clone)]
pub struct RegisteredTool(Arc<ToolDef<()>>);

impl RegisteredTool {
    /// Returns whether the tool is annotated as one that changes nothing.
    pub fn is_read_only(&self) -> bool {
        self.annotations.as_ref().and_then(|about| about.read_only_hint) == Some(true)
    }

    /// Returns whether the tool is annotated as one that may run several times with the same effect as once.
    pub fn is_idempotent(&self) -> bool {
        self.annotations.as_ref().and_then(|about| about.idempotent_hint) == Some(true)
    }

    /// Returns whether both are the same registration of the same tool.
    pub fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Deref for RegisteredTool {
    type Target = Tool;

    fn deref(&self) -> &Tool {
        &self.0.spec
    }
}

impl fmt::Debug for RegisteredTool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("RegisteredTool").field(&self.name).finish()
    }
}
