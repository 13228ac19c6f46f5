//! A task of a server, as the client sees it.

use std::{
    collections::BTreeSet,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use couplet_client::{Client, ProgressSubscription, ToolResult};
use couplet_core::{Error, ErrorKind, JsonText};
use couplet_types::{
    CallToolResult, CancelDetailedTask, CancelTask, CancelTaskParams, GetDetailedTask, GetTask, GetTaskParams,
    GetTaskPayload, GetTaskPayloadParams, InputRequests, RawJson, RpcError, TaskStatus, UpdateTask, UpdateTaskParams,
    from_json,
};

use super::TaskUpdates;
use crate::clock::pause;

/// A task of a server. Clones are the same task; dropping them all leaves the task alone. Keep [`TaskHandle::id`] to
/// come back to it with [`CallTask::task`](crate::CallTask::task), in another process if need be.
#[derive(Clone, Debug)]
pub struct TaskHandle {
    pub(super) client: Client,
    id: Arc<str>,
    /// The questions that were answered, or are about to be.
    answered: Arc<Mutex<BTreeSet<String>>>,
    /// Keeps whoever hears of its progress.
    heard: Option<Arc<ProgressSubscription>>,
}

/// How a task is going.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct TaskState {
    /// How it is going.
    pub status: TaskStatus,
    /// The same for people.
    pub message: Option<String>,
    /// When it last changed, as an ISO 8601 time.
    pub updated_at: String,
    /// How long to wait before the next look.
    pub poll_interval: Duration,
    pub(super) asks: Option<InputRequests>,
    result: Option<RawJson>,
    error: Option<RpcError>,
}

impl TaskHandle {
    pub(super) fn new(client: &Client, id: String) -> Self {
        Self { client: client.clone(), id: id.into(), answered: Arc::default(), heard: None }
    }

    /// The task's progress is heard for as long as anybody has the task.
    pub(super) fn heard(mut self, heard: Option<Arc<ProgressSubscription>>) -> Self {
        self.heard = heard;
        self
    }

    /// Names the task.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// How it is going now.
    ///
    /// # Errors
    /// When there is no such task, or the server cannot be reached.
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

    /// Waits for the end, looks as often as the server likes, and answers what the task asks with the client's own
    /// callbacks, each question once.
    ///
    /// # Errors
    /// When the task fails or was cancelled, the client cannot answer, or the server cannot be reached.
    pub async fn wait(&self) -> Result<ToolResult, Error> {
        let text = self.wait_text().await?;
        let result: CallToolResult = from_json(text.as_str())
            .map_err(|e| Error::new(ErrorKind::Protocol, "the result of the task cannot be read").with_source(e))?;
        Ok(result.into())
    }

    /// Asks the server to stop it. It may be over before that.
    ///
    /// # Errors
    /// When there is no such task, or the server cannot be reached.
    pub async fn cancel(&self) -> Result<(), Error> {
        let params = CancelTaskParams::new(self.id());
        if self.client.revision().has_core_tasks() {
            return self.client.request::<CancelTask>(params).await.map(drop);
        }
        self.client.request::<CancelDetailedTask>(params).await.map(drop)
    }

    /// How it is going, from now to its end: told by the server where it tells, and looked for in any case.
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
                TaskStatus::Working => {}
            }
            tokio::time::sleep(state.poll_interval).await;
        }
    }

    /// Waits at the server. What the task asks comes as requests of the session, meanwhile.
    async fn payload(&self) -> Result<JsonText, Error> {
        let request = self.client.request::<GetTaskPayload>(GetTaskPayloadParams::new(self.id()));
        match request.timeout(None).max_timeout(None).outcome().await? {
            couplet_client::Outcome::Complete(text) => Ok(text),
            _ => Err(broken("its result is a question")),
        }
    }

    /// Answers what was not answered yet.
    async fn answer(&self, asks: InputRequests) -> Result<(), Error> {
        let new: Vec<_> = {
            let mut answered = self.answered.lock().unwrap_or_else(PoisonError::into_inner);
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
    Error::new(ErrorKind::Protocol, format!("the server's task makes no sense: {what}"))
}
