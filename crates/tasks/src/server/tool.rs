//! The declaration of tools that run as tasks.

use couplet_server::{ServerHandle, ToolBuilder, ToolData};
use couplet_types::{TASKS_EXTENSION, TaskSupport, Tool, ToolExecution};

use crate::sealed::Sealed;

/// Declares that a tool runs as a task. Register [`Tasks`](crate::Tasks) on the server too.
///
/// Clients with task support get an answer at once, and the handler continues in the background: its input requests and
/// progress become part of the task, and cancelling the task drops the handler's future.
#[derive(Clone, Debug)]
#[must_use = "give it to a tool with `task`"]
pub struct Task {
    pub(super) required: bool,
    pub(super) input_first: bool,
    pub(super) repeatable: bool,
    pub(super) max_runs: u64,
}

impl Task {
    /// Runs as a task if the client supports it; other clients wait for the result.
    pub fn optional() -> Self {
        Self { required: false, input_first: false, repeatable: false, max_runs: 10 }
    }

    /// Runs as a task only; other clients get an error.
    pub fn required() -> Self {
        Self { required: true, ..Self::optional() }
    }

    /// Sends the input requests that the handler makes before it awaits anything else in the rounds of the call itself,
    /// before a task is created (2026-07-28; no effect elsewhere). A handler that completes by then creates no task.
    pub fn input_first(mut self) -> Self {
        self.input_first = true;
        self
    }

    /// Declares that the tool may run again from the top, in another process, when the process that ran it is gone. Without
    /// this, such a task fails.
    ///
    /// Replicas that share a store detect this by the [lease](crate::Tasks::lease); a restarted process with an
    /// [`Sqlite`](crate::Sqlite) store detects it at once. A graceful shutdown
    /// ([`Service::drain`](couplet_core::Service::drain)) releases the task, so that others need not wait. It runs again when its client next polls it, on the replica
    /// that receives the request. [Steps](couplet_server::Ctx::step) that were completed and input requests that were
    /// answered are replayed, so the handler follows the same rules as
    /// [requests to the client](couplet_server::Ctx#requests-to-the-client): side effects belong into a `step`. A step that
    /// was interrupted runs again.
    ///
    /// The arguments of the call and the values of steps are stored until the task ends. Not for
    /// [`input_first`](Task::input_first): the server is not built.
    ///
    /// ```
    /// use couplet_server::{Ctx, Server, ToolError, tool};
    /// use couplet_tasks::{Task, TaskTool, Tasks};
    ///
    /// async fn deploy(ctx: Ctx) -> Result<String, ToolError> {
    ///     let image: String = ctx.step("build", || async { "app:42".to_owned() }).await?;
    ///     ctx.step("roll out", || async {}).await?;
    ///     Ok(image)
    /// }
    ///
    /// let server: Server = Server::new("ci", "1.0.0")
    ///     .extension(Tasks::in_memory())
    ///     .tool(tool("deploy", deploy).task(Task::required().repeatable()));
    /// ```
    pub fn repeatable(mut self) -> Self {
        self.repeatable = true;
        self
    }

    /// Sets how often a [repeatable](Task::repeatable) task is started at most (default: 10), without the runs that ended
    /// with a graceful shutdown. After that it fails, so that a task that ends its process does not do so for ever.
    pub fn max_runs(mut self, most: u64) -> Self {
        self.max_runs = most;
        self
    }
}

impl ToolData for Task {
    fn extension(&self) -> &'static str {
        TASKS_EXTENSION
    }

    fn describe(&self, tool: &mut Tool) {
        let support = if self.required { TaskSupport::Required } else { TaskSupport::Optional };
        tool.execution = Some(ToolExecution::new().task_support(support));
    }

    fn check(&self, _: &ServerHandle) -> Result<(), String> {
        match self.repeatable && self.input_first {
            true => Err("a task cannot be both `repeatable` and `input_first`".to_owned()),
            false => Ok(()),
        }
    }
}

/// Extension method that makes a tool run as a task.
///
/// This trait is sealed: it is implemented for [`ToolBuilder`] alone.
pub trait TaskTool: Sealed + Sized {
    /// Declares that the tool runs as a task.
    #[must_use = "register it with `Server::tool`"]
    fn task(self, task: Task) -> Self;
}

impl<H, M> Sealed for ToolBuilder<H, M> {}

impl<H, M> TaskTool for ToolBuilder<H, M> {
    fn task(self, task: Task) -> Self {
        self.extension_data(task)
    }
}
