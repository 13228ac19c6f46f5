//! What servers of 2025-11-25 ask, run as tasks of the client.

use std::sync::Arc;

use couplet_client::{Asked, AskedNext};
use couplet_core::JsonText;
use couplet_types::{
    ClientCapabilities, CreateMessage, CreateTaskResult, Elicit, ListTasksResult, RawJson, Request, RpcError,
    TaskElicitationCapability, TaskMetadata, TaskRequestsCapability, TaskSamplingCapability, TaskStatus,
    TasksCapability,
};
use serde::Serialize;

use crate::{engine::Engine, record::Finished, wire};

/// How many tasks are listed at most: a server has only a handful of questions open.
const PAGE: usize = 1000;

/// Declares tasks for what the client answers at all.
pub(super) fn declare(can: &mut ClientCapabilities) {
    let empty = RawJson::empty_object;
    let mut requests = TaskRequestsCapability::new();
    requests.sampling = can.sampling.is_some().then(|| TaskSamplingCapability::new().create_message(empty()));
    requests.elicitation = can.elicitation.is_some().then(|| TaskElicitationCapability::new().create(empty()));
    can.tasks = Some(TasksCapability::new().list(empty()).cancel(empty()).requests(requests));
}

/// Answers a request of the server.
pub(super) async fn answer(engine: Arc<Engine>, asked: Asked, next: AskedNext) -> Result<JsonText, RpcError> {
    if !asked.shape.has_core_tasks() {
        return next.run(asked).await;
    }
    let id = || asked.params.read::<String>("taskId");
    match &*asked.method {
        Elicit::METHOD | CreateMessage::METHOD => match asked.params.read_opt::<TaskMetadata>("task")? {
            Some(wanted) => begin(engine, wanted, asked, next).await,
            None => next.run(asked).await,
        },
        "tasks/get" => print(&wire::bare(&engine.get(None, &id()?).await?)),
        "tasks/result" => print(&wire::payload(&engine.finished(None, &id()?).await?)?),
        "tasks/list" => {
            let after: Option<String> = asked.params.read_opt("cursor")?;
            let unknown = || RpcError::invalid_params("the cursor is not one of this list");
            let page = engine.list(None, after.as_deref(), PAGE).await?.ok_or_else(unknown)?;
            print(&ListTasksResult::new(page.iter().map(wire::bare).collect()))
        }
        "tasks/cancel" => {
            let id = id()?;
            let over = || RpcError::invalid_params(format!("task `{id}` is over and cannot be cancelled"));
            print(&wire::bare(&engine.cancel(None, &id).await?.ok_or_else(over)?))
        }
        _ => next.run(asked).await,
    }
}

async fn begin(engine: Arc<Engine>, wanted: TaskMetadata, asked: Asked, next: AskedNext) -> Result<JsonText, RpcError> {
    let live = engine.prepare(Box::new(|_, _| ()))?;
    let work = Box::pin(async move {
        match next.run(asked).await {
            Ok(result) => Finished::Result(result.to_raw(), TaskStatus::Completed),
            Err(error) => Finished::Error(error),
        }
    });
    let record = engine.start(live, None, wanted.ttl, work).await?;
    print(&CreateTaskResult::new(wire::bare(&record)))
}

fn print(value: &impl Serialize) -> Result<JsonText, RpcError> {
    let text = serde_json::to_vec(value).map_err(|e| RpcError::internal(e.to_string()))?;
    JsonText::new(text).map_err(|e| RpcError::internal(e.to_string()))
}
