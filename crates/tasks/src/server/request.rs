//! The request of a call that becomes a task, as it is stored.

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use couplet_core::{Call, idempotency};
use couplet_types::{Map, RawJson, RpcError};
use hmac_sha256::Hash;

use super::Task;
use crate::{engine::NewTask, record::RequestKey};

/// The task that a call becomes.
///
/// # Errors
/// -32602 if the idempotency key is not valid.
pub(super) fn new_task(call: &Call, task: &Task, ttl: Option<u64>) -> Result<NewTask, RpcError> {
    let owner = call.caller.as_ref().map(|caller| caller.principal().clone());
    let request = if task.repeatable { Some(request(call)?) } else { None };
    Ok(NewTask { owner, ttl, key: key(call)?, request })
}

/// The idempotency key, if the client sent one.
fn key(call: &Call) -> Result<Option<RequestKey>, RpcError> {
    Ok(call.idempotency_key()?.map(|key| RequestKey::new(key.into_owned(), digest(call))))
}

/// A digest of the tool's name and arguments. Neither the order of members nor white space counts.
fn digest(call: &Call) -> String {
    let arguments = call.arguments();
    let mut hash = Hash::new();
    hash.update(serde_json::json!(call.tool_name()).to_string());
    hash.update(arguments.canonical().unwrap_or_else(|_| arguments.as_str().to_owned()));
    URL_SAFE_NO_PAD.encode(hash.finalize())
}

/// The parameters of the request, for another run.
fn request(call: &Call) -> Result<RawJson, RpcError> {
    let failed = |e: serde_json::Error| RpcError::internal(e.to_string());
    let mut params = Map::<RawJson>::new();
    params.insert("name", RawJson::new(&call.tool_name()).map_err(failed)?);
    params.insert("arguments", call.arguments().to_raw());
    let mut meta = call.meta()?;
    // These belong to the first call.
    meta.remove("progressToken");
    meta.remove(idempotency::META_KEY);
    if !meta.is_empty() {
        params.insert("_meta", RawJson::new(&meta).map_err(failed)?);
    }
    RawJson::new(&params).map_err(failed)
}
