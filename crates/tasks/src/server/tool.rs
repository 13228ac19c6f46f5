//! Tools that are tasks.

use couplet_server::{ToolBuilder, ToolData};
use couplet_types::{TASKS_EXTENSION, TaskSupport, Tool, ToolExecution};

/// Says that a tool runs as a task. The server needs [`Tasks`](crate::Tasks).
///
/// With clients that know tasks, a call is answered at once and the function goes on in the background: what it asks
/// and reports becomes a part of the task, and cancelling the task drops it.
#[derive(Clone, Debug)]
#[must_use = "give it to a tool with `task`"]
pub struct Task {
    pub(super) required: bool,
    pub(super) asks_first: bool,
}

impl Task {
    /// Clients that do not know tasks, or do not want one, wait for the result.
    pub fn optional() -> Self {
        Self { required: false, asks_first: false }
    }

    /// Clients that do not know tasks, or do not want one, get an error.
    pub fn required() -> Self {
        Self { required: true, asks_first: false }
    }

    /// What the function asks before it waits for anything else is asked before there is a task, in the rounds of the
    /// call itself, where the revision has rounds. A function that is done by then needs no task.
    pub fn asks_first(mut self) -> Self {
        self.asks_first = true;
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

/// One call that makes a tool a task.
pub trait TaskTool: Sized {
    /// Runs the tool as a task.
    #[must_use = "register it with `Server::tool`"]
    fn task(self, task: Task) -> Self;
}

impl<H, M> TaskTool for ToolBuilder<H, M> {
    fn task(self, task: Task) -> Self {
        self.extension_data(task)
    }
}
