//! Middleware of extensions around the calls of tools.

use std::{any::Any, fmt, sync::Arc, time::Duration};

use couplet_core::{BoxFuture, Call, Reply};
use couplet_types::Tool;

use crate::{dispatch, extension::ToolData, handle::ServerHandle, inner::Inner, tool::ToolDef};

/// A type-erased middleware of tool calls.
pub(crate) type ToolMiddleware = Arc<dyn Fn(ToolCall, ToolNext) -> BoxFuture<'static, Reply> + Send + Sync>;

/// A call of a registered tool, as [`Extension::tool_middleware`](crate::Extension::tool_middleware) sees it.
#[derive(Debug)]
#[non_exhaustive]
pub struct ToolCall {
    /// The call.
    pub call: Call,
    /// The server.
    pub server: ServerHandle,
    tool: Arc<ToolDef<()>>,
}

impl ToolCall {
    /// Returns the tool as it is listed.
    pub fn tool(&self) -> &Tool {
        &self.tool.spec
    }

    /// Returns the tool's [extension data](crate::ToolBuilder::extension_data) of type `T`.
    pub fn data<T: ToolData>(&self) -> Option<&T> {
        self.tool.data.iter().find_map(|data| (&**data as &dyn Any).downcast_ref())
    }
}

/// The rest of the middleware chain, ending with the tool.
#[derive(Clone)]
#[must_use = "the tool is called by `run`"]
pub struct ToolNext {
    inner: Arc<Inner>,
    tool: Arc<ToolDef<()>>,
    at: usize,
    timeout: Option<Duration>,
}

impl ToolNext {
    pub(crate) fn first(inner: Arc<Inner>, tool: Arc<ToolDef<()>>) -> Self {
        let timeout = inner.config.timeout;
        Self { inner, tool, at: 0, timeout }
    }

    /// Replaces the server's timeout for this call; `None` for no timeout. A tool with
    /// [a timeout of its own](crate::ToolBuilder::timeout) keeps it.
    pub fn timeout(mut self, timeout: impl Into<Option<Duration>>) -> Self {
        self.timeout = timeout.into();
        self
    }

    /// Runs the next middleware, or the tool. Dropping the future cancels the call.
    pub fn run(mut self, call: Call) -> BoxFuture<'static, Reply> {
        let middleware = self.inner.tool_middleware().nth(self.at).cloned();
        match middleware {
            Some(middleware) => {
                self.at += 1;
                let (server, tool) = (ServerHandle(self.inner.clone()), self.tool.clone());
                middleware(ToolCall { call, server, tool }, self)
            }
            None => dispatch::run_tool(&self.inner, self.tool, call, self.timeout)
                .unwrap_or_else(|error| Box::pin(std::future::ready(Reply::Error(error)))),
        }
    }
}

impl fmt::Debug for ToolNext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ToolNext").field("tool", &self.tool.spec.name).finish_non_exhaustive()
    }
}
