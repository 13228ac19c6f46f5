//! Middleware: what runs around every call.

use std::{fmt, future::Future, ops::Deref, sync::Arc};

use couplet_core::{BoxFuture, Call, Metric, Reply};
use couplet_types::Tool;

use crate::{inner::Inner, mount, tool::ToolDef};

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
///         Box::pin(async move {
///             match call.tool_name().is_some() && !next.tool(&call).await.is_some_and(|tool| tool.is_read_only()) {
///                 true => Reply::tool_error(&call, "the server is read-only for now"),
///                 false => next.run(call).await,
///             }
///         })
///     }
/// }
///
/// let server: Server = Server::new("app", "1.0.0").middleware(ReadOnly);
/// ```
#[doc = include_str!("docs/middleware.md")]
pub trait Middleware: Send + Sync + 'static {
    /// Handles a call, usually by running the rest of the chain. Dropping the future cancels the call.
    fn handle(&self, call: Call, next: Next) -> BoxFuture<'static, Reply>;

    /// Returns the numbers that it reports to operators (default: none): see
    /// [`Service::metrics`](couplet_core::Service::metrics).
    ///
    /// ```
    /// use std::sync::atomic::{AtomicU64, Ordering};
    /// use couplet_core::{BoxFuture, Call, Metric, Reply};
    /// use couplet_server::{Middleware, Next};
    ///
    /// /// Counts calls.
    /// #[derive(Default)]
    /// struct Counted(AtomicU64);
    ///
    /// impl Middleware for Counted {
    ///     fn handle(&self, call: Call, next: Next) -> BoxFuture<'static, Reply> {
    ///         self.0.fetch_add(1, Ordering::Relaxed);
    ///         Box::pin(next.run(call))
    ///     }
    ///
    ///     fn metrics(&self) -> Vec<Metric> {
    ///         vec![Metric::gauge("shop_calls", "calls since the start", self.0.load(Ordering::Relaxed))]
    ///     }
    /// }
    /// # assert_eq!(Counted::default().metrics().len(), 1);
    /// ```
    fn metrics(&self) -> Vec<Metric> {
        Vec::new()
    }
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

    /// Returns the tool that a call is for: one of this server, or of a mounted one as it is listed for the caller. `None`
    /// if there is none, if the call is not one of a tool, or if a mounted server cannot be listed.
    ///
    /// The list of a mounted server is requested when it is needed first, and again when the server notifies of a change,
    /// or after five minutes. Annotations of a mounted server are its own claims: mount only servers that you trust.
    ///
    /// A function that counts calls by tool, with one name for everything else, so that callers cannot add names:
    ///
    /// ```
    /// use std::{collections::HashMap, sync::{Arc, Mutex}};
    /// use couplet_core::{Call, Reply};
    /// use couplet_server::{Next, Server};
    ///
    /// let counts = Arc::new(Mutex::new(HashMap::<String, usize>::new()));
    /// let counting = {
    ///     let counts = counts.clone();
    ///     move |call: Call, next: Next| {
    ///         let counts = counts.clone();
    ///         async move {
    ///             let tool = next.tool(&call).await;
    ///             let name = tool.map_or_else(|| "other".to_owned(), |tool| tool.name.clone());
    ///             *counts.lock().unwrap().entry(name).or_default() += 1;
    ///             next.run(call).await
    ///         }
    ///     }
    /// };
    /// let server: Server = Server::new("app", "1.0.0").middleware(counting);
    /// # drop(server);
    /// ```
    pub async fn tool(&self, call: &Call) -> Option<ListedTool> {
        let name = call.tool_name()?;
        if let Some(own) = self.inner.tools.get().find(&name) {
            return Some(ListedTool(ToolSource::Own(own.clone())));
        }
        mount::find_tool(&self.inner, call, &name).await.map(|tool| ListedTool(ToolSource::Mounted(tool)))
    }
}

impl fmt::Debug for Next {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Next").field("at", &self.at).finish_non_exhaustive()
    }
}

/// A tool of a server or of one mounted in it, as [`Next::tool`] returns it. It dereferences to the tool as it is listed.
///
/// Two values of one tool need not be the same definition: a tool can be replaced at run time, and a mounted server can change.
/// [`is_same`](Self::is_same) tells them apart, for middleware that caches what it derives from a definition, such as a parsed
/// schema. A clone is cheap: definitions are shared.
#[derive(Clone)]
pub struct ListedTool(ToolSource);

#[derive(Clone)]
enum ToolSource {
    Own(Arc<ToolDef<()>>),
    Mounted(Arc<Tool>),
}

impl ListedTool {
    /// Returns whether the tool is annotated as one that changes nothing.
    pub fn is_read_only(&self) -> bool {
        self.annotations.as_ref().and_then(|about| about.read_only_hint) == Some(true)
    }

    /// Returns whether the tool is annotated as one that may run several times with the same effect as once.
    pub fn is_idempotent(&self) -> bool {
        self.annotations.as_ref().and_then(|about| about.idempotent_hint) == Some(true)
    }

    /// Returns whether both are the same definition of the same tool.
    pub fn is_same(&self, other: &Self) -> bool {
        match (&self.0, &other.0) {
            (ToolSource::Own(one), ToolSource::Own(other)) => Arc::ptr_eq(one, other),
            // Callers may have lists of their own, with the same tools in them.
            (ToolSource::Mounted(one), ToolSource::Mounted(other)) => Arc::ptr_eq(one, other) || one == other,
            _ => false,
        }
    }
}

impl Deref for ListedTool {
    type Target = Tool;

    fn deref(&self) -> &Tool {
        match &self.0 {
            ToolSource::Own(own) => &own.spec,
            ToolSource::Mounted(tool) => tool,
        }
    }
}

impl fmt::Debug for ListedTool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ListedTool").field(&self.name).finish()
    }
}
