//! The declaration of tools that run as tasks.

use couplet_server::{ToolBuilder, ToolData};
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
}

impl Task {
    /// Runs as a task if the client supports it; other clients wait for the result.
    pub fn optional() -> Self {
        Self { required: false, input_first: false }
    }

    /// Runs as a task only; other clients get an error.
    pub fn required() -> Self {
        Self { required: true, input_first: false }
    }

    /// Sends the input requests that the handler makes before it awaits anything else in the rounds of the call itself,
    /// before a task is created (2026-07-28; no effect elsewhere). A handler that completes by then creates no task.
    pub fn input_first(mut self) -> Self {
        self.input_first = true;
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
