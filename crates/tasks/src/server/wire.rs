//! Tasks in the wire formats, as far as only servers need them.

use couplet_types::{DetailedTask, InputRequest, Map, RawJson, RelatedTask, TaskStatus};

pub(super) use crate::wire::{bare, begun, payload, related};
use crate::{
    clock,
    record::{Finished, Record},
};

/// The first response of a call that became a task, where tasks are an extension.
pub(super) fn created(record: &Record) -> DetailedTask {
    let mut task = DetailedTask::new(record.id.as_str(), record.status, clock::iso(record.created));
    task.last_updated_at = clock::iso(record.updated);
    task.status_message.clone_from(&record.message);
    task.ttl_ms(record.ttl).poll_interval_ms(record.poll_interval)
}

/// The task with the members of its status, where tasks are an extension.
pub(super) fn detailed(record: &Record) -> DetailedTask {
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

/// Whether a tool result has `isError` set.
pub(super) fn says_error(result: &RawJson) -> bool {
    let members = result.parse::<Map<RawJson>>().unwrap_or_default();
    members.get("isError").is_some_and(|flag| flag.get() == "true")
}

/// Adds the related task to the `_meta` of an input request.
pub(super) fn tagged(id: &str, ask: InputRequest) -> InputRequest {
    edited(ask, |params| {
        let mut meta: Map<RawJson> = params.get("_meta").and_then(|m| m.parse().ok()).unwrap_or_default();
        meta.insert(RelatedTask::KEY, related(id));
        if let Ok(meta) = RawJson::new(&meta) {
            params.insert("_meta", meta);
        }
    })
}

/// Makes an input request task-augmented.
pub(super) fn as_task(ask: InputRequest) -> InputRequest {
    edited(ask, |params| params.insert("task", RawJson::empty_object()))
}

fn edited(mut ask: InputRequest, edit: impl FnOnce(&mut Map<RawJson>)) -> InputRequest {
    let mut params: Map<RawJson> = ask.params.as_ref().and_then(|p| p.parse().ok()).unwrap_or_default();
    edit(&mut params);
    ask.params = RawJson::new(&params).ok().or(ask.params);
    ask
}
