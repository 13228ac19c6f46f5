//! Calls that may become tasks.

use couplet_client::{Client, Outcome, ToolResult};
use couplet_core::{BoxFuture, Error, ErrorKind, JsonText, message::Params};
use couplet_types::{
    CallTool, CallToolParams, CallToolResult, CreateTaskResult, RawJson, TaskMetadata, TaskSupport, from_json,
};
use serde::Serialize;

use super::TaskHandle;

/// What a call came to.
#[derive(Debug)]
pub enum Called {
    /// The result.
    Done(ToolResult),
    /// A task, which goes on.
    Task(TaskHandle),
}

impl Called {
    /// The result, when there is one.
    ///
    /// # Errors
    /// When the task fails, or cannot be reached.
    pub async fn wait(self) -> Result<ToolResult, Error> {
        match self {
            Self::Done(result) => Ok(result),
            Self::Task(task) => task.wait().await,
        }
    }
}

/// What a client can do with tasks; the client needs [`ClientTasks`](crate::ClientTasks).
pub trait CallTask {
    /// Calls a tool as a task where that is possible: both sides know tasks, and so does the tool.
    fn call_task(
        &self,
        name: impl Into<String>,
        arguments: impl Serialize,
    ) -> BoxFuture<'static, Result<Called, Error>>;

    /// A task that is known by its id, such as one of an earlier process.
    fn task(&self, id: impl Into<String>) -> TaskHandle;
}

impl CallTask for Client {
    fn call_task(
        &self,
        name: impl Into<String>,
        arguments: impl Serialize,
    ) -> BoxFuture<'static, Result<Called, Error>> {
        let (client, name) = (self.clone(), name.into());
        let arguments = RawJson::new(&arguments)
            .map_err(|e| Error::new(ErrorKind::Config, "the arguments must print as a JSON object").with_source(e));
        Box::pin(async move {
            let arguments = arguments?;
            if client.shape().has_core_tasks() {
                return request(client, name, arguments).await;
            }
            match client.call(name, arguments).unfinished().await? {
                Outcome::Extension { result, .. } => TaskHandle::created(&client, &result).map(Called::Task),
                Outcome::Complete(result) => done(&result),
                Outcome::InputRequired { .. } => Err(unreadable()),
            }
        })
    }

    fn task(&self, id: impl Into<String>) -> TaskHandle {
        TaskHandle::new(self, id.into())
    }
}

/// Where tasks are a part of the protocol, the client asks for one if the tool has them.
async fn request(client: Client, name: String, arguments: RawJson) -> Result<Called, Error> {
    let tasks = client.server().capabilities.tasks.as_ref();
    let calls = tasks.and_then(|t| t.requests.as_ref()?.tools.as_ref()?.call.as_ref()).is_some();
    let mut support = None;
    if calls {
        let tool = client.tools().await?.into_iter().find(|tool| tool.name == name);
        support = tool.and_then(|tool| tool.execution?.task_support);
    }
    if !matches!(support, Some(TaskSupport::Optional | TaskSupport::Required)) {
        return client.call(name, arguments).await.map(Called::Done);
    }
    let mut params = CallToolParams::new(name).task(TaskMetadata::new());
    params.arguments = arguments.is_object().then_some(arguments);
    match client.request::<CallTool>(params).once().await? {
        Outcome::Complete(text) if has_task(&text) => {
            let created: CreateTaskResult = from_json(text.as_str()).map_err(|e| unreadable().with_source(e))?;
            Ok(Called::Task(TaskHandle::new(&client, created.task.task_id)))
        }
        Outcome::Complete(text) => done(&text),
        _ => Err(unreadable()),
    }
}

fn has_task(text: &JsonText) -> bool {
    Params::from_text(text.clone()).is_ok_and(|members| members.get("task").is_some())
}

fn done(text: &JsonText) -> Result<Called, Error> {
    let result: CallToolResult = from_json(text.as_str()).map_err(|e| unreadable().with_source(e))?;
    Ok(Called::Done(result.into()))
}

fn unreadable() -> Error {
    Error::new(ErrorKind::Protocol, "the answer to `tools/call` is neither a result nor a task")
}
