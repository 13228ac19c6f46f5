//! Tool calls that may become tasks.

use std::{fmt, future::IntoFuture, time::Duration};

use couplet_client::{Client, Outcome, ToolResult};
use couplet_core::{BoxFuture, Error, ErrorKind, JsonText, idempotency};
use couplet_types::{
    CallTool, CallToolParams, CallToolResult, Meta, ProgressParams, RawJson, TaskMetadata, TaskSupport, from_json,
};
use serde::Serialize;

use super::TaskHandle;
use crate::{clock::millis, sealed::Sealed, wire};

/// The outcome of a [`TaskCall`]: a result or a running task.
#[non_exhaustive]
#[derive(Debug)]
pub enum Called {
    /// The call completed without a task.
    Done(ToolResult),
    /// The call became a task, which is still running.
    Task(TaskHandle),
}

impl Called {
    /// Waits for the result, and for the task if the call became one.
    ///
    /// # Errors
    /// Fails if the task fails or is cancelled, or the server cannot be reached.
    pub async fn wait(self) -> Result<ToolResult, Error> {
        match self {
            Self::Done(result) => Ok(result),
            Self::Task(task) => task.wait().await,
        }
    }
}

/// Extension methods for tasks on a [`Client`].
///
/// Register [`ClientTasks`](crate::ClientTasks) on the client first. This trait is sealed: it is implemented for
/// [`Client`] alone.
///
/// ```
/// # async fn example(client: couplet_client::Client) -> Result<(), couplet_core::Error> {
/// use couplet_tasks::{CallTask, Called};
///
/// let call = client.call_task("build", ()).on_progress(|progress| tracing::info!("{progress:?}"));
/// if let Called::Task(task) = call.await? {
///     tracing::info!(id = task.id(), "started");
///     tracing::info!("{}", task.wait().await?.into_result()?.text());
/// }
/// # Ok(())
/// # }
/// ```
pub trait CallTask: Sealed {
    /// Calls a tool as a task if the server, the tool and the revision support tasks, and as a plain call otherwise. In
    /// 2026-07-28 the server decides.
    fn call_task(&self, name: impl Into<String>, arguments: impl Serialize) -> TaskCall;

    /// Returns a handle to a task by its id, such as one that an earlier process started. No request is sent.
    fn task(&self, id: impl Into<String>) -> TaskHandle;
}

impl Sealed for Client {}

impl CallTask for Client {
    fn call_task(&self, name: impl Into<String>, arguments: impl Serialize) -> TaskCall {
        let arguments = RawJson::new(&arguments)
            .map_err(|e| Error::new(ErrorKind::Config, "the arguments must serialize to a JSON object").with_source(e));
        TaskCall { client: self.clone(), name: name.into(), arguments, progress: None, ttl: None, key: None }
    }

    fn task(&self, id: impl Into<String>) -> TaskHandle {
        TaskHandle::new(self, id.into())
    }
}

/// A tool call that may become a task. Await it to send the request.
#[must_use = "a call is made when it is awaited"]
pub struct TaskCall {
    client: Client,
    name: String,
    arguments: Result<RawJson, Error>,
    progress: Option<Box<dyn FnMut(ProgressParams) + Send>>,
    ttl: Option<Duration>,
    key: Option<Result<String, Error>>,
}

impl TaskCall {
    /// Requests progress notifications and sets their callback. It is called until the call is answered and, in
    /// 2025-11-25, while a clone of the [`TaskHandle`] exists. In 2026-07-28 a running task reports its status through
    /// [`TaskHandle::updates`] instead.
    pub fn on_progress(mut self, callback: impl FnMut(ProgressParams) + Send + 'static) -> Self {
        self.progress = Some(Box::new(callback));
        self
    }

    /// Requests how long the server stores the task, counted from its creation (2025-11-25 only; ignored elsewhere).
    pub fn ttl(mut self, ttl: Duration) -> Self {
        self.ttl = Some(ttl);
        self
    }

    /// Sets an idempotency key: a string of 1 to 128 visible ASCII characters. A repeated call with the same key, tool and
    /// arguments returns the task of the first call, on every replica of a server of this library, as long as that task is
    /// stored. With other arguments it is an error. Servers that do not know such keys ignore them.
    ///
    /// Use it when the response to a call was lost: the task may be running, and its id is unknown. Without authentication,
    /// any client that knows the key, the tool and the arguments gets the task, so use a key that cannot be guessed.
    ///
    /// ```
    /// # async fn example(client: couplet_client::Client) -> Result<(), couplet_core::Error> {
    /// use couplet_tasks::CallTask;
    ///
    /// let call = || client.call_task("deploy", ()).idempotency_key("deploy-9f0c8a7e");
    /// let called = match call().await {
    ///     Err(_) => call().await?,
    ///     Ok(called) => called,
    /// };
    /// # drop(called);
    /// # Ok(())
    /// # }
    /// ```
    pub fn idempotency_key(mut self, key: impl Into<String>) -> Self {
        let key = key.into();
        let is_valid = (1..=128).contains(&key.len()) && key.bytes().all(|byte| byte.is_ascii_graphic());
        let invalid = || Error::new(ErrorKind::Config, "an idempotency key has 1 to 128 visible ASCII characters");
        self.key = Some(if is_valid { Ok(key) } else { Err(invalid()) });
        self
    }

    async fn run(mut self) -> Result<Called, Error> {
        let key = self.key.take().transpose()?;
        let meta = key.map(|key| Meta::new().with(idempotency::META_KEY, serde_json::json!(key)));
        if self.client.revision().has_core_tasks() && runs_as_task(&self.client, &self.name).await? {
            return self.request(meta).await;
        }
        let mut call = self.client.call(self.name, self.arguments?);
        if let Some(meta) = meta {
            call = call.meta(meta);
        }
        if let Some(callback) = self.progress {
            call = call.on_progress(callback);
        }
        match call.raw_outcome().await? {
            Outcome::Extension { result, .. } => TaskHandle::created(&self.client, &result).map(Called::Task),
            Outcome::Complete(result) => done(&result),
            Outcome::InputRequired { .. } => Err(unreadable()),
        }
    }

    /// Sends a task-augmented request.
    async fn request(self, mut meta: Option<Meta>) -> Result<Called, Error> {
        let (client, arguments) = (self.client, self.arguments?);
        let heard = self.progress.map(|callback| client.subscribe_progress(callback));
        let mut wanted = TaskMetadata::new();
        wanted.ttl = self.ttl.map(millis);
        let mut params = CallToolParams::new(self.name).task(wanted);
        params.arguments = arguments.is_object().then_some(arguments);
        if let Some(heard) = &heard {
            let meta = meta.get_or_insert_default();
            heard.meta().iter().for_each(|(key, value)| meta.insert(key, value.clone()));
        }
        params.meta = meta;
        match client.request::<CallTool>(params).outcome().await? {
            Outcome::Complete(text) => match wire::begun(&text)? {
                Some(task) => {
                    let handle = TaskHandle::new(&client, task.task_id).created_as(task.status);
                    Ok(Called::Task(handle.heard(heard)))
                }
                None => done(&text),
            },
            _ => Err(unreadable()),
        }
    }
}

impl IntoFuture for TaskCall {
    type Output = Result<Called, Error>;
    type IntoFuture = BoxFuture<'static, Result<Called, Error>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.run())
    }
}

impl fmt::Debug for TaskCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TaskCall").field("name", &self.name).finish_non_exhaustive()
    }
}

/// Whether the server and the tool support tasks, in revisions where tasks are part of the protocol.
async fn runs_as_task(client: &Client, name: &str) -> Result<bool, Error> {
    let tasks = client.server().capabilities.tasks.as_ref();
    if tasks.and_then(|t| t.requests.as_ref()?.tools.as_ref()?.call.as_ref()).is_none() {
        return Ok(false);
    }
    let tool = client.tools().await?.into_iter().find(|tool| tool.name == name);
    let support = tool.and_then(|tool| tool.execution?.task_support);
    Ok(matches!(support, Some(TaskSupport::Optional | TaskSupport::Required)))
}

fn done(text: &JsonText) -> Result<Called, Error> {
    let result: CallToolResult = from_json(text.as_str()).map_err(|e| unreadable().with_source(e))?;
    Ok(Called::Done(result.into()))
}

fn unreadable() -> Error {
    Error::new(ErrorKind::Protocol, "the answer to `tools/call` is neither a result nor a task")
}
