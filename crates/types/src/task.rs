//! Tasks of 2025-11-25. What the extension of 2026-07-28 made of them is in `task_extension.rs`.

use std::fmt;

use serde::{
    Deserialize, Deserializer, Serialize, Serializer,
    de::{self, DeserializeOwned, MapAccess, Visitor},
    ser::SerializeMap,
};

use crate::{Map, Meta, PaginatedParams, RawJson, ResultType};

/// A task: a request that goes on after its first answer.
///
/// `tasks/get` and `tasks/cancel` answer with it and `notifications/tasks/status` carries it; there it may have
/// `meta`, which a task inside of another result has not.
#[doc(alias = "GetTaskResult")]
#[doc(alias = "CancelTaskResult")]
#[doc(alias = "TaskStatusNotificationParams")]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Task {
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
    pub ttl: Option<u64>,
    /// How many milliseconds to wait between two looks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub poll_interval: Option<u64>,
    /// What kind of answer this is; absent in revisions before 2026-07-28.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result_type: Option<ResultType>,
    /// The open `_meta` map.
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

impl Task {
    /// A task that began just now, kept for ever.
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

/// How a task is going.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TaskStatus {
    /// At work.
    Working,
    /// Waiting for input.
    InputRequired,
    /// Done, and there is a result.
    Completed,
    /// Gone wrong.
    Failed,
    /// Stopped, since nobody wants it any longer.
    Cancelled,
}

impl TaskStatus {
    /// Whether it will never change again.
    pub fn is_terminal(self) -> bool {
        matches!(self, Self::Completed | Self::Failed | Self::Cancelled)
    }
}

/// Asks to run a request as a task (2025-11-25).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct TaskMetadata {
    /// For how many milliseconds to keep the task.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ttl: Option<u64>,
}

impl TaskMetadata {
    /// A task kept for as long as the receiver likes.
    pub fn new() -> Self {
        Self::default()
    }
}

setters! { TaskMetadata { value { ttl: u64 } } }

/// Ties a message to a task; the value of `_meta["io.modelcontextprotocol/related-task"]` (2025-11-25).
#[doc(alias = "RelatedTaskMetadata")]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct RelatedTask {
    /// Names the task.
    pub task_id: String,
}

impl RelatedTask {
    /// The key of `_meta` that it stands under.
    pub const KEY: &'static str = "io.modelcontextprotocol/related-task";

    /// Belongs to this task.
    pub fn new(task_id: impl Into<String>) -> Self {
        Self { task_id: task_id.into() }
    }
}

/// The first answer to a request that became a task (2025-11-25).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct CreateTaskResult {
    /// The task.
    pub task: Task,
    /// What kind of answer this is; absent in revisions before 2026-07-28.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result_type: Option<ResultType>,
    /// The open `_meta` map.
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

impl CreateTaskResult {
    /// The request became this task.
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
            /// Names the task.
            pub task_id: String,
            /// The open `_meta` map.
            #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
            pub meta: Option<Meta>,
        }

        impl $name {
            /// About this task.
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

/// The answer to `tasks/get` (2025-11-25).
pub type GetTaskResult = Task;

/// The answer to `tasks/cancel` (2025-11-25).
pub type CancelTaskResult = Task;

/// Parameters of `notifications/tasks/status` (2025-11-25).
pub type TaskStatusParams = Task;

/// Parameters of `tasks/list` (2025-11-25).
pub type ListTasksParams = PaginatedParams;

/// The answer to `tasks/list` (2025-11-25).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ListTasksResult {
    /// The tasks on this page.
    pub tasks: Vec<Task>,
    /// Where the next page begins; absent on the last one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
    /// What kind of answer this is; absent in revisions before 2026-07-28.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result_type: Option<ResultType>,
    /// The open `_meta` map.
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

impl ListTasksResult {
    /// A page of tasks.
    pub fn new(tasks: Vec<Task>) -> Self {
        Self { tasks, ..Self::default() }
    }
}

setters! { ListTasksResult {
    into { next_cursor: String, meta: Meta }
    value { result_type: ResultType }
} }

/// The answer to `tasks/result` (2025-11-25): whatever the request that became the task would have answered.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct GetTaskPayloadResult {
    /// The members of the result, apart from `_meta`.
    pub members: Map<RawJson>,
    /// The open `_meta` map.
    pub meta: Option<Meta>,
}

impl GetTaskPayloadResult {
    /// Takes over the result of the request.
    ///
    /// # Errors
    /// When the result is not an object.
    pub fn new<T: Serialize>(result: &T) -> Result<Self, serde_json::Error> {
        RawJson::new(result)?.parse()
    }

    /// The result of the request, as its type.
    ///
    /// # Errors
    /// When the result does not have the type's shape.
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
