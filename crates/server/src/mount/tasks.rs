//! Tasks of mounted servers: their ids have the prefix in front, in every message that names one.

use std::sync::Arc;

use couplet_core::{BoxFuture, Call, ExtensionEvent, Reply, ResultBody};
use couplet_types::{InputRequest, RawJson, RelatedTask, RequestMethod, RpcError, TasksCapability};

use super::{
    Mount,
    extended::has_own,
    route::{Object, block, each, member, parsed, replaced, text, tool_result},
};
use crate::inner::Inner;

/// The member that names a task.
pub(super) const ID: &str = "taskId";

/// The member of a subscription filter that names tasks.
const FILTER: &str = "taskIds";

/// Answers a request about a task of a mounted server.
pub(super) fn about(inner: &Arc<Inner>, call: &Call) -> Option<BoxFuture<'static, Reply>> {
    let id: String = call.params.read(ID).ok()?;
    let found = inner.mounts.iter().find_map(|mount| Some((mount, mount.task_inside(&id)?)));
    let Some((mount, inside)) = found.filter(|(mount, _)| serves(mount, &call.method)) else {
        if has_own(inner, call) || !inner.mounts.iter().any(|mount| serves(mount, &call.method)) {
            return None;
        }
        let error = RpcError::invalid_params(format!("there is no task `{id}`"));
        return Some(Box::pin(std::future::ready(Reply::Error(error))));
    };
    let mut inner_call = call.clone();
    inner_call.params = replaced(&call.params, ID, &text(inside)?)?;
    let outward = mount.clone();
    inner_call.inputs = call.inputs.edited(move |ask| question(&outward, ask));
    let running = mount.service.call(connected(mount, inner_call));
    let mount = mount.clone();
    Some(Box::pin(async move {
        match running.await {
            Reply::Complete(done) => Reply::Complete(renamed(&mount, done)),
            other => other,
        }
    }))
}

/// Whether a server has a method about tasks, in one of the two wire formats.
pub(super) fn serves(mount: &Mount, method: &str) -> bool {
    let has = |own: fn(&TasksCapability) -> bool| mount.service.describe().capabilities.tasks.as_ref().is_some_and(own);
    mount.serves(method)
        || match RequestMethod::from_name(method) {
            Some(RequestMethod::GetTask | RequestMethod::GetTaskPayload) => has(|_| true),
            Some(RequestMethod::CancelTask) => has(|tasks| tasks.cancel.is_some()),
            Some(RequestMethod::ListTasks) => has(|tasks| tasks.list.is_some()),
            _ => false,
        }
}

/// A call whose notifications name tasks as they are called outside, where a session hears of tasks.
pub(super) fn connected(mount: &Mount, mut call: Call) -> Call {
    if call.revision.has_core_tasks() && mount.service.describe().capabilities.tasks.is_some() {
        let mount = mount.clone();
        call.outbox = call.outbox.edited(move |_, params| edited(&mount, params));
    }
    call
}

/// An event of a mounted server, for the subscribers of the outer one.
pub(super) fn event(mount: &Mount, event: &ExtensionEvent) -> ExtensionEvent {
    if event.topic.0 != FILTER {
        return event.clone();
    }
    let params = edited(mount, event.params.clone());
    ExtensionEvent::new(FILTER, mount.task_outside(&event.topic.1), event.method.as_str(), params)
        .for_principal(event.principal.clone())
}

/// A task, or the result of one, with the names outside.
pub(super) fn result(mount: &Mount, result: &mut Object) -> Option<()> {
    let _ = name(mount, result);
    let _ = member(mount, result, "task", name);
    let _ = member(mount, result, "result", tool_result);
    let _ = each(mount, result, "content", block);
    Some(())
}

/// The entry of a task.
pub(super) fn name(mount: &Mount, task: &mut Object) -> Option<()> {
    if let Some(id) = task.get(ID).and_then(|id| id.parse::<String>().ok()) {
        task.insert(ID, RawJson::new(&mount.task_outside(&id)).ok()?);
    }
    let _ = member(mount, task, "_meta", |mount, meta| member(mount, meta, RelatedTask::KEY, name));
    Some(())
}

/// The whole result, `_meta` included. Results about tasks are never cached.
fn renamed(mount: &Mount, done: ResultBody) -> ResultBody {
    let rename = || {
        let mut object: Object = parsed(&done.text())?;
        result(mount, &mut object)?;
        text(&object)
    };
    rename().map_or(done, |text| ResultBody::uncached_json(&text))
}

fn edited(mount: &Mount, params: RawJson) -> RawJson {
    let rename = || {
        let mut object: Object = params.parse().ok()?;
        result(mount, &mut object)?;
        RawJson::new(&object).ok()
    };
    rename().unwrap_or(params)
}

/// A request to the client that belongs to a task.
fn question(mount: &Mount, mut ask: InputRequest) -> InputRequest {
    let rename = || {
        let mut params: Object = ask.params.as_ref()?.parse().ok()?;
        // A request about a task of the client's own names that one.
        member(mount, &mut params, "_meta", |mount, meta| member(mount, meta, RelatedTask::KEY, name))?;
        RawJson::new(&params).ok()
    };
    if let Some(params) = rename() {
        ask.params = Some(params);
    }
    ask
}
