//! The client's handle to a task of a server.

use std::{
    collections::BTreeSet,
    sync::{Arc, Mutex},
    time::Duration,
};

use couplet_client::{Client, ProgressSubscription, ToolResult};
use couplet_core::{Error, ErrorKind, JsonText, sync::lock};
use couplet_types::{
    CallToolResult, CancelDetailedTask, CancelTask, CancelTaskParams, GetDetailedTask, GetTask, GetTaskParams,
    GetTaskPayload, GetTaskPayloadParams, InputRequests, RawJson, RpcError, TaskStatus, UpdateTask, UpdateTaskParams,
    from_json,
};

use super::TaskUpdates;
use crate::clock::pause;

/// A handle to a task of a server. Clones refer to the same task.
///
/// Dropping all handles does not cancel the task. Store [`TaskHandle::id`] to resume it later with
/// [`CallTask::task`](crate::CallTask::task), from another process if necessary.
#[derive(Clone, Debug)]
pub struct TaskHandle {
    pub(super) client: Client,
    id: Arc<str>,
    /// Keys of the input requests that were answered, or are being answered.
    answered: Arc<Mutex<BTreeSet<String>>>,
    /// Holds the progress subscription while a clone of the handle exists.
    heard: Option<Arc<ProgressSubscription>>,
    /// Whether it had ended when it was created.
    ended_at_once: bool,
}

/// The state of a task.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct TaskState {
    /// The status.
    pub status: TaskStatus,
    /// A status message for users.
    pub message: Option<String>,
    /// The time of the last change, in ISO 8601.
    pub updated_at: String,
    /// The interval at which the server wants to be polled.
    pub poll_interval: Duration,
    pub(super) asks: Option<InputRequests>,
    result: Option<RawJson>,
    error: Option<RpcError>,
}

impl TaskHandle {
    pub(super) fn new(client: &Client, id: String) -> Self {
        Self { client: client.clone(), id: id.into(), answered: Arc::default(), heard: None, ended_at_once: false }
    }

    /// Notes the status that the task was created with.
    pub(super) fn created_as(mut self, status: TaskStatus) -> Self {
        self.ended_at_once = status.is_terminal();
        self
    }

    /// Holds a progress subscription for the lifetime of the handle and its clones.
    pub(super) fn heard(mut self, heard: Option<Arc<ProgressSubscription>>) -> Self {
        self.heard = heard;
        self
    }

    /// Returns the task's id.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Returns whether the task had already ended when the server created it, as for a call that a proxy has answered.
    pub fn ended_at_once(&self) -> bool {
        self.ended_at_once
    }

    /// Requests the current state.
    ///
    /// # Errors
    /// Fails if the server has no such task or cannot be reached.
    pub async fn state(&self) -> Result<TaskState, Error> {
        let params = GetTaskParams::new(self.id());
        if self.client.revision().has_core_tasks() {
            let task = self.client.request::<GetTask>(params).await?;
            return Ok(TaskState {
                status: task.status,
                message: task.status_message,
                updated_at: task.last_updated_at,
                poll_interval: pause(task.poll_interval),
                asks: None,
                result: None,
                error: None,
            });
        }
        let task = self.client.request::<GetDetailedTask>(params).await?;
        Ok(TaskState {
            status: task.status,
            message: task.status_message,
            updated_at: task.last_updated_at,
            poll_interval: pause(task.poll_interval_ms),
            asks: task.input_requests,
            result: task.result,
            error: task.error,
        })
    }

    /// Waits for the result. Polls at the interval that the server asks for, and answers the task's input requests with
    /// the client's own callbacks, each of them once.
    ///
    /// Dropping the future leaves the task running, and a later call resumes waiting. An input request whose callback
    /// was interrupted is not answered again.
    ///
    /// # Errors
    /// Fails if the task fails or is cancelled, a callback fails, or the server cannot be reached.
    pub async fn wait(&self) -> Result<ToolResult, Error> {
        let text = self.wait_text().await?;
        let result: CallToolResult = from_json(text.as_str())
            .map_err(|e| Error::new(ErrorKind::Protocol, "the result of the task cannot be parsed").with_source(e))?;
        Ok(result.into())
    }

    /// Requests cancellation. The task may complete before the request arrives.
    ///
    /// # Errors
    /// Fails if the server has no such task or cannot be reached; in 2025-11-25 also if the task has already ended.
    pub async fn cancel(&self) -> Result<(), Error> {
        let params = CancelTaskParams::new(self.id());
        if self.client.revision().has_core_tasks() {
            return self.client.request::<CancelTask>(params).await.map(drop);
        }
        self.client.request::<CancelDetailedTask>(params).await.map(drop)
    }

    /// Subscribes to state changes, from now until the task ends. Polls as well, so that lost notifications do no harm.
    pub async fn updates(&self) -> TaskUpdates {
        TaskUpdates::new(self.clone()).await
    }

    pub(super) async fn wait_text(&self) -> Result<JsonText, Error> {
        loop {
            let state = self.state().await?;
            if self.client.revision().has_core_tasks() && (state.status.is_terminal() || is_asking(&state)) {
                return self.payload().await;
            }
            match state.status {
                TaskStatus::Completed => {
                    let result = state.result.ok_or_else(|| broken("it is completed and has no result"))?;
                    return Ok(JsonText::from(&result));
                }
                TaskStatus::Failed => {
                    return Err(state.error.map_or_else(|| broken("it failed and has no error"), Error::from));
                }
                TaskStatus::Cancelled => return Err(Error::new(ErrorKind::Rpc, "the task was cancelled")),
                TaskStatus::InputRequired => self.answer(state.asks.unwrap_or_default()).await?,
                _ => {}
            }
            tokio::time::sleep(state.poll_interval).await;
        }
    }

    /// Waits for `tasks/result` (2025-11-25). Meanwhile, the task's input requests arrive as requests of the session.
    async fn payload(&self) -> Result<JsonText, Error> {
        let request = self.client.request::<GetTaskPayload>(GetTaskPayloadParams::new(self.id()));
        match request.timeout(None).max_timeout(None).outcome().await? {
            couplet_client::Outcome::Complete(text) => Ok(text),
            _ => Err(broken("its result is an input request")),
        }
    }

    /// Answers the input requests that were not answered before.
    async fn answer(&self, asks: InputRequests) -> Result<(), Error> {
        let new: Vec<_> = {
            let mut answered = lock(&self.answered);
            asks.into_iter().filter(|(key, _)| answered.insert(key.clone())).collect()
        };
        if new.is_empty() {
            return Ok(());
        }
        let answers = self.client.answer(new).await?;
        let answers = answers.into_iter().map(|(key, answer)| (key, answer.to_raw())).collect();
        self.client.request::<UpdateTask>(UpdateTaskParams::new(self.id(), answers)).await.map(drop)
    }
}

fn is_asking(state: &TaskState) -> bool {
    state.status == TaskStatus::InputRequired
}

fn broken(what: &str) -> Error {
    Error::new(ErrorKind::Protocol, format!("the server's task is invalid: {what}"))
}
