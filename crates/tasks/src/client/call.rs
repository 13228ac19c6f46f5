//! Tool calls that may become tasks.

use std::{fmt, future::IntoFuture, time::Duration};

use couplet_client::{Client, Outcome, ToolResult};
use couplet_core::{BoxFuture, Error, ErrorKind, JsonText};
use couplet_types::{
    CallTool, CallToolParams, CallToolResult, ProgressParams, RawJson, TaskMetadata, TaskSupport, from_json,
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
        TaskCall { client: self.clone(), name: name.into(), arguments, progress: None, ttl: None }
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

    async fn run(self) -> Result<Called, Error> {
        if self.client.revision().has_core_tasks() && runs_as_task(&self.client, &self.name).await? {
            return self.request().await;
        }
        let mut call = self.client.call(self.name, self.arguments?);
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
    async fn request(self) -> Result<Called, Error> {
        let (client, arguments) = (self.client, self.arguments?);
        let heard = self.progress.map(|callback| client.subscribe_progress(callback));
        let mut wanted = TaskMetadata::new();
        wanted.ttl = self.ttl.map(millis);
        let mut params = CallToolParams::new(self.name).task(wanted);
        params.arguments = arguments.is_object().then_some(arguments);
        params.meta = heard.as_ref().map(|heard| heard.meta());
        match client.request::<CallTool>(params).outcome().await? {
            Outcome::Complete(text) => match wire::begun(&text)? {
                Some(task) => Ok(Called::Task(TaskHandle::new(&client, task.task_id).heard(heard))),
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
