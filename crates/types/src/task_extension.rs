//! Tasks of 2026-07-28: the extension `io.modelcontextprotocol/tasks`.

use serde::{Deserialize, Serialize};

use crate::{InputRequests, InputResponses, Meta, RawJson, ResultType, RpcError, TaskStatus};

/// The identifier of the extension.
pub const TASKS_EXTENSION: &str = "io.modelcontextprotocol/tasks";

/// A task with the data of its status.
///
/// It is the result of a `tools/call` that becomes a task (`resultType` is then `task`) and of `tasks/get`, and the
/// parameters of `notifications/tasks`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct DetailedTask {
    /// The id of the task.
    pub task_id: String,
    /// The status.
    pub status: TaskStatus,
    /// A description of the status for users.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status_message: Option<String>,
    /// The time of its creation (ISO 8601).
    pub created_at: String,
    /// The time of the last change (ISO 8601).
    pub last_updated_at: String,
    /// The time in milliseconds after its creation for which it is stored; `None` is unlimited, and `null` on the wire.
    #[serde(deserialize_with = "Option::deserialize")]
    pub ttl_ms: Option<u64>,
    /// The suggested interval between polls, in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub poll_interval_ms: Option<u64>,
    /// The input requests, if the task waits for input.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input_requests: Option<InputRequests>,
    /// The result of the request, if the task is complete.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result: Option<RawJson>,
    /// The error, if the task failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<RpcError>,
    /// The kind of the result; absent in revisions before 2026-07-28.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result_type: Option<ResultType>,
    /// The open `_meta` map.
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

impl DetailedTask {
    /// Creates a task that is stored without a limit of time.
    pub fn new(task_id: impl Into<String>, status: TaskStatus, created_at: impl Into<String>) -> Self {
        let created_at = created_at.into();
        Self {
            task_id: task_id.into(),
            status,
            status_message: None,
            last_updated_at: created_at.clone(),
            created_at,
            ttl_ms: None,
            poll_interval_ms: None,
            input_requests: None,
            result: None,
            error: None,
            result_type: None,
            meta: None,
        }
    }
}

setters! { DetailedTask {
    into { status_message: String, result: RawJson, meta: Meta }
    value {
        ttl_ms: u64,
        poll_interval_ms: u64,
        input_requests: InputRequests,
        error: RpcError,
        result_type: ResultType,
    }
} }

/// Parameters of `tasks/update`: input for a task that waits for it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct UpdateTaskParams {
    /// The id of the task.
    pub task_id: String,
    /// The responses, by the keys of the task's `input_requests`.
    pub input_responses: InputResponses,
    /// The open `_meta` map.
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

impl UpdateTaskParams {
    /// Creates the parameters for a task.
    pub fn new(task_id: impl Into<String>, input_responses: InputResponses) -> Self {
        Self { task_id: task_id.into(), input_responses, meta: None }
    }
}

setters! { UpdateTaskParams { into { meta: Meta } } }

has_meta!(DetailedTask, UpdateTaskParams);
