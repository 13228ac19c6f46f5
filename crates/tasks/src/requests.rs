//! Requests about tasks that servers and clients answer alike, in revisions where tasks are part of the protocol.

use std::sync::Arc;

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use couplet_core::message::Params;
use couplet_types::{ListTasksResult, RpcError, Task};

use crate::{
    engine::{Access, Engine},
    wire,
};

/// The page size of `tasks/list`.
const PAGE: usize = 100;

/// `tasks/get`: the current state.
#[cfg(feature = "client")]
pub(crate) async fn get(engine: &Arc<Engine>, by: &dyn Access, params: &Params) -> Result<Task, RpcError> {
    Ok(wire::bare(&engine.get(by, &task_id(params)?).await?))
}

/// `tasks/cancel`: the cancelled task.
pub(crate) async fn cancel(engine: &Arc<Engine>, by: &dyn Access, params: &Params) -> Result<Task, RpcError> {
    let id = task_id(params)?;
    let over = || RpcError::invalid_params(format!("task `{id}` has already ended and cannot be cancelled"));
    Ok(wire::bare(&engine.cancel(by, &id).await?.ok_or_else(over)?))
}

/// `tasks/list`: the caller's own tasks.
pub(crate) async fn list(engine: &Arc<Engine>, by: &dyn Access, params: &Params) -> Result<ListTasksResult, RpcError> {
    let unknown = || RpcError::invalid_params("the cursor is not valid for `tasks/list`");
    let after = match params.read_opt::<String>("cursor")? {
        Some(cursor) => {
            let bytes = URL_SAFE_NO_PAD.decode(cursor).map_err(|_| unknown())?;
            Some(String::from_utf8(bytes).map_err(|_| unknown())?)
        }
        None => None,
    };
    let mut page = engine.list(by, after.as_deref(), PAGE + 1).await?.ok_or_else(unknown)?;
    let more = page.len() > PAGE;
    page.truncate(PAGE);
    let mut result = ListTasksResult::new(page.iter().map(wire::bare).collect());
    result.next_cursor = page.last().filter(|_| more).map(|last| URL_SAFE_NO_PAD.encode(&last.id));
    Ok(result)
}

/// The task that a request refers to.
pub(crate) fn task_id(params: &Params) -> Result<String, RpcError> {
    params.read("taskId")
}
