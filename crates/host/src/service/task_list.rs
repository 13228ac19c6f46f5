//! `tasks/list`: the tasks of a caller at all servers of the view.
//!
//! Each proxy lists the tasks that were begun through it; a server that does not run has none. Ids and cursors are sealed,
//! and a task of a tool that the caller may not use is left out. A list has no record, as that of tools.

use couplet_core::{Call, JsonText, Reply};
use couplet_types::{ListTasksResult, RpcError, Task};

use crate::{
    policy::Door,
    service::{View, snapshot::Snapshot},
};

/// The number of tasks after which a page ends.
const PAGE: usize = 50;

/// The list of cursors.
const CURSORS: &str = "task";

/// The place of the next task: a server of the view, and the cursor of its list.
struct TaskPlace {
    member: usize,
    cursor: Option<String>,
}

impl View {
    pub(crate) async fn list_tasks(self, call: Call) -> Reply {
        let snapshot = self.snapshot();
        let mut place = match self.task_place(&snapshot, &call) {
            Ok(place) => place,
            Err(error) => return error.into(),
        };
        let mut tasks = Vec::new();
        while place.member < snapshot.members.len() && tasks.len() < PAGE {
            let page = self.tasks_at(&snapshot, &call, &place).await.unwrap_or_default();
            let own = page.tasks.into_iter().filter_map(|task| self.exposed_task(&snapshot, &call, place.member, task));
            tasks.extend(own);
            let member = place.member + usize::from(page.next_cursor.is_none());
            place = TaskPlace { member, cursor: page.next_cursor };
        }
        let mut list = ListTasksResult::new(tasks);
        list.next_cursor = snapshot.members.get(place.member).map(|member| {
            let place = format!("{}/{}", member.id(), place.cursor.unwrap_or_default());
            self.seals().cursor(&call, CURSORS, &place)
        });
        Reply::Complete(call.revision.encode(list))
    }

    /// The place of the cursor of a request.
    fn task_place(&self, snapshot: &Snapshot, call: &Call) -> Result<TaskPlace, RpcError> {
        let Some(cursor) = call.params.read_str("cursor")? else { return Ok(TaskPlace { member: 0, cursor: None }) };
        let opened = self.seals().open_cursor(call, CURSORS, &cursor).and_then(|place| {
            let (server, cursor) = place.split_once('/')?;
            let member = snapshot.members.iter().position(|member| member.id().as_str() == server)?;
            Some(TaskPlace { member, cursor: Some(cursor.to_owned()).filter(|cursor| !cursor.is_empty()) })
        });
        opened.ok_or_else(|| RpcError::invalid_params("`cursor` is not valid: it was not made here"))
    }

    /// A page of the tasks at one server; `None` if it cannot list them now.
    async fn tasks_at(&self, snapshot: &Snapshot, call: &Call, place: &TaskPlace) -> Option<ListTasksResult> {
        let upstream = &snapshot.members[place.member].upstream;
        upstream.running()?;
        let params = match &place.cursor {
            Some(cursor) => call.params.with("cursor", &JsonText::string(cursor)),
            None => call.params.without("cursor"),
        };
        let call = call.with_params(params.ok()?);
        let running = upstream.proxy().await.ok()?;
        let listed = running.proxy().forward(&call, Some(&snapshot.members[place.member].link)).await;
        match running.settle(&call.method, listed) {
            Reply::Complete(list) => list.members().parse().ok(),
            _ => None,
        }
    }

    /// A task with its sealed id; `None` if the caller may not use it.
    fn exposed_task(&self, snapshot: &Snapshot, call: &Call, member: usize, mut task: Task) -> Option<Task> {
        let aim = self.task_aim(snapshot, member, &task.task_id);
        let verdict = snapshot.verdict(&aim, Door::Task, call.principal());
        let id = snapshot.members[member].id();
        task.task_id = self.seals().task(call.principal(), id, &task.task_id);
        snapshot.rules.is_open(verdict.decision).then_some(task)
    }
}
