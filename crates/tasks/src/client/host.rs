//! Elicitation and sampling requests of 2025-11-25 servers, run as tasks of the client.

use std::sync::Arc;

use couplet_client::{Notifier, ServerRequest, ServerRequestNext};
use couplet_core::JsonText;
use couplet_types::{
    ClientCapabilities, CreateMessage, CreateTaskResult, Elicit, RawJson, Request, RpcError, TaskElicitationCapability,
    TaskMetadata, TaskRequestsCapability, TaskSamplingCapability, TaskStatus, TaskStatusChanged, TasksCapability,
};
use serde::Serialize;

use crate::{
    engine::{Changed, Engine, NewTask, OnChange},
    record::Finished,
    requests::{self, task_id},
    wire,
};

/// The one owner of a client's tasks: its server.
const ALL: Option<&str> = None;

/// Declares task support for the requests that the client can answer.
pub(super) fn declare(can: &mut ClientCapabilities) {
    let empty = RawJson::empty_object;
    let mut requests = TaskRequestsCapability::new();
    requests.sampling = can.sampling.is_some().then(|| TaskSamplingCapability::new().create_message(empty()));
    requests.elicitation = can.elicitation.is_some().then(|| TaskElicitationCapability::new().create(empty()));
    can.tasks = Some(TasksCapability::new().list(empty()).cancel(empty()).requests(requests));
}

/// Answers a request of the server.
pub(super) async fn answer(
    engine: Arc<Engine>,
    asked: ServerRequest,
    next: ServerRequestNext,
) -> Result<JsonText, RpcError> {
    if !asked.revision.has_core_tasks() {
        return next.run(asked).await;
    }
    let params = &asked.params;
    match &*asked.method {
        Elicit::METHOD | CreateMessage::METHOD => match params.read_opt::<TaskMetadata>("task")? {
            Some(wanted) => begin(engine, wanted, asked, next).await,
            None => next.run(asked).await,
        },
        "tasks/get" => to_json(&requests::get(&engine, &ALL, params).await?),
        "tasks/result" => to_json(&wire::payload(&engine.finished(&ALL, &task_id(params)?).await?)?),
        "tasks/list" => to_json(&requests::list(&engine, &ALL, params).await?),
        "tasks/cancel" => to_json(&requests::cancel(&engine, &ALL, params).await?),
        _ => next.run(asked).await,
    }
}

async fn begin(
    engine: Arc<Engine>,
    wanted: TaskMetadata,
    asked: ServerRequest,
    next: ServerRequestNext,
) -> Result<JsonText, RpcError> {
    let live = engine.prepare(false, notify_server(asked.notifier.clone()))?;
    let work = Box::pin(async move {
        match next.run(asked).await {
            Ok(result) => Finished::Result(result.to_raw(), TaskStatus::Completed),
            Err(error) => Finished::Error(error),
        }
    });
    let task = NewTask { ttl: wanted.ttl, ..NewTask::default() };
    let record = engine.start(live, task, work).await?;
    to_json(&CreateTaskResult::new(wire::bare(&record)))
}

/// Notifies the requesting server of status changes, so that it need not wait for its next poll.
fn notify_server(server: Notifier) -> OnChange {
    Box::new(move |record, changed| {
        if changed == Changed::Status {
            server.notify::<TaskStatusChanged>(&wire::bare(record));
        }
    })
}

fn to_json(value: &impl Serialize) -> Result<JsonText, RpcError> {
    let text = serde_json::to_vec(value).map_err(|e| RpcError::internal(e.to_string()))?;
    JsonText::new(text).map_err(|e| RpcError::internal(e.to_string()))
}
