//! `tasks/list`: the tasks that a caller has begun through this proxy.
//!
//! The list of the server is not used: to the server all callers are one, and the extension has no list. The proxy knows the
//! ids of the caller's tasks, and requests the state of each from the server.

use std::sync::Arc;

use couplet_core::{Call, Error, Reply};
use couplet_types::{GetTaskParams, ListTasksResult, RpcError, Task, from_json};

use super::{Mode, TaskForms, broken, held::HeldResults, mode, to_extension::ExtensionTask, unknown, wire};
use crate::{call::Passing, join, upstream::Upstream};

/// The page size. Each task of a page is a request to the server.
const PAGE: usize = 20;

pub(super) async fn run(passing: &Passing<'_>, lead: &Arc<Upstream>) -> Result<Reply, Error> {
    let (call, server) = (passing.call, lead.client.revision());
    let has_tasks = TaskForms::are_core(lead.capabilities(), server);
    if !has_tasks && !TaskForms::are_extension(lead.capabilities(), server) {
        return Err(RpcError::method_not_found(&call.method).into());
    }
    let own = passing.pool.tasks.own(call);
    let rest = after(call, &own)?;
    let page = &rest[..rest.len().min(PAGE)];
    let mode = mode(call, lead);
    let upstream = match (mode, page) {
        (Mode::Extension, _) | (_, []) => lead.clone(),
        // A server may tie tasks to its sessions.
        _ => passing.pool.shared(&passing.needs()).await?,
    };
    let looks = page.iter().map(|id| look(passing, mode, &upstream, id));
    let mut tasks = Vec::with_capacity(page.len());
    for task in join::all(looks).await {
        match task {
            Ok(task) => tasks.push(task),
            // The server does not have it any more.
            Err(error) if error.rpc().is_some() => {}
            Err(error) => return Err(error),
        }
    }
    let mut list = ListTasksResult::new(tasks);
    list.next_cursor = page.last().filter(|_| rest.len() > PAGE).cloned();
    Ok(Reply::Complete(call.revision.encode(list)))
}

/// The tasks after the cursor, which is the id of the last one before.
fn after<'a>(call: &Call, own: &'a [String]) -> Result<&'a [String], RpcError> {
    let Some(cursor) = call.params.read_str("cursor")? else { return Ok(own) };
    let at = own.iter().position(|id| *id == cursor);
    at.map(|at| &own[at + 1..]).ok_or_else(|| RpcError::invalid_params("the cursor is not valid for `tasks/list`"))
}

/// The current state of a task.
async fn look(passing: &Passing<'_>, mode: Mode, upstream: &Arc<Upstream>, id: &str) -> Result<Task, Error> {
    if HeldResults::is_held(id) {
        let held = passing.pool.tasks.held.get(passing.call.principal(), id);
        return held.map(|(task, _)| task).ok_or_else(|| unknown().into());
    }
    if mode == Mode::Extension {
        let task = ExtensionTask { passing, upstream: upstream.clone(), id: id.to_owned() };
        return task.look().await.map(wire::bare);
    }
    let params = wire::params(&GetTaskParams::new(id))?;
    let text = passing.ask_server(&upstream.client, "tasks/get", &params).await?;
    let task: Task = from_json(text.as_str()).map_err(broken)?;
    match task.task_id == id {
        true => Ok(task),
        false => Err(broken("it is another one than was asked for")),
    }
}
