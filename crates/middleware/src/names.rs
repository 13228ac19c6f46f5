//! The target and the caller of a call, and refusals.

use std::{sync::Arc, time::Duration};

use couplet_core::{Call, Reply};
use couplet_types::{RawJson, RequestMethod, RpcError};

/// The code of errors for limits: the first of those that JSON-RPC leaves to servers.
const LIMITED: i32 = -32000;

/// Returns the name of the tool or prompt, or the URI of the resource.
pub(crate) fn target(call: &Call) -> Option<String> {
    let key = match call.known()? {
        RequestMethod::CallTool | RequestMethod::GetPrompt => "name",
        RequestMethod::ReadResource => "uri",
        _ => return None,
    };
    call.params.read_str(key).ok().flatten().map(std::borrow::Cow::into_owned)
}

/// Returns a name for the caller: its principal, else its session, else nothing.
pub(crate) fn caller(call: &Call) -> String {
    match (call.principal(), call.session_id()) {
        (Some(principal), _) => format!("principal {principal}"),
        (None, Some(session)) => format!("session {session}"),
        (None, None) => String::new(),
    }
}

/// Returns a name for the owner of data: the caller, else the connection of a session without an id, else nothing.
pub(crate) fn owner(call: &Call) -> String {
    match caller(call) {
        none if none.is_empty() && call.revision.has_sessions() => format!("peer {}", Arc::as_ptr(&call.peer).addr()),
        caller => caller,
    }
}

/// Creates the reply to a call that is refused for now: a failed tool, so that the model can wait, or an error.
pub(crate) fn refuse(call: &Call, what: &str, after: Option<Duration>) -> Reply {
    let message = match after {
        Some(after) => format!("{what}; retry in {} s", after.as_secs_f64().ceil().max(1.0)),
        None => format!("{what}; retry later"),
    };
    if call.known() == Some(RequestMethod::CallTool) {
        return Reply::tool_error(call, message);
    }
    let error = RpcError::new(LIMITED, message);
    let millis = after.and_then(|after| u64::try_from(after.as_millis()).ok());
    match millis.and_then(|millis| RawJson::from_text(format!("{{\"retryAfterMs\":{millis}}}")).ok()) {
        Some(data) => Reply::Error(error.with_data(data)),
        None => Reply::Error(error),
    }
}
