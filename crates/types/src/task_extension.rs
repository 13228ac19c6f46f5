//! Tasks of 2026-07-28: the extension `io.modelcontextprotocol/tasks`.

use serde::{Deserialize, Serialize};

use crate::{InputRequests, InputResponses, Meta, RawJson, ResultType, RpcError, TaskStatus};

/// The identifier of the extension.
pub const TASKS_EXTENSION: &str = "io.modelcontextprotocol/tasks";

/// A task with what belongs to its status.
///
/// A `tools/call` that becomes a task answers with it (`resultType` is then `task`), `tasks/get` answers with it and
/// `notifications/tasks` carries it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct DetailedTask {
    /// Names the task.
    pub task_id: String,
    /// How it is going.
    pub status: TaskStatus,
    /// The same for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status_message: Option<String>,
    /// When it began, as an ISO 8601 time.
    pub created_at: String,
    /// When it last changed, as an ISO 8601 time.
    pub last_updated_at: String,
    /// For how many milliseconds after its beginning it is kept; `None` is for ever and `null` on the wire.
    #[serde(deserialize_with = "Option::deserialize")]
    pub ttl_ms: Option<u64>,
    /// How many milliseconds to wait between two looks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub poll_interval_ms: Option<u64>,
    /// What it waits for, when it waits for input.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input_requests: Option<InputRequests>,
    /// What the request answers, when it is done.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result: Option<RawJson>,
    /// What went wrong, when it failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<RpcError>,
    /// What kind of answer this is; absent in revisions before 2026-07-28.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result_type: Option<ResultType>,
    /// The open `_meta` map.
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

impl DetailedTask {
    /// A task that began just now, kept for ever.
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
    /// Names the task.
    pub task_id: String,
    /// The answers, by the names of the task's `input_requests`.
    pub input_responses: InputResponses,
    /// The open `_meta` map.
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

impl UpdateTaskParams {
    /// Input for a task.
    pub fn new(task_id: impl Into<String>, input_responses: InputResponses) -> Self {
        Self { task_id: task_id.into(), input_responses, meta: None }
    }
}

setters! { UpdateTaskParams { into { meta: Meta } } }

has_meta!(DetailedTask, UpdateTaskParams);
