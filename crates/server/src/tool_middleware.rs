//! What extensions put around the calls of tools.

use std::{any::Any, fmt, sync::Arc};

use couplet_core::{BoxFuture, Call, Reply};
use couplet_types::Tool;

use crate::{dispatch, extension::ToolData, handle::ServerHandle, inner::Inner, tool::ToolDef};

/// A function around every call of a tool.
pub(crate) type ToolMiddleware = Arc<dyn Fn(ToolCall, ToolNext) -> BoxFuture<'static, Reply> + Send + Sync>;

/// The call of a tool that exists.
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
    /// The tool as it is listed.
    pub fn tool(&self) -> &Tool {
        &self.tool.spec
    }

    /// What the tool was given for an extension.
    pub fn data<T: ToolData>(&self) -> Option<&T> {
        self.tool.data.iter().find_map(|data| (&**data as &dyn Any).downcast_ref())
    }
}

/// The rest of the way to a tool.
#[derive(Clone)]
#[must_use = "the tool is called by `run`"]
pub struct ToolNext {
    inner: Arc<Inner>,
    tool: Arc<ToolDef<()>>,
    at: usize,
    unlimited: bool,
}

impl ToolNext {
    pub(crate) fn first(inner: Arc<Inner>, tool: Arc<ToolDef<()>>) -> Self {
        Self { inner, tool, at: 0, unlimited: false }
    }

    /// The server's limit for the time that a call takes does not count; one of the tool's own does.
    pub fn no_timeout(mut self) -> Self {
        self.unlimited = true;
        self
    }

    /// Goes on to the next layer, or to the tool.
    pub fn run(mut self, call: Call) -> BoxFuture<'static, Reply> {
        let layer = self.inner.tool_middleware().nth(self.at).cloned();
        match layer {
            Some(layer) => {
                self.at += 1;
                let (server, tool) = (ServerHandle(self.inner.clone()), self.tool.clone());
                layer(ToolCall { call, server, tool }, self)
            }
            None => dispatch::run_tool(&self.inner, self.tool, call, self.unlimited)
                .unwrap_or_else(|error| Box::pin(std::future::ready(Reply::Error(error)))),
        }
    }
}

impl fmt::Debug for ToolNext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ToolNext").field("tool", &self.tool.spec.name).finish_non_exhaustive()
    }
}
