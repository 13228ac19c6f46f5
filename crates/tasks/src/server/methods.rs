//! Methods of both wire formats.

use std::sync::Arc;

use couplet_core::{Call, JsonText, Reply, ResultBody};
use couplet_server::ServerHandle;
use couplet_types::{RpcError, UpdateTaskParams};

use super::{rerun::TaskRequest, wire};
use crate::{
    engine::Engine,
    requests::{self, task_id},
};

/// `tasks/get`: the bare task, or the task with the members of its status.
pub(super) async fn get(engine: Arc<Engine>, call: Call, server: ServerHandle) -> Reply {
    let look = async {
        let record = engine.get(&TaskRequest::new(&call, &server), &task_id(&call.params)?).await?;
        Ok(if call.revision.has_core_tasks() {
            call.revision.encode(wire::bare(&record))
        } else {
            call.revision.encode(wire::detailed(&record))
        })
    };
    reply(look.await)
}

/// `tasks/update`: answers to the task's input requests. Answers under unknown keys are ignored.
pub(super) async fn update(engine: Arc<Engine>, call: Call, server: ServerHandle) -> Reply {
    let update = async {
        let UpdateTaskParams { task_id, input_responses, .. } = call.params.parse()?;
        let by = TaskRequest::new(&call, &server);
        engine.get(&by, &task_id).await?;
        for (key, answer) in input_responses {
            engine.answer(&by, &task_id, key, Ok(JsonText::from(&answer))).await?;
        }
        Ok(ResultBody::empty())
    };
    reply(update.await)
}

/// `tasks/cancel`: the cancelled task, or an empty acknowledgement.
pub(super) async fn cancel(engine: Arc<Engine>, call: Call, server: ServerHandle) -> Reply {
    let cancel = async {
        let by = TaskRequest::new(&call, &server);
        if call.revision.has_core_tasks() {
            return Ok(call.revision.encode(requests::cancel(&engine, &by, &call.params).await?));
        }
        engine.cancel(&by, &task_id(&call.params)?).await?;
        Ok(ResultBody::empty())
    };
    reply(cancel.await)
}

pub(super) fn reply(done: Result<ResultBody, RpcError>) -> Reply {
    done.map_or_else(Reply::Error, Reply::Complete)
}
