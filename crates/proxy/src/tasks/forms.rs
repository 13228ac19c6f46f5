//! How tasks are declared to callers.

use couplet_core::{ExtensionMethod, ExtensionSpec};
use couplet_types::{
    Map, RawJson, ServerCapabilities, TASKS_EXTENSION, TaskRequestsCapability, TaskSupport, TaskToolsCapability,
    TasksCapability, Tool, ToolExecution,
};

/// The two forms in which a server behind a proxy has tasks: as a part of the protocol (2025-11-25), and as an extension
/// (2026-07-28). A proxy serves both, whichever the server has, and declares them with this.
///
/// ```
/// use couplet_proxy::TaskForms;
/// use couplet_types::{Map, RawJson, ServerCapabilities, TASKS_EXTENSION};
///
/// let mut can = ServerCapabilities::default();
/// can.extensions = Some(Map::from_iter([(TASKS_EXTENSION, RawJson::empty_object())]));
/// TaskForms::declare(&mut can);
/// assert!(can.tasks.is_some_and(|tasks| tasks.cancel.is_some() && tasks.list.is_none()));
/// ```
#[derive(Debug)]
#[non_exhaustive]
pub struct TaskForms;

impl TaskForms {
    /// Declares both forms if a server has one of them. `tasks/list` is removed: to the server all callers are one, and
    /// each would see the tasks of others.
    pub fn declare(can: &mut ServerCapabilities) {
        let (is_core, is_extension) = (runs_tools(can), has_extension(can));
        if is_core && !is_extension {
            can.extensions.get_or_insert_with(Map::new).insert(TASKS_EXTENSION, RawJson::empty_object());
        }
        if is_extension && !is_core {
            let tools = TaskToolsCapability::new().call(RawJson::empty_object());
            let requests = TaskRequestsCapability::new().tools(tools);
            can.tasks = Some(TasksCapability::new().cancel(RawJson::empty_object()).requests(requests));
        }
        can.tasks.iter_mut().for_each(|tasks| tasks.list = None);
    }

    /// Lists a tool of a server that has the extension for callers of 2025-11-25: the server decides which calls become
    /// tasks, so a caller may request a task of each.
    pub fn list(tool: &mut Tool) {
        tool.execution.get_or_insert_with(|| ToolExecution::new().task_support(TaskSupport::Optional));
    }

    /// Returns the methods, result types and filters of the extension.
    pub fn extension() -> ExtensionSpec {
        let about_a_task = |name: &str| ExtensionMethod::new(name).named_by("taskId");
        let mut tasks = ExtensionSpec::new(TASKS_EXTENSION)
            .method(about_a_task("tasks/get"))
            .method(about_a_task("tasks/update"))
            .method(about_a_task("tasks/cancel"))
            .result_type(super::KIND);
        tasks.stateless = true;
        tasks
    }
}

/// Whether a server has the extension.
pub(crate) fn has_extension(server: &ServerCapabilities) -> bool {
    server.extensions.as_ref().is_some_and(|all| all.contains_key(TASKS_EXTENSION))
}

/// Whether tools of a server can run as tasks of 2025-11-25.
pub(super) fn runs_tools(server: &ServerCapabilities) -> bool {
    let requests = server.tasks.as_ref().and_then(|tasks| tasks.requests.as_ref());
    requests.and_then(|requests| requests.tools.as_ref()?.call.as_ref()).is_some()
}
