//! Tasks of 2025-11-25. Those of the extension of 2026-07-28 are in `task_extension.rs`.

use std::fmt;

use serde::{
    Deserialize, Deserializer, Serialize, Serializer,
    de::{self, DeserializeOwned, MapAccess, Visitor},
    ser::SerializeMap,
};

use crate::{Map, Meta, PaginatedParams, RawJson, ResultType};

/// A task: a request that continues after its first response.
///
/// It is the result of `tasks/get` and `tasks/cancel`, and the parameters of `notifications/tasks/status`; there it may
/// have `meta`, but not inside of another result.
#[doc(alias = "GetTaskResult")]
#[doc(alias = "CancelTaskResult")]
#[doc(alias = "TaskStatusNotificationParams")]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Task {
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
    pub ttl: Option<u64>,
    /// The suggested interval between polls, in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub poll_interval: Option<u64>,
    /// The kind of the result; absent in revisions before 2026-07-28.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result_type: Option<ResultType>,
    /// The open `_meta` map.
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

impl Task {
    /// Creates a task that is stored without a limit of time.
    pub fn new(task_id: impl Into<String>, status: TaskStatus, created_at: impl Into<String>) -> Self {
        let created_at = created_at.into();
        Self {
            task_id: task_id.into(),
            status,
            status_message: None,
            last_updated_at: created_at.clone(),
            created_at,
            ttl: None,
            poll_interval: None,
            result_type: None,
            meta: None,
        }
    }
}

setters! { Task {
    into { status_message: String, meta: Meta }
    value { ttl: u64, poll_interval: u64, result_type: ResultType }
} }

/// The status of a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum TaskStatus {
    /// The task is running.
    Working,
    /// The task waits for input.
    InputRequired,
    /// The task is complete, and has a result.
    Completed,
    /// The task failed.
    Failed,
    /// The task was cancelled.
    Cancelled,
}

impl TaskStatus {
    /// Returns whether the status is final.
    pub fn is_terminal(self) -> bool {
        matches!(self, Self::Completed | Self::Failed | Self::Cancelled)
    }
}

/// The request to run as a task (2025-11-25).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct TaskMetadata {
    /// The requested time in milliseconds for which the task is stored.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ttl: Option<u64>,
}

impl TaskMetadata {
    /// Creates metadata without a requested time.
    pub fn new() -> Self {
        Self::default()
    }
}

setters! { TaskMetadata { value { ttl: u64 } } }

/// The task that a message belongs to; the value of `_meta["io.modelcontextprotocol/related-task"]` (2025-11-25).
#[doc(alias = "RelatedTaskMetadata")]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct RelatedTask {
    /// The id of the task.
    pub task_id: String,
}

impl RelatedTask {
    /// The key of `_meta`.
    pub const KEY: &'static str = "io.modelcontextprotocol/related-task";

    /// Creates a reference to a task.
    pub fn new(task_id: impl Into<String>) -> Self {
        Self { task_id: task_id.into() }
    }
}

/// The first result of a request that became a task (2025-11-25).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct CreateTaskResult {
    /// The task.
    pub task: Task,
    /// The kind of the result; absent in revisions before 2026-07-28.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result_type: Option<ResultType>,
    /// The open `_meta` map.
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

impl CreateTaskResult {
    /// Creates the result from a task.
    pub fn new(task: Task) -> Self {
        Self { task, result_type: None, meta: None }
    }
}

setters! { CreateTaskResult { into { meta: Meta } value { result_type: ResultType } } }

/// Declares the parameters of a request about one task.
macro_rules! task_params {
    ($($(#[$meta:meta])* $name:ident),*) => {$(
        $(#[$meta])*
        #[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
        #[serde(rename_all = "camelCase")]
        #[non_exhaustive]
        pub struct $name {
            /// The id of the task.
            pub task_id: String,
            /// The open `_meta` map.
            #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
            pub meta: Option<Meta>,
        }

        impl $name {
            /// Creates the parameters for a task.
            pub fn new(task_id: impl Into<String>) -> Self {
                Self { task_id: task_id.into(), meta: None }
            }
        }

        setters! { $name { into { meta: Meta } } }
        has_meta!($name);
    )*};
}

task_params! {
    /// Parameters of `tasks/get`.
    GetTaskParams,
    /// Parameters of `tasks/result` (2025-11-25).
    GetTaskPayloadParams,
    /// Parameters of `tasks/cancel`.
    CancelTaskParams
}

/// Result of `tasks/get` (2025-11-25).
pub type GetTaskResult = Task;

/// Result of `tasks/cancel` (2025-11-25).
pub type CancelTaskResult = Task;

/// Parameters of `notifications/tasks/status` (2025-11-25).
pub type TaskStatusParams = Task;

/// Parameters of `tasks/list` (2025-11-25).
pub type ListTasksParams = PaginatedParams;

/// Result of `tasks/list` (2025-11-25).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ListTasksResult {
    /// The tasks on this page.
    pub tasks: Vec<Task>,
    /// The cursor of the next page; absent on the last one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
    /// The kind of the result; absent in revisions before 2026-07-28.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result_type: Option<ResultType>,
    /// The open `_meta` map.
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

impl ListTasksResult {
    /// Creates a page of tasks.
    pub fn new(tasks: Vec<Task>) -> Self {
        Self { tasks, ..Self::default() }
    }
}

setters! { ListTasksResult {
    into { next_cursor: String, meta: Meta }
    value { result_type: ResultType }
} }

/// Result of `tasks/result` (2025-11-25): the result of the request that became the task.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct GetTaskPayloadResult {
    /// The members of the result, apart from `_meta`.
    pub members: Map<RawJson>,
    /// The open `_meta` map.
    pub meta: Option<Meta>,
}

impl GetTaskPayloadResult {
    /// Creates the payload from the result of the request.
    ///
    /// # Errors
    /// If the result is not an object.
    pub fn new<T: Serialize>(result: &T) -> Result<Self, serde_json::Error> {
        RawJson::new(result)?.parse()
    }

    /// Parses the result of the request.
    ///
    /// # Errors
    /// If the result does not match the type.
    pub fn parse<T: DeserializeOwned>(&self) -> Result<T, serde_json::Error> {
        RawJson::new(self)?.parse()
    }
}

setters! { GetTaskPayloadResult { into { meta: Meta } } }

impl Serialize for GetTaskPayloadResult {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        for (key, value) in self.members.iter() {
            map.serialize_entry(key, value)?;
        }
        if let Some(meta) = &self.meta {
            map.serialize_entry("_meta", meta)?;
        }
        map.end()
    }
}

impl<'de> Deserialize<'de> for GetTaskPayloadResult {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Payload;
        impl<'de> Visitor<'de> for Payload {
            type Value = GetTaskPayloadResult;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("the result of a task: an object")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<GetTaskPayloadResult, A::Error> {
                let (mut members, mut meta) = (Vec::new(), None);
                while let Some(key) = access.next_key::<String>()? {
                    if key != "_meta" {
                        members.push((key, access.next_value()?));
                    } else if meta.replace(access.next_value()?).is_some() {
                        return Err(de::Error::duplicate_field("_meta"));
                    }
                }
                Ok(GetTaskPayloadResult { members: Map::from_members(members), meta })
            }
        }
        deserializer.deserialize_map(Payload)
    }
}

has_meta!(Task, CreateTaskResult, ListTasksResult, GetTaskPayloadResult);
