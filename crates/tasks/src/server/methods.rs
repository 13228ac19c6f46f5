//! The methods that both wires have, each in its own way.

use std::sync::Arc;

use couplet_core::{Call, Done, JsonText, Reply};
use couplet_types::{RpcError, UpdateTaskParams};

use crate::{engine::Engine, wire};

/// `tasks/get`: the bare task, or the task with what belongs to its status.
pub(super) async fn get(engine: Arc<Engine>, call: Call) -> Reply {
    let look = async {
        let record = engine.get(call.principal(), &task_id(&call)?).await?;
        Ok(if call.shape.has_core_tasks() {
            call.shape.done(wire::bare(&record))
        } else {
            call.shape.done(wire::detailed(&record))
        })
    };
    reply(look.await)
}

/// `tasks/update`: answers to what the task asks. Others are ignored.
pub(super) async fn update(engine: Arc<Engine>, call: Call) -> Reply {
    let update = async {
        let UpdateTaskParams { task_id, input_responses, .. } = call.params.parse()?;
        engine.get(call.principal(), &task_id).await?;
        for (key, answer) in input_responses {
            engine.answer(&task_id, key, Ok(JsonText::from(&answer))).await?;
        }
        Ok(Done::empty())
    };
    reply(update.await)
}

/// `tasks/cancel`: the cancelled task, or just that it was heard.
pub(super) async fn cancel(engine: Arc<Engine>, call: Call) -> Reply {
    let cancel = async {
        let id = task_id(&call)?;
        let cancelled = engine.cancel(call.principal(), &id).await?;
        match (call.shape.has_core_tasks(), cancelled) {
            (false, _) => Ok(Done::empty()),
            (true, Some(record)) => Ok(call.shape.done(wire::bare(&record))),
            (true, None) => Err(RpcError::invalid_params(format!("task `{id}` is over and cannot be cancelled"))),
        }
    };
    reply(cancel.await)
}

pub(super) fn task_id(call: &Call) -> Result<String, RpcError> {
    call.params.read("taskId")
}

pub(super) fn reply(done: Result<Done, RpcError>) -> Reply {
    done.map_or_else(Reply::Error, Reply::Complete)
}
