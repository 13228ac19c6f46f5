//! What servers of 2025-11-25 ask, run as tasks of the client.

use std::sync::Arc;

use couplet_client::{Notifier, ServerRequest, ServerRequestNext};
use couplet_core::JsonText;
use couplet_types::{
    ClientCapabilities, CreateMessage, CreateTaskResult, Elicit, RawJson, Request, RpcError, TaskElicitationCapability,
    TaskMetadata, TaskRequestsCapability, TaskSamplingCapability, TaskStatus, TaskStatusChanged, TasksCapability,
};
use serde::Serialize;

use crate::{
    engine::Engine,
    live::Tell,
    record::Finished,
    requests::{self, task_id},
    wire,
};

/// Declares tasks for what the client answers at all.
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
        "tasks/get" => print(&requests::get(&engine, None, params).await?),
        "tasks/result" => print(&wire::payload(&engine.finished(None, &task_id(params)?).await?)?),
        "tasks/list" => print(&requests::list(&engine, None, params).await?),
        "tasks/cancel" => print(&requests::cancel(&engine, None, params).await?),
        _ => next.run(asked).await,
    }
}

async fn begin(
    engine: Arc<Engine>,
    wanted: TaskMetadata,
    asked: ServerRequest,
    next: ServerRequestNext,
) -> Result<JsonText, RpcError> {
    let live = engine.prepare(status_teller(asked.teller.clone()))?;
    let work = Box::pin(async move {
        match next.run(asked).await {
            Ok(result) => Finished::Result(result.to_raw(), TaskStatus::Completed),
            Err(error) => Finished::Error(error),
        }
    });
    let record = engine.start(live, None, wanted.ttl, work).await?;
    print(&CreateTaskResult::new(wire::bare(&record)))
}

/// Tells the server that asked: it need not wait until it is time to look.
fn status_teller(server: Notifier) -> Tell {
    Box::new(move |record, new_status| {
        if new_status {
            server.tell::<TaskStatusChanged>(&wire::bare(record));
        }
    })
}

fn print(value: &impl Serialize) -> Result<JsonText, RpcError> {
    let text = serde_json::to_vec(value).map_err(|e| RpcError::internal(e.to_string()))?;
    JsonText::new(text).map_err(|e| RpcError::internal(e.to_string()))
}
