//! Tasks in the two wire formats.

use couplet_core::{JsonText, message::Params};
use couplet_types::{GetTaskPayloadResult, Meta, RawJson, RelatedTask, RpcError, Task};

use crate::{
    clock,
    record::{Finished, Record},
};

/// The bare task, where tasks are part of the protocol.
pub(crate) fn bare(record: &Record) -> Task {
    let mut task = Task::new(record.id.as_str(), record.status, clock::iso(record.created));
    task.last_updated_at = clock::iso(record.updated);
    task.status_message.clone_from(&record.message);
    task.ttl(record.ttl).poll_interval(record.poll_interval)
}

/// The response of `tasks/result`, with the related task in its `_meta`.
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

/// Parses the task from the response to a task-augmented request; `None` if it is a plain result.
pub(crate) fn begun(answer: &JsonText) -> Result<Option<Task>, RpcError> {
    let members = Params::from_text(answer.clone()).map_err(|e| RpcError::internal(e.to_string()))?;
    members.read_opt("task")
}

/// The value of the related-task member of `_meta`.
pub(crate) fn related(id: &str) -> RawJson {
    serde_json::json!(RelatedTask::new(id)).into()
}
