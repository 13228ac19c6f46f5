//! In a session, tools that need a capability the client lacks are not listed, as in the contract. In the stateless
//! revision the list is the same for all clients, as 2026-07-28 requires.

use couplet::{
    core::{Call, JsonText, Reply},
    server::Next,
    types::{ClientCapabilities, ListToolsResult},
};

/// Middleware that removes tools from the list if the client lacks a capability they need.
pub(crate) async fn fitting(call: Call, next: Next) -> Reply {
    let is_session_list = call.method == "tools/list" && call.revision.has_sessions();
    let can = is_session_list.then(|| call.peer.capabilities.clone());
    let reply = next.run(call).await;
    let (Some(can), Reply::Complete(done)) = (can, &reply) else { return reply };
    let Ok(mut list) = done.members().parse::<ListToolsResult>() else { return reply };
    list.tools.retain(|tool| fits(&tool.name, &can));
    match serde_json::to_vec(&list).ok().and_then(|text| JsonText::new(text).ok()) {
        Some(members) => Reply::Complete(done.clone().with_members(&members)),
        None => reply,
    }
}

fn fits(tool: &str, can: &ClientCapabilities) -> bool {
    let tasks = can.tasks.as_ref().and_then(|tasks| tasks.requests.as_ref());
    match tool {
        "get-roots-list" => can.roots.is_some(),
        "trigger-elicitation-request" => can.elicitation.is_some(),
        "trigger-url-elicitation" => can.elicitation.as_ref().is_some_and(|e| e.allows_url()),
        "trigger-sampling-request" => can.sampling.is_some(),
        "trigger-sampling-with-tools" => can.sampling.as_ref().is_some_and(|s| s.tools.is_some()),
        "trigger-sampling-request-async" => tasks.is_some_and(|tasks| tasks.sampling.is_some()),
        "trigger-elicitation-request-async" => tasks.is_some_and(|tasks| tasks.elicitation.is_some()),
        _ => true,
    }
}
