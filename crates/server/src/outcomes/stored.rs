//! Outcomes as bytes in a store.
//!
//! The format is a promise to replicas of other releases, which may share the store.

use bytes::Bytes;
use couplet_core::{Call, JsonText, Reply, ResultBody};
use couplet_types::{CallToolResult, RawJson, RpcError};
use serde::{Deserialize, Serialize};
use serde_json::json;

const VERSION: u32 = 1;

#[derive(Serialize, Deserialize)]
struct Stored {
    #[serde(rename = "v")]
    version: u32,
    /// The revision that the result is encoded for.
    revision: String,
    /// The kind of a result that an extension adds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    kind: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    result: Option<RawJson>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    error: Option<RpcError>,
}

/// Encodes the reply to a call in a revision; `None` if it is not an outcome, because the call is not over.
pub(super) fn encode(reply: &Reply, revision: &str, max_size: usize) -> Option<Bytes> {
    let (kind, result, error) = match reply {
        Reply::Complete(done) => (None, Some(done.text().to_raw()), None),
        Reply::Extension { kind, done } => (Some(kind.clone().into_owned()), Some(done.text().to_raw()), None),
        Reply::Error(error) => (None, None, Some(error.clone())),
        _ => return None,
    };
    let text = write(&Stored { version: VERSION, revision: revision.to_owned(), kind, result, error });
    if text.len() <= max_size {
        return Some(text);
    }
    let what = format!("the call was executed, but its result was too large to be stored ({} bytes)", text.len());
    Some(failed(revision, RpcError::internal(what).with_data(json!({ "outcome": "too large" }))))
}

/// Encodes an error as the outcome.
pub(super) fn failed(revision: &str, error: RpcError) -> Bytes {
    let revision = revision.to_owned();
    write(&Stored { version: VERSION, revision, kind: None, result: None, error: Some(error) })
}

fn write(stored: &Stored) -> Bytes {
    serde_json::to_vec(stored).expect("strings and JSON can be written").into()
}

/// Decodes the outcome of the first call as the reply to a repeated one.
pub(super) fn decode(text: &[u8], call: &Call) -> Reply {
    let unreadable = || Reply::Error(RpcError::internal("the stored outcome of the first call cannot be decoded"));
    let Ok(Stored { version: VERSION, revision, kind, result, error }) = serde_json::from_slice(text) else {
        return unreadable();
    };
    if let Some(error) = error {
        return Reply::Error(error);
    }
    let Some(result) = result else { return unreadable() };
    // A client may have reconnected with another revision, in which a result of a tool looks different.
    if kind.is_none()
        && revision != call.peer.version.as_str()
        && let Ok(result) = result.parse::<CallToolResult>()
    {
        return Reply::Complete(call.revision.encode(result));
    }
    let Ok(result) = JsonText::new(result.get().to_owned()) else { return unreadable() };
    let done = ResultBody::uncached_json(&result);
    match kind {
        Some(kind) => Reply::Extension { kind: kind.into(), done },
        None => Reply::Complete(done),
    }
}
