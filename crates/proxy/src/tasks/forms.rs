//! How tasks are declared to callers.

use couplet_core::{ExtensionMethod, ExtensionSpec, Revision};
use couplet_types::{
    Map, RawJson, ServerCapabilities, TASKS_EXTENSION, TaskRequestsCapability, TaskSupport, TaskToolsCapability,
    TasksCapability, Tool, ToolExecution,
};

/// The two forms in which a server behind a proxy has tasks: as a part of the protocol (2025-11-25), and as an extension
/// (2026-07-28). A proxy serves both, whichever the server has, and declares them with this.
///
/// ```
/// use couplet_core::Revision;
/// use couplet_proxy::TaskForms;
/// use couplet_types::{Map, ProtocolVersion, RawJson, ServerCapabilities, TASKS_EXTENSION};
///
/// let mut can = ServerCapabilities::default();
/// can.extensions = Some(Map::from_iter([(TASKS_EXTENSION, RawJson::empty_object())]));
/// TaskForms::declare(&mut can, Revision::of(ProtocolVersion::V2026_07_28));
/// assert!(can.tasks.is_some_and(|tasks| tasks.cancel.is_some() && tasks.list.is_some()));
/// ```
#[derive(Debug)]
#[non_exhaustive]
pub struct TaskForms;

impl TaskForms {
    /// Declares both forms if a server of a revision has the one of that revision. `tasks/list` is declared with them,
    /// whether the server has it or not: a proxy lists the tasks of a caller itself.
    pub fn declare(can: &mut ServerCapabilities, server: Revision) {
        let (is_core, is_extension) = (Self::are_core(can, server), Self::are_extension(can, server));
        if is_core {
            can.extensions.get_or_insert_with(Map::new).insert(TASKS_EXTENSION, RawJson::empty_object());
        }
        if is_extension {
            let tools = TaskToolsCapability::new().call(RawJson::empty_object());
            let requests = TaskRequestsCapability::new().tools(tools);
            can.tasks = Some(TasksCapability::new().cancel(RawJson::empty_object()).requests(requests));
        }
        let list = (is_core || is_extension).then(RawJson::empty_object);
        can.tasks.iter_mut().for_each(|tasks| tasks.list.clone_from(&list));
    }

    /// Returns whether a server of a revision has tasks as an extension.
    pub fn are_extension(server: &ServerCapabilities, revision: Revision) -> bool {
        !revision.has_sessions() && server.extensions.as_ref().is_some_and(|all| all.contains_key(TASKS_EXTENSION))
    }

    /// Returns whether the tools of a server of a revision can run as tasks of the protocol itself.
    pub fn are_core(server: &ServerCapabilities, revision: Revision) -> bool {
        let requests = server.tasks.as_ref().and_then(|tasks| tasks.requests.as_ref());
        revision.has_core_tasks() && requests.and_then(|requests| requests.tools.as_ref()?.call.as_ref()).is_some()
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
            .result_type(super::KIND)
            .filter(super::FILTER);
        tasks.stateless = true;
        tasks
    }
}
