//! One kind of task in the other's form.

use std::{fmt::Display, time::Duration};

use couplet_core::{JsonText, Revision, message::Params};
use couplet_types::{
    CallTool, DetailedTask, GetTaskPayloadResult, InputRequest, Map, Meta, RawJson, RelatedTask, RpcError, Task,
    TaskStatus,
};

use crate::result;

/// A task of the extension, as one of 2025-11-25. There a task fails if the result of its tool is an error.
pub(super) fn bare(task: DetailedTask) -> Task {
    let is_failed = task.status == TaskStatus::Completed && task.result.as_ref().is_some_and(is_error);
    let status = if is_failed { TaskStatus::Failed } else { task.status };
    let mut bare = Task::new(task.task_id, status, task.created_at);
    bare.last_updated_at = task.last_updated_at;
    (bare.status_message, bare.ttl, bare.poll_interval) = (task.status_message, task.ttl_ms, task.poll_interval_ms);
    bare
}

/// A task of 2025-11-25, as one of the extension, without the members of its status.
pub(super) fn detailed(task: Task) -> DetailedTask {
    let mut detailed = DetailedTask::new(task.task_id, task.status, task.created_at);
    detailed.last_updated_at = task.last_updated_at;
    (detailed.status_message, detailed.ttl_ms) = (task.status_message, task.ttl);
    detailed.poll_interval_ms = task.poll_interval;
    detailed
}

/// The response of `tasks/result`: the result of the task, with the task in its `_meta`.
pub(super) fn payload(to: Revision, id: &str, result: &RawJson) -> Result<GetTaskPayloadResult, RpcError> {
    let done = result::again::<CallTool>(to, &JsonText::from(result)).map_err(unreadable)?;
    let mut payload: GetTaskPayloadResult = done.text().parse().map_err(unreadable)?;
    payload.meta.get_or_insert_with(Meta::new).insert(RelatedTask::KEY, related(id)?);
    Ok(payload)
}

fn unreadable(error: impl Display) -> RpcError {
    RpcError::internal(format!("the server's result cannot be parsed: {error}"))
}

/// The result of a task of 2025-11-25, as a part of a task of the extension.
pub(super) fn inlined(to: Revision, result: &JsonText) -> Result<RawJson, String> {
    let mut payload: GetTaskPayloadResult = result.parse().map_err(|e| e.to_string())?;
    if let Some(meta) = &mut payload.meta {
        meta.remove(RelatedTask::KEY);
    }
    payload.meta = payload.meta.filter(|meta| !meta.is_empty());
    let text = JsonText::from(&RawJson::new(&payload).map_err(|e| e.to_string())?);
    Ok(result::again::<CallTool>(to, &text)?.text().to_raw())
}

/// The task that an input request belongs to.
pub(super) fn related_task(request: &InputRequest) -> Option<String> {
    let params = Params::from_text(JsonText::from(request.params.as_ref()?)).ok()?;
    let meta: Map<RawJson> = params.read_opt("_meta").ok()??;
    meta.get(RelatedTask::KEY)?.parse::<RelatedTask>().ok().map(|related| related.task_id)
}

/// The input request of a task of the extension, as 2025-11-25 sends it.
pub(super) fn tagged(id: &str, request: InputRequest) -> Result<InputRequest, RpcError> {
    let related = related(id)?;
    with_meta(request, |meta| meta.insert(RelatedTask::KEY, related))
}

/// The input request of a task of 2025-11-25, as the extension lists it.
pub(super) fn untagged(request: InputRequest) -> Result<InputRequest, RpcError> {
    with_meta(request, |meta| drop(meta.remove(RelatedTask::KEY)))
}

fn with_meta(mut request: InputRequest, edit: impl FnOnce(&mut Map<RawJson>)) -> Result<InputRequest, RpcError> {
    let mut params: Map<RawJson> = members(request.params.as_ref())?;
    let mut meta = members(params.get("_meta"))?;
    edit(&mut meta);
    match meta.is_empty() {
        true => drop(params.remove("_meta")),
        false => params.insert("_meta", RawJson::new(&meta).map_err(invalid)?),
    }
    request.params = Some(RawJson::new(&params).map_err(invalid)?);
    Ok(request)
}

fn members(object: Option<&RawJson>) -> Result<Map<RawJson>, RpcError> {
    object.map_or_else(|| Ok(Map::new()), |object| object.parse().map_err(invalid))
}

fn invalid(error: impl Display) -> RpcError {
    RpcError::invalid_params(error.to_string())
}

/// The parameters of a request.
pub(super) fn params(of: &impl serde::Serialize) -> Result<Params, RpcError> {
    let text = RawJson::new(of).map_err(|e| RpcError::internal(e.to_string()))?;
    Params::from_text(JsonText::from(&text)).map_err(|fault| RpcError::internal(fault.to_string()))
}

/// The time until the next poll.
pub(super) fn pause(millis: Option<u64>) -> Duration {
    Duration::from_millis(millis.unwrap_or(500).clamp(10, 60_000))
}

fn related(id: &str) -> Result<RawJson, RpcError> {
    RawJson::new(&RelatedTask::new(id)).map_err(|e| RpcError::internal(e.to_string()))
}

fn is_error(result: &RawJson) -> bool {
    let members = Params::from_text(JsonText::from(result)).unwrap_or_default();
    members.get("isError").is_some_and(|flag| flag.as_str() == "true")
}
