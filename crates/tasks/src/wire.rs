//! A task as the two wires write it.

use couplet_core::{JsonText, message::Params};
use couplet_types::{
    DetailedTask, GetTaskPayloadResult, InputRequest, Map, Meta, RawJson, RelatedTask, RpcError, Task, TaskStatus,
};

use crate::{
    clock,
    record::{Finished, Record},
};

/// The bare task: tasks as a part of the protocol.
pub(crate) fn bare(record: &Record) -> Task {
    let mut task = Task::new(record.id.as_str(), record.status, clock::iso(record.created));
    task.last_updated_at = clock::iso(record.updated);
    task.status_message.clone_from(&record.message);
    task.ttl(record.ttl).poll_interval(record.poll_interval)
}

/// The first answer of a call that became a task: tasks as an extension.
pub(crate) fn created(record: &Record) -> DetailedTask {
    let mut task = DetailedTask::new(record.id.as_str(), record.status, clock::iso(record.created));
    task.last_updated_at = clock::iso(record.updated);
    task.status_message.clone_from(&record.message);
    task.ttl_ms(record.ttl).poll_interval_ms(record.poll_interval)
}

/// The task with what belongs to its status: tasks as an extension.
pub(crate) fn detailed(record: &Record) -> DetailedTask {
    let mut task = created(record);
    if record.status == TaskStatus::InputRequired {
        task.input_requests = Some(record.asks.iter().cloned().collect());
    }
    match &record.finished {
        Some(Finished::Result(result, _)) => task.result = Some(result.clone()),
        Some(Finished::Error(error)) => task.error = Some(error.clone()),
        None => {}
    }
    task
}

/// Whether a result of a tool says that the tool failed.
pub(crate) fn says_error(result: &RawJson) -> bool {
    let members = result.parse::<Map<RawJson>>().unwrap_or_default();
    members.get("isError").is_some_and(|flag| flag.get() == "true")
}

/// What the request answers in the end, tied to its task.
pub(crate) fn payload(record: &Record) -> Result<GetTaskPayloadResult, RpcError> {
    let result = match &record.finished {
        Some(Finished::Result(result, _)) => result,
        Some(Finished::Error(error)) => return Err(error.clone()),
        None => return Err(RpcError::internal("the task was cancelled and has no result")),
    };
    let mut payload: GetTaskPayloadResult = result.parse().map_err(|e| RpcError::internal(e.to_string()))?;
    payload.meta.get_or_insert_with(Meta::new).insert(RelatedTask::KEY, related(&record.id));
    Ok(payload)
}

/// The task that a request became, if its answer is one: tasks as a part of the protocol.
pub(crate) fn begun(answer: &JsonText) -> Result<Option<Task>, RpcError> {
    let members = Params::from_text(answer.clone()).map_err(|e| RpcError::internal(e.to_string()))?;
    members.read_opt("task")
}

/// A question tied to its task.
pub(crate) fn tagged(id: &str, ask: InputRequest) -> InputRequest {
    edited(ask, |params| {
        let mut meta: Map<RawJson> = params.get("_meta").and_then(|m| m.parse().ok()).unwrap_or_default();
        meta.insert(RelatedTask::KEY, related(id));
        if let Ok(meta) = RawJson::new(&meta) {
            params.insert("_meta", meta);
        }
    })
}

/// A question that its receiver is to run as a task.
pub(crate) fn as_task(ask: InputRequest) -> InputRequest {
    edited(ask, |params| params.insert("task", RawJson::empty_object()))
}

fn edited(mut ask: InputRequest, edit: impl FnOnce(&mut Map<RawJson>)) -> InputRequest {
    let mut params: Map<RawJson> = ask.params.as_ref().and_then(|p| p.parse().ok()).unwrap_or_default();
    edit(&mut params);
    ask.params = RawJson::new(&params).ok().or(ask.params);
    ask
}

/// The value that ties a message to a task.
pub(crate) fn related(id: &str) -> RawJson {
    serde_json::json!(RelatedTask::new(id)).into()
}
